"""Problems of multiple kernel learning, estimators for them, and conditions of optimality."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from learner_cases import problem as training_set
from one_stage_reference import (
    Ball,
    Matrix,
    NaiveEpsilonInsensitive,
    NaiveHinge,
    NaiveLogistic,
    NaiveLoss,
    NaiveSquared,
    best_dual,
    dual_objective,
    primal_objective,
    slackness,
)
from reference import center, gaussian
from sklearn.base import BaseEstimator, clone, is_classifier

from mercer import (
    L1SVM,
    L2KRR,
    MKLClassifier,
    MKLRegressor,
)
from mercer.kernels import Gaussian, Linear, OnColumns


@dataclass(frozen=True)
class Problem:
    """A table, a target, kernels of the package, and Gram matrices computed by their formulas."""

    X: Matrix
    y: Any
    kernels: list[Any]
    grams: Matrix

    @property
    def classes(self) -> bool:
        return np.asarray(self.y).dtype.kind != "f"

    @property
    def Y(self) -> Matrix:
        """Targets of the machines, one column for each."""
        y = np.asarray(self.y)
        if not self.classes:
            return y.reshape(len(y), -1)
        names = np.unique(y)
        return np.where(y[:, None] == (names if len(names) > 2 else names[1:]), 1.0, -1.0)


def table(n: int = 36, seed: int = 0) -> Matrix:
    return np.random.default_rng(seed).normal(size=(n, 4))


def score(X: Matrix) -> Matrix:
    noise = np.random.default_rng(1).normal(size=len(X))
    return X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5 + 0.3 * noise


def widths(X: Matrix, values: Any) -> tuple[list[Any], list[Matrix]]:
    return [Gaussian(float(s)) for s in values], [gaussian(X, s) for s in values]


def per_feature(X: Matrix) -> tuple[list[Any], list[Matrix]]:
    kernels = [OnColumns(Gaussian(1.5), [z]) for z in range(X.shape[1])]
    return kernels, [gaussian(X[:, [z]], 1.5) for z in range(X.shape[1])]


def problem(X: Matrix, y: Any, kernels: list[Any], grams: list[Matrix]) -> Problem:
    return Problem(X, y, kernels, np.stack(grams))


def features() -> Problem:
    X = table()
    return problem(X, np.sign(score(X)).astype(int), *per_feature(X))


def nested_widths() -> Problem:
    """From far too narrow to far too wide: Gram matrices from the identity to all ones."""
    X = table()
    y = np.array(["no", "yes"])[(score(X) > 0).astype(int)]
    return problem(X, y, *widths(X, np.geomspace(0.02, 300.0, 12)))


def constant_and_zero_kernels() -> Problem:
    X = np.column_stack([table(), np.full(36, 2.0), np.zeros(36)])
    kernels, grams = per_feature(X[:, :2])
    kernels += [OnColumns(Linear(), [4]), OnColumns(Linear(), [5])]
    grams += [np.full((36, 36), 4.0), np.zeros((36, 36))]
    return problem(X, np.sign(score(X)).astype(int), kernels, grams)


def rank_one_kernels() -> Problem:
    X = np.column_stack([table(), table(seed=5)])
    grams = [np.outer(x, x) for x in X.T]
    return problem(X, np.sign(score(X)).astype(int), [Linear(per_feature=True)], grams)


def wild_units() -> Problem:
    X = table() * np.array([1e-8, 1.0, 1e8, 1e3])
    y = np.sign(score(table())).astype(int)
    grams = [np.outer(x, x) for x in X.T] + [gaussian(X[:, [0]], 1e-8), gaussian(X[:, [2]], 1e8)]
    kernels = [Linear(per_feature=True)]
    kernels += [OnColumns(Gaussian(1e-8), [0]), OnColumns(Gaussian(1e8), [2])]
    return problem(X, y, kernels, grams)


def duplicated_rows() -> Problem:
    """Each sample occurs three times, some with both classes."""
    X = np.repeat(table(12), 3, axis=0)
    y = np.sign(score(X)).astype(int)
    return problem(X, y, *widths(X, [0.3, 1.0, 3.0, 10.0]))


def more_kernels_than_samples() -> Problem:
    X = table(14)
    y = (np.arange(14) % 2).astype(bool)
    kernels = [OnColumns(Gaussian(s), [z]) for z in range(4) for s in (0.1, 0.3, 1.0, 3.0, 10.0)]
    grams = [gaussian(X[:, [z]], s) for z in range(4) for s in (0.1, 0.3, 1.0, 3.0, 10.0)]
    return problem(X, y, kernels, grams)


def three_classes() -> Problem:
    X = table(30)
    kernels, grams = per_feature(X)
    y = np.array(["a", "b", "c"])[np.digitize(score(X), [-0.5, 0.5])]
    return problem(X, y, [*kernels, Linear()], [*grams, X @ X.T])


def regression() -> Problem:
    X = table()
    return problem(X, 3.0 * score(X) + 10.0, *per_feature(X))


def regression_nested_widths() -> Problem:
    X = table()
    return problem(X, score(X), *widths(X, np.geomspace(0.02, 300.0, 12)))


def regression_rank_one() -> Problem:
    """As many features as samples, the first and the last of which are equal."""
    X = np.random.default_rng(2).normal(size=(24, 23))
    X = np.column_stack([X, X[:, 0]])
    return problem(X, X[:, 0] - X[:, 1], [Linear(per_feature=True)], [np.outer(x, x) for x in X.T])


def two_outputs() -> Problem:
    X = table(30)
    kernels, grams = per_feature(X)
    Y = np.column_stack([score(X), 5.0 * np.sin(2.0 * X[:, 2])])
    return problem(X, Y, [*kernels, Gaussian(3.0)], [*grams, gaussian(X, 3.0)])


PROBLEMS: dict[str, Callable[[], Problem]] = {
    function.__name__: cache(function)
    for function in (
        features,
        nested_widths,
        constant_and_zero_kernels,
        rank_one_kernels,
        wild_units,
        duplicated_rows,
        more_kernels_than_samples,
        three_classes,
        regression,
        regression_nested_widths,
        regression_rank_one,
        two_outputs,
    )
}

CLASSIFIERS: dict[str, BaseEstimator] = {
    "l1-svm": L1SVM(),
    "svm-1-c100": MKLClassifier(C=100.0),
    "svm-1-no-intercept": MKLClassifier(fit_intercept=False),
    "svm-4/3": MKLClassifier(norm=4 / 3, C=10.0),
    "svm-2": MKLClassifier(norm=2),
    "svm-4": MKLClassifier(norm=4, C=0.1),
    "svm-inf": MKLClassifier(norm=np.inf),
    "svm-2-raw": MKLClassifier(norm=2, C=10.0, normalize=None, fit_intercept=False),
    "logistic-1": MKLClassifier(loss="logistic"),
    "logistic-4/3": MKLClassifier(norm=4 / 3, loss="logistic", C=10.0, fit_intercept=False),
    "logistic-2": MKLClassifier(norm=2, loss="logistic"),
    "squared-4": MKLClassifier(norm=4, loss="squared", C=10.0, fit_intercept=False),
}
REGRESSORS: dict[str, BaseEstimator] = {
    "krr-1": MKLRegressor(norm=1),
    "krr-1-no-intercept": MKLRegressor(norm=1, alpha=0.1, fit_intercept=False),
    "krr-4/3": MKLRegressor(norm=4 / 3, alpha=0.1),
    "krr-2": MKLRegressor(),
    "krr-4": MKLRegressor(norm=4, alpha=10.0),
    "krr-inf": MKLRegressor(norm=np.inf),
    "svr-1": MKLRegressor(norm=1, loss="epsilon_insensitive"),
    "svr-4/3": MKLRegressor(norm=4 / 3, loss="epsilon_insensitive", alpha=0.1),
    "svr-2-no-intercept": MKLRegressor(
        loss="epsilon_insensitive", epsilon=0.5, fit_intercept=False
    ),
    "svr-4": MKLRegressor(norm=4, loss="epsilon_insensitive", epsilon=0.0),
    "l2-krr": L2KRR(),
    "l2-krr-uniform": L2KRR(center="uniform", alpha=0.1),
    "l2-krr-uniform-wide": L2KRR(center="uniform", radius=10.0, fit_intercept=False),
}
SOLVERS: dict[str, BaseEstimator] = {**CLASSIFIERS, **REGRESSORS}


def pairs() -> Iterator[Any]:
    """Each estimator with two problems of its kind, so that every problem occurs."""
    for solvers in (CLASSIFIERS, REGRESSORS):
        of_classes = solvers is CLASSIFIERS
        names = [name for name, make in PROBLEMS.items() if make().classes == of_classes]
        for i, solver in enumerate(solvers):
            for name in (names[i % len(names)], names[(i + len(names) // 2) % len(names)]):
                # Unscaled kernels of such units can be fitted by no machine, nor by the reference.
                if not (name == "wild_units" and SOLVERS[solver].normalize is None):
                    yield pytest.param(name, solver, id=f"{name} by {solver}")


PAIRS = list(pairs())


def naive_loss(model: Any) -> NaiveLoss:
    if model.loss == "squared":
        return NaiveSquared(model.alpha if hasattr(model, "alpha") else 1.0 / model.C)
    if model.loss == "hinge":
        return NaiveHinge(model.C)
    if model.loss == "logistic":
        return NaiveLogistic(model.C)
    return NaiveEpsilonInsensitive(1.0 / model.alpha, model.epsilon)


def ball(model: Any, n_kernels: int) -> Ball:
    if isinstance(model, L2KRR):
        centers = {"zero": 0.0, "uniform": 1.0 / n_kernels}
        named = isinstance(model.center, str)
        return Ball(2.0, centers[model.center] if named else model.center, model.radius)
    return Ball(float(model.norm))


def scales(model: Any, grams: Matrix) -> Matrix:
    """Factors of the kernels: one over their mean diagonal, centered if there is an intercept."""
    if model.normalize is None:
        return np.ones(len(grams))
    centered = [center(K) if model.fit_intercept else K for K in grams]
    traces = np.array([np.trace(K) / len(K) for K in centered])
    constant = traces <= 1e-14 * np.array([np.trace(K) / len(K) for K in grams])
    return np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, traces))


def machine_grams(model: Any, grams: Matrix) -> Matrix:
    """The matrices that the machines are fitted to: scaled, centered if there is an intercept."""
    scaled = scales(model, grams)[:, None, None] * grams
    return np.stack([center(K) for K in scaled]) if model.fit_intercept else scaled


@cache
def optimum(problem: str, solver: str) -> float:
    """The reference's objective."""
    case, model = PROBLEMS[problem](), SOLVERS[solver]
    grams = machine_grams(model, case.grams)
    loss, weights = naive_loss(model), ball(model, len(grams))
    return best_dual(grams, case.Y, loss, weights, intercept=model.fit_intercept)[0]


