"""Logistic, Poisson and ordered logistic regression on a kernel, against refits and other methods.

    MERCER_DATA=/path/to/sets python benchmarks/losses.py [NAME ...] [--rows N] [--splits S]

left_out
    The deviance of approximate leave-one-out values, relative to that of refits without each
    sample, at the penalty and on the kernel that are chosen: to first order, and corrected as by
    the estimators.
multinomial
    Log-loss and error of each class against the rest, relative to multinomial regression
    (scikit-learn) on the same kernel. Both have the penalty of the lowest log-loss in five folds.
stacks
    Stacks of ridge regressions and support vector machines, of logistic regressions and machines,
    and of all three: logarithms of the ratio of log-losses to the first, and differences of errors
    in points, with standard errors over sets, and the number of sets whose log-loss is lower.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from common import Array, mean_and_error, print_table, run_named, standardized_sample
from counts_and_grades import Rows, counted, graded
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from experiments.tabular.table_files import CLASSES, load_table, table_split
from mercer import (
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    KernelStackingClassifier,
)
from mercer._data.sample import encode_target
from mercer._data.weights import UnitWeights
from mercer._gram.dense import to_unit_scale
from mercer._model_selection.logistic_problems import LogisticProblems
from mercer._solvers.class_probabilities import (
    bounded_probabilities,
    grade_probabilities,
    log_losses,
)
from mercer._solvers.generalized_left_out import LeftOutValues, left_out_values
from mercer._solvers.generalized_machines import GeneralizedMachine, fit_machine
from mercer._solvers.likelihoods import Likelihood, OrderedLogit, Poisson
from mercer._stacking import kernel_stacking_classifier, stack_left_out
from mercer._stacking.evaluation import Evaluation, Selection, ViewedSample
from mercer._stacking.logistic_members import evaluate_logistic
from mercer._stacking.machines import evaluate_machines
from mercer.preprocessing import table_encoder

BINARY = ("heart", "sonar", "ionosphere", "australian", "banana", "thyroid", "german")
"""The sets of classes whose approximate leave-one-out is compared with refits."""

SEVERAL = (
    *("zoo", "ecoli", "dermatology", "vehicle", "segment", "waveform40", "yeast"),
    *("mnist20k", "car", "cmc"),
)
"""Sets of more than two classes."""


# --- approximate leave-one-out -------------------------------------------------------------------


def problems(n_rows: int) -> Iterator[tuple[str, Any, Array, Any]]:
    """Yield names, estimators, tables and targets of ten sets."""
    for name in BINARY:
        yield name, KernelLogisticRegression(), *standardized_sample(name, n_rows, 0)
    for name, model in (
        ("rings of abalone", KernelPoissonRegressor()),
        ("rings of abalone", KernelOrdinalClassifier()),
        ("evaluation of cars", KernelOrdinalClassifier()),
    ):
        make = counted if isinstance(model, KernelPoissonRegressor) else graded
        frame, target = make(name)
        rows = np.random.default_rng(0).permutation(len(target))[:n_rows]
        X = np.asarray(table_encoder().fit_transform(frame.iloc[rows]))
        yield f"{name}, {'counts' if make is counted else 'grades'}", model, X, target[rows]


def likelihood_of(model: Any, y: Array) -> Likelihood:
    """Return the likelihood of a fitted estimator of two classes, counts or grades."""
    weights = UnitWeights(len(y))
    if isinstance(model, KernelPoissonRegressor):
        return Poisson(y.astype(float), weights, offset=np.zeros(len(y)))
    codes = np.unique(y, return_inverse=True)[1]
    if isinstance(model, KernelOrdinalClassifier):
        return OrderedLogit(codes, weights, n_grades=int(codes.max()) + 1)
    return LogisticProblems.of(codes, 2, weights).likelihoods[0]


def deviance(given: Likelihood, values: LeftOutValues) -> float:
    """Return the mean deviance of left-out values."""
    if isinstance(given, OrderedLogit):
        found = bounded_probabilities(grade_probabilities(values.f, values.levels), len(given))
        return 2.0 * float(log_losses(found, given.y).mean())
    return 2.0 * float(given.losses(values.f, values.levels).mean())


def refitted(gram: Array, machine: GeneralizedMachine, given: Likelihood) -> LeftOutValues:
    """Return values of samples under machines that are fitted to all others."""
    n = len(gram)
    f, levels = np.zeros(n), np.zeros((n, len(machine.levels)))
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        start = GeneralizedMachine(machine.dual_coef_[rest], machine.levels, machine.alpha)
        other = fit_machine(gram[np.ix_(rest, rest)], given.take(rest), machine.alpha, start)
        f[i], levels[i] = other.values(gram[i, rest]), other.levels
    return LeftOutValues(given.bounded(f, levels), levels)


def left_out(options: argparse.Namespace) -> None:
    """Compare approximate leave-one-out deviances with refits."""
    rows = []
    for name, model, X, y in problems(options.rows):
        model.fit(X, y)
        given = likelihood_of(model, y)
        gram, _ = to_unit_scale(model.kernel_.kernels[0](X))
        machine = fit_machine(gram, given, model.alpha_)
        exact = deviance(given, refitted(gram, machine, given))
        first, corrected = (
            deviance(given, left_out_values(gram, machine, given, corrected=corrected)) / exact
            for corrected in (False, True)
        )
        rows.append([name, f"{exact:.4f}", f"{first:.4f}", f"{corrected:.4f}"])
    header = ["set", "deviance of refits", "first order, ratio", "corrected, ratio"]
    print_table(f"approximate leave-one-out, {options.rows} rows", header, rows)


# --- several classes -----------------------------------------------------------------------------


def multinomial(options: argparse.Namespace) -> None:
    """Compare each class against the rest with multinomial regression on the same kernel."""
    ratios, differences, rows = [], [], []
    for name in SEVERAL:
        found = [compared(name, options.rows, seed) for seed in range(options.splits)]
        ratio, difference = np.mean(found, axis=0)
        ratios.append(ratio)
        differences.append(difference)
        rows.append([name, f"{np.exp(ratio):.3f}", f"{100.0 * difference:+.1f}"])
    rows.append(["mean of logarithms", mean_and_error(ratios, 1.0, 3), ""])
    rows.append(["mean difference", "", mean_and_error(differences, 100.0, 2)])
    header = ["set", "log-loss, ratio", "error, points"]
    print_table("one against the rest, relative to multinomial regression", header, rows)


def compared(name: str, n_rows: int, seed: int) -> tuple[float, float]:
    """Return the logarithm of the ratio of log-losses, and the difference of errors."""
    train, new, known, labels = encoded(name, n_rows, seed)
    model = KernelLogisticRegression().fit(train, known)
    kernel = model.kernel_.kernels[0]
    gram, unit = to_unit_scale(kernel(train))
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-10 * values[-1]
    roots = vectors[:, kept] / np.sqrt(values[kept])
    alphas = 10.0 ** np.arange(-3.5, 1.25, 0.5)
    settings = {"cv": 5, "scoring": "neg_log_loss", "max_iter": 2000, "tol": 1e-6}
    softmax = LogisticRegressionCV(Cs=1.0 / alphas, l1_ratios=(0.0,), **settings)
    softmax.fit(gram @ roots, known)
    search = GridSearchCV(
        KernelLogisticRegression([kernel]), {"alpha": alphas}, scoring="neg_log_loss", cv=5
    ).fit(train, known)
    found = search.predict_proba(new), softmax.predict_proba(unit.apply(kernel(new, train)) @ roots)
    losses = [log_loss(labels, p, labels=model.classes_) for p in found]
    errors = [float((model.classes_[p.argmax(axis=1)] != labels).mean()) for p in found]
    return float(np.log(losses[0] / losses[1])), errors[0] - errors[1]


def encoded(name: str, n_rows: int, seed: int) -> Rows:
    """Return rows of a set, encoded, without classes of fewer than 8 training rows."""
    if name not in CLASSES:
        X, y = standardized_sample(name, n_rows + 2000, seed)
        return Rows(X[:n_rows], X[n_rows:], y[:n_rows], y[n_rows:])
    n_train = min(n_rows, 7 * len(load_table(name).target) // 10)
    split = table_split(name, n_train, seed)
    encoder = table_encoder().fit(split.X_train, split.y_train)
    found = []
    classes, sizes = np.unique(split.y_train, return_counts=True)
    for frame, labels in ((split.X_train, split.y_train), (split.X_test, split.y_test)):
        kept = np.isin(labels, classes[sizes >= 8])
        found.append((np.asarray(encoder.transform(frame))[kept], labels[kept]))
    (train, known), (test, labels) = found
    return Rows(train, test, known, labels)


# --- stacks --------------------------------------------------------------------------------------

STACKS = {"logistic and machines": "ls", "all three": "rls"}
"""Kinds of members, beside those of the default: ridge regressions, logistic ones, machines."""


class AllMembers(KernelStackingClassifier):
    """A stack of members of all kinds, which keeps them, and is not evaluated itself."""

    def _choose(self, found: list[Evaluation], table: ViewedSample) -> Selection:
        found = sorted(found, key=lambda e: e.cost)
        isotropic = [e for e in found if not e.candidate.uses_labels][: table.n_machines]
        kinds = {
            "r": found[: kernel_stacking_classifier._N_RIDGE],
            "s": evaluate_machines(isotropic, table, self.random_state),
        }
        kinds["l"] = evaluate_logistic(kinds["r"], table)
        kept = [e for members in kinds.values() for e in members]
        self.kinds = [kind for kind, members in kinds.items() for _ in members]
        combination = self._combined([e.deviations for e in kept], table.target)
        return Selection(kept, kept, combination, table.weights)

    def _report(self, chosen: Selection, members: Sequence[Any], found: Selection) -> None:
        self.every = chosen.kept, members
        super()._report(chosen, members, found)

    def probabilities(self, X: Any, kinds: str, target: Any) -> Array:
        """Return probabilities by members of some kinds."""
        kept, members = self.every
        at = [k for k, kind in enumerate(self.kinds) if kind in kinds]
        combination = self._combined([kept[k].deviations for k in at], target)
        views = self._views_of(X)
        deviations = [
            members[k].deviations(views[members[k].view], self._training[members[k].view])
            for k in at
        ]
        near = combination.combine(deviations, np.tile(self._frequencies, (len(X), 1)))
        closeness = self._fall_back.closeness(views)
        return closeness * near + (1.0 - closeness) * self._frequencies


def stacks(options: argparse.Namespace) -> None:
    """Compare stacks of members of several kinds."""
    measured: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in STACKS}
    rows = []
    # The score of a stack takes most of its time, and is of no use here.
    with_score = stack_left_out.left_out_predictions
    stack_left_out.left_out_predictions = lambda target, means, *_: np.asarray(means)
    for name in CLASSES:
        found = [stacked(name, options.rows, seed) for seed in range(options.splits)]
        for stack in STACKS:
            measured[stack].append([one[stack] for one in found])
        means = [np.mean(measured[stack][-1], axis=0) for stack in STACKS]
        rows.append(
            [name, *(f"{np.exp(ratio):.3f} {100.0 * error:+.2f}" for ratio, error in means)]
        )
    stack_left_out.left_out_predictions = with_score
    by_set = {stack: np.mean(values, axis=1) for stack, values in measured.items()}
    for label, column, scale in (("mean logarithm", 0, 1.0), ("mean error, points", 1, 100.0)):
        rows.append([label, *(mean_and_error(v[:, column], scale, 3) for v in by_set.values())])
    rows.append(["lower log-losses", *(str(int((v[:, 0] < 0).sum())) for v in by_set.values())])
    header = ["set: log-loss, ratio; error, points", *STACKS]
    print_table("stacks, relative to ridge regressions and machines", header, rows)


def stacked(name: str, n_rows: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return logarithms of ratios of log-losses, and differences of errors, to the default."""
    train, new, known, labels = encoded(name, n_rows, seed)
    model = AllMembers().fit(train, known)
    target = encode_target(known, classification=True)

    def measures(kinds: str) -> tuple[float, float]:
        found = model.probabilities(new, kinds, target)
        wrong = model.classes_[found.argmax(axis=1)] != labels
        return log_loss(labels, found, labels=model.classes_), float(wrong.mean())

    loss, error = measures("rs")
    found = {stack: measures(kinds) for stack, kinds in STACKS.items()}
    return {stack: (float(np.log(own / loss)), e - error) for stack, (own, e) in found.items()}


BENCHMARKS: dict[str, Callable[[argparse.Namespace], None]] = {
    "left_out": left_out,
    "multinomial": multinomial,
    "stacks": stacks,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run_named(
        __doc__,
        BENCHMARKS,
        rows=(300, "training rows"),
        splits=(5, "random splits"),
    )
