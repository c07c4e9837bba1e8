"""Methods that several experiments compare: functions from a split in three parts to measures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.metrics import euclidean_distances
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC

import mercer
from experiments import c_search
from experiments.experiment import Measures, Method
from experiments.problems import Array, Split
from mercer._estimators.kernel_learner import KernelLearner
from mercer._model_selection.penalty_choice import PENALTIES
from mercer.kernels import Gaussian

Step = Literal["corrective", "stagewise"]

# The values of gamma of the grid search, in units of scikit-learn's gamma="scale".
GAMMAS = 2.0 ** np.arange(-8, 9)

# The values of C of one-stage methods, which learn the kernel anew for each of them.
ONE_STAGE_GRID: Array = 10.0 ** np.arange(-2, 3.5, 0.5)

# Log-bandwidths that differ by less than this are counted as equal.
SAME_WIDTH = 1e-2


def two_stage(learner: KernelLearner, *, align: bool = True) -> Method:
    """Return a method that learns a kernel, and then a support vector machine.

    The time is that of learning the kernel and one machine, without the search for C, as in
    Afkanpour et al. (2013), appendix B.2.

    Parameters
    ----------
    learner : KernelLearner
    align : bool, default=True
        Whether to measure alignment on test data, which takes n_test^2 kernel values.
    """

    def measure(split: Split) -> Measures:
        X, y = split.train
        model = clone(learner)
        learning = c_search.seconds(lambda: model.fit(X, y))
        grams = c_search.Grams.of(model.kernel_, split)
        best = c_search.best_machine(grams, split)
        machine = SVC(kernel="precomputed", C=best.C, max_iter=c_search.MAX_ITER)
        found = {
            "error": 1.0 - best.score(grams.test, split.test[1]),
            "C": best.C,
            "train_error": 1.0 - best.score(grams.train, y),
            "seconds": learning + c_search.seconds(lambda: machine.fit(model.transform(X), y)),
            "kernels": np.size(getattr(model, "weights_", 1.0)),
            "steps": model.n_iter_,
        }
        if align:
            found["alignment"] = c_search.alignment_of_kernel(model.kernel_, split.test)
        return found

    return measure


def one_stage(
    model: Any, grid: Iterable[float] = ONE_STAGE_GRID, *, every: bool = False, align: bool = True
) -> Method:
    """Return a method that learns a kernel together with its machine, for each value of C.

    "seconds" is the time of the fit with that C, as in Afkanpour et al. (2013), appendix B.2,
    "seconds_search" that of all fits.

    Parameters
    ----------
    model : classifier
    grid : iterable of float
        The values of C, in increasing order.
    every : bool, default=False
        Whether to try larger values of C even if no dual variable has reached the last one, so
        that they change nothing.
    align : bool, default=True
        Whether to measure alignment on test data.
    """

    def measure(split: Split) -> Measures:
        found = _trials(model, split, grid, every=every)
        best = c_search.best_trial(found)
        return {
            **of_model(best.model, split, align=align),
            "seconds": best.duration,
            "seconds_search": sum(trial.duration for trial in found),
        }

    return measure


def _trials(
    model: Any, split: Split, grid: Iterable[float] = ONE_STAGE_GRID, *, every: bool = False
) -> list[c_search.Trial]:
    """Fit a copy of a model for each value of C."""
    return c_search.trials(lambda C: clone(model).set_params(C=C), split, grid, every=every)


def of_model(model: Any, split: Split, *, align: bool = True) -> Measures:
    """Return the measures of a fitted one-stage model."""
    found = {
        "error": 1.0 - model.score(*split.test),
        "C": model.C,
        "train_error": 1.0 - model.score(*split.train),
        "kernels": np.count_nonzero(model.weights_),
        "steps": model.n_iter_,
        "gap": model.dual_gap_,
    }
    if align:
        found["alignment"] = c_search.alignment_of_kernel(model.kernel_, split.test)
    return found


def published_line_search(split: Split) -> Measures:
    """CR-1D with the published steps, and the C that is best with fully corrective ones."""
    C = c_search.best_trial(_trials(mercer.ContinuousMKLClassifier(), split)).model.C
    model = mercer.ContinuousMKLClassifier(C=C, step="stagewise")
    (trial,) = _trials(model, split, [C])
    return {**of_model(trial.model, split), "seconds": trial.duration}


def grid_search(split: Split) -> Measures:
    """`GridSearchCV(SVC())` over gamma and C, scored on the validation data.

    The time is that of the whole search, since the search is what finds the kernel.
    """
    X, y = (np.concatenate(pair) for pair in zip(split.train, split.valid, strict=True))
    fold = np.r_[np.full(len(split.train[1]), -1), np.zeros(len(split.valid[1]), dtype=int)]
    search = GridSearchCV(
        SVC(max_iter=c_search.MAX_ITER),
        {"gamma": GAMMAS / _scale(split), "C": c_search.C_GRID},
        cv=PredefinedSplit(fold),
        refit=False,
    )
    duration = c_search.seconds(lambda: search.fit(X, y))
    machine = SVC(max_iter=c_search.MAX_ITER, **search.best_params_).fit(*split.train)
    error = 1.0 - machine.score(*split.test)
    return {"error": error, "seconds": duration, **search.best_params_}


def width_search(split: Split) -> Measures:
    """The result of `grid_search`, from distances that are computed once, without its time."""
    (X, y), (valid, labels), (test, truth) = split.train, split.valid, split.test
    squares = [euclidean_distances(part, X, squared=True) for part in (X, valid, test)]
    tried = []
    for gamma in GAMMAS / _scale(split):
        train, held_out, _ = (np.exp(-gamma * square) for square in squares)
        tried += [
            (-machine.score(held_out, labels), machine.C, gamma, machine)
            for machine in c_search.machines(train, y)
        ]
    _, C, gamma, machine = min(tried, key=lambda entry: entry[:3])
    error = 1.0 - machine.score(np.exp(-gamma * squares[2]), truth)
    return {"error": error, "C": C, "gamma": gamma}


def _scale(split: Split) -> float:
    """Return the number by which scikit-learn divides for gamma="scale"."""
    X = split.train[0]
    return float(X.shape[1] * X.var())


def ard_alignment(
    penalty: float | Literal["auto"] = 0.0, step: Step = "corrective", **settings: Any
) -> mercer.ContinuousAlignment:
    """Return the learner CA-nD, which has an ARD Gaussian kernel."""
    return mercer.ContinuousAlignment(
        Gaussian(ard=True), width_penalty=penalty, step=step, random_state=0, **settings
    )


def validated_ard_alignment(
    penalties: Array = PENALTIES,
    *,
    step: Step = "corrective",
    every: bool = False,
    align: bool = True,
) -> Method:
    """Return CA-nD with the penalty of largest alignment with the validation data.

    Of equal penalties the largest is taken.
    """

    def measure(split: Split) -> Measures:
        scores: list[float] = []

        def choose() -> None:
            for penalty in penalties:
                model = ard_alignment(float(penalty), step).fit(*split.train)
                scores.append(c_search.alignment_of_kernel(model.kernel_, split.valid))
                if not every and all(is_isotropic(kernel) for kernel in model.kernel_.kernels):
                    return

        choosing = c_search.seconds(choose)
        penalty = float(penalties[len(scores) - 1 - int(np.argmax(scores[::-1]))])
        found = dict(two_stage(ard_alignment(penalty, step), align=align)(split))
        return {**found, "penalty": penalty, "seconds": choosing + found["seconds"]}

    return measure


def is_isotropic(kernel: Any) -> bool:
    """Return whether all bandwidths of an ARD kernel are equal."""
    return bool(np.ptp(kernel.theta[: kernel.structure.n_widths]) < SAME_WIDTH)


def automatic(*, validated: bool = False) -> Method:
    """Return the method `TwoStageClassifier("auto")`, which chooses the form of the kernel.

    Parameters
    ----------
    validated : bool, default=False
        Whether C is the best on validation data, as for other methods, instead of what the
        classifier itself chooses by cross-validation on training data.
    """

    def measure(data: Any) -> Measures:
        model = mercer.TwoStageClassifier("auto")
        duration = c_search.seconds(lambda: model.fit(*data.train))
        learner = model.learner_
        one_width = isinstance(learner, mercer.ContinuousAlignment) and (
            learner.family is None and learner.scaling is None
        )
        return {
            **(
                c_search.error_of_kernel(model.kernel_, data)
                if validated
                else {"error": 1.0 - model.score(*data.test)}
            ),
            "seconds": duration,
            "kernels": np.size(getattr(model, "weights_", 1.0)),
            "isotropic": float(one_width),
        }

    return measure


def common(kernels: Sequence[Gaussian] | None = None) -> dict[str, Method]:
    """The methods of Afkanpour et al. (2013), Table 1, with one width for all features.

    Parameters
    ----------
    kernels : sequence of Gaussian, default=None
        The finite dictionary; if None, 20 widths that span the distances of the training data.
    """
    return {
        "CA-1D": two_stage(mercer.ContinuousAlignment()),
        "CR-1D": one_stage(mercer.ContinuousMKLClassifier()),
        "DA": two_stage(mercer.AlignmentMaximization(kernels)),
        "D1": one_stage(mercer.MKLClassifier(kernels, norm=1.0)),
        "D2": one_stage(mercer.MKLClassifier(kernels, norm=2.0)),
        "DU": two_stage(mercer.UniformCombination(kernels)),
    }


def raw_kernels(kernels: Sequence[Gaussian]) -> dict[str, Method]:
    """D1 and D2 with kernels as they are, not scaled to unit trace."""
    return {
        f"D{norm:.0f}, raw kernels": one_stage(
            mercer.MKLClassifier(kernels, norm=norm, normalize=None)
        )
        for norm in (1.0, 2.0)
    }


def read_off() -> dict[str, Method]:
    """DA and DU with 20 widths that are taken from the distances of the training data."""
    return {
        "DA, widths read off": two_stage(mercer.AlignmentMaximization()),
        "DU, widths read off": two_stage(mercer.UniformCombination()),
    }


def evenly_spaced(low: float, high: float) -> list[Gaussian]:
    """Return Gaussians of twenty evenly spaced widths, as in Afkanpour et al. (2013), 3.2."""
    return [Gaussian(float(width)) for width in np.linspace(low, high, 20)]


def geometric(n_kernels: int) -> list[Gaussian]:
    """Return Gaussians with widths from 10^-3 to 10^3, as in Afkanpour et al. (2013), 3.1."""
    return [Gaussian(float(width)) for width in np.geomspace(1e-3, 1e3, n_kernels)]