@cache
def fitted(problem: str, solver: str, tol: float) -> Any:
    case = PROBLEMS[problem]()
    return clone(SOLVERS[solver]).set_params(kernels=case.kernels, tol=tol).fit(case.X, case.y)


@dataclass(frozen=True)
class Measured:
    """A fitted model's optimality, from its public attributes and dense matrices."""

    weights: Matrix
    dual: Matrix
    F: Matrix
    Y: Matrix
    loss: NaiveLoss
    ball: Ball
    primal: float
    bound: float
    rounding: float
    """Bound on the difference between the objectives of the predictions and of the machines,
    relative to the objective.

    Predictions are of the kernels as given, machines of the centered ones. Their values differ by a
    constant and by the mean of each row of the kernel times the sum of the dual variables, which is
    zero up to the accuracy of scikit-learn's machines only."""

    @property
    def gap(self) -> float:
        return (self.primal - self.bound) / abs(self.primal)

    @property
    def slackness(self) -> Matrix:
        """l(y, f) + l*(-c) + c f of every sample: zero where c is a slope of the loss at f."""
        columns = zip(self.Y.T, self.F.T, self.dual.T, strict=True)
        return np.array([slackness(self.loss, y, f, c) for y, f, c in columns])


def measured(model: Any, case: Problem) -> Measured:
    """Measure the conditions of optimality of a fitted model."""
    scale, grams = scales(model, case.grams), machine_grams(model, case.grams)
    weights = np.divide(model.weights_, scale, out=np.zeros_like(scale), where=scale > 0.0)
    predict = getattr(model, "decision_function", model.predict)
    F = np.asarray(predict(case.X)).reshape(case.Y.shape)
    dual, loss, unit = model.dual_coef_, naive_loss(model), ball(model, len(grams))
    primal = primal_objective(np.tensordot(weights, grams, axes=1), case.Y, loss, dual, F)
    bound = dual_objective(grams, case.Y, loss, unit, dual)
    rounding = 0.0
    if model.fit_intercept:
        row_means = np.tensordot(model.weights_, case.grams, axes=1).mean(axis=1)
        # Dual variables are slopes of the loss, so that their sum bounds its change.
        change = np.abs(dual.sum(axis=0)) @ np.abs(dual).sum(axis=0)
        rounding = float(np.ptp(row_means) * change / abs(primal))
    return Measured(weights, dual, F, case.Y, loss, unit, primal, bound, rounding)


def assert_inside(weights: Matrix, naive: Ball) -> None:
    assert (weights >= 0.0).all()
    shift = np.abs(weights - naive.center)
    assert np.linalg.norm(shift, ord=naive.p) <= naive.radius * (1.0 + 1e-12)


PAIR: list[Any] = [Gaussian(1.0), "linear"]


def data_for(model: Any) -> tuple[Matrix, Any]:
    return training_set("binary" if is_classifier(model) else "regression")
