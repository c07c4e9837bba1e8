"""Predictions for rows outside of the data: beside a Gaussian process, and far away."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import make_pipeline

import mercer
from mercer import (
    BayesianMKLRegressor,
    KernelLogisticRegression,
    KernelPoissonRegressor,
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._files.deployment.onnx_export import onnx_inputs
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.preprocessing import table_encoder

AXIS = np.linspace(0.0, 6.0, 31)[:, None]
GRID = np.array([[a, b] for a in np.linspace(0.0, 6.0, 7) for b in np.linspace(0.0, 6.0, 7)])

FUNCTIONS: dict[str, tuple[np.ndarray, Callable[[np.ndarray], np.ndarray], float]] = {
    "line": (AXIS, lambda X: 1.0 + 0.5 * X[:, 0], 3.0),
    "plane": (GRID, lambda X: X[:, 0] - 2.0 * X[:, 1], 3.0),
    "sine": (AXIS, lambda X: np.sin(1.5 * X[:, 0]), 1.5),
    "step": (AXIS, lambda X: np.where(X[:, 0] > 3.1, 2.0, -1.0), 0.5),
}
"""Rows, a function of them, and the width of a kernel for it."""

PREDICTORS: dict[str, Callable[[Gaussian], Any]] = {
    "stack": lambda kernel: KernelStackingRegressor([kernel]),
    "stack on Nyström features": lambda kernel: KernelStackingRegressor(
        [kernel], approximation="nystroem", n_components=49
    ),
    "two-stage": lambda kernel: TwoStageRegressor(UniformCombination([kernel])),
    "Bayesian MKL": lambda kernel: BayesianMKLRegressor([kernel], n_starts=1),
}


def outside(X: np.ndarray, distance: float) -> np.ndarray:
    """Rows at a distance from the data, along each axis and along all."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.vstack([high + distance, low - distance, np.append(high[:-1], high[-1] + distance)])


def fitted(predictor: str, function: str) -> tuple[Any, Any]:
    """A predictor and the Gaussian process of the same kernel."""
    X, of, width = FUNCTIONS[function]
    model = PREDICTORS[predictor](Gaussian(width)).fit(X, of(X))
    kernel = ConstantKernel(1e4, "fixed") + ConstantKernel(1e2, "fixed") * RBF(
        width / np.sqrt(2.0), "fixed"
    )
    process = GaussianProcessRegressor(kernel, alpha=1e-6, normalize_y=True, optimizer=None)
    return model, process.fit(X, of(X))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_predictions_near_the_data_and_far_away(predictor: str, function: str) -> None:
    """Near the data, errors are those of a process; far away, predictions stay near the mean."""
    X, of, width = FUNCTIONS[function]
    model, process = fitted(predictor, function)
    for step in ((X[1:] - X[:-1]).max(), width):
        rows = outside(X, step)
        error, expected = (np.abs(m.predict(rows) - of(rows)).max() for m in (model, process))
        assert error < 1.25 * expected + 0.02 * np.std(of(X))
    y = of(X)
    for distance in (10.0 * width, 1e8):
        far = model.predict(outside(X, distance))
        assert np.abs(far - y.mean()).max() < 2.0 * np.ptp(y)
        if predictor.startswith("stack"):
            assert_allclose(far, y.mean())


EXAMPLES: list[tuple[np.ndarray, Callable[[np.ndarray], np.ndarray], np.ndarray]] = [
    (
        np.linspace(0.0, 12.0, 90)[:, None],
        lambda X: np.cos(X[:, 0]) + 0.3 * X[:, 0],
        np.linspace(12.1, 12.6, 6)[:, None],
    ),
    (
        np.array([[a, b] for a in np.linspace(0.0, 1.0, 6) for b in np.linspace(0.0, 1.0, 6)]),
        lambda X: X[:, 0] + 2.0 * X[:, 1],
        np.array([[-0.3, 0.5], [1.3, 1.3], [0.2, 1.25], [-0.3, -0.3], [1.2, 0.4]]),
    ),
]


@pytest.mark.parametrize(("X", "of", "new"), EXAMPLES, ids=["waves", "plane"])
def test_default_stacks_go_on_as_the_function_does(
    X: np.ndarray, of: Callable[[np.ndarray], np.ndarray], new: np.ndarray
) -> None:
    model, truth = KernelStackingRegressor().fit(X, of(X)), of(new)
    assert np.abs(model.predict(new) - truth).max() < 0.01 * np.std(of(X))
    low, high = model.predict_interval(new).T
    assert ((low <= truth) & (truth <= high)).mean() > 0.7


# --- intervals ------------------------------------------------------------------------------------


def test_intervals_widen_with_the_distance() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, size=(60, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    model = KernelStackingRegressor([Gaussian(2.0)]).fit(X, y)
    edge = X.max()
    rows = edge + np.array([0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 1e3, 1e8])[:, None]
    widths = np.diff(model.predict_interval(rows, scale=None), axis=1)[:, 0]
    assert (np.diff(widths) > -1e-2 * widths[0]).all()
    assert widths[0] < 0.5
    assert widths[-1] > 1.5
    low, high = np.quantile(y, [0.05, 0.95])
    assert_allclose(widths[-1], high - low, rtol=0.1)


# --- values that are absurd -----------------------------------------------------------------------


def table(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a normal, a heavy-tailed and a binary column, and responses."""
    rng = np.random.default_rng(1)
    columns = [rng.normal(size=n), np.exp(2.0 * rng.normal(size=n)), rng.integers(0, 2, n)]
    X = np.column_stack(columns).astype(float)
    return X, X[:, 0] + np.log(X[:, 1]) - X[:, 2]


CANDIDATES: dict[str, Any] = {
    "default": None,
    "linear and Gaussian": [Linear(), Gaussian(3.0)],
    "polynomial": [Polynomial(3)],
}


@cache
def stack(name: str) -> KernelStackingRegressor:
    """A stack of the candidates of a name, fitted to the table."""
    return KernelStackingRegressor(CANDIDATES[name]).fit(*table())


def absurd(column: int, size: float) -> np.ndarray:
    """Rows of the table with an absurd value."""
    rows = table()[0][:4]
    rows[:, column] = [size, -size, size, -size]
    return rows


@pytest.mark.parametrize("name", CANDIDATES)
def test_absurd_values_give_the_mean(name: str) -> None:
    mean = table()[1].mean()
    for size in (1e8, 1e30, 1e90):
        for column in range(3):
            assert_allclose(stack(name).predict(absurd(column, size)), mean, atol=1e-9)


def test_absurd_values_of_encoded_tables_give_nearly_the_mean() -> None:
    X, y = table()
    model = make_pipeline(table_encoder(), KernelStackingRegressor()).fit(X, y)
    for column in range(2):
        assert_allclose(model.predict(absurd(column, 1e8)), y.mean(), atol=0.2 * np.std(y))


def test_rows_of_a_heavy_tail_are_near() -> None:
    X, _ = table()
    new = X[:40].copy()
    new[:, 1] *= 3.0
    model = stack("default")
    views = model._views_of(new)
    assert (model._fall_back.closeness(views) > 0.5).all()
    assert (model._fall_back.closeness(model._views_of(X)) == 1.0).all()


def test_classifiers_go_on_with_the_class_of_the_edge() -> None:
    labels = np.where(AXIS[:, 0] > 3.1, "right", "left")
    estimators = [
        KernelStackingClassifier([Gaussian(2.0)]),
        TwoStageClassifier(UniformCombination([Gaussian(2.0)])),
        KernelLogisticRegression([Gaussian(2.0)]),
    ]
    for estimator in estimators:
        model = estimator.fit(AXIS, labels)
        for distance in (0.2, 2.0):
            assert_array_equal(
                model.predict([[6.0 + distance], [-distance]]), ["right", "left"], str(model)
            )
        far = model.predict_proba([[1e8], [-1e8]])
        assert np.isfinite(far).all()
        if isinstance(model, KernelStackingClassifier):
            assert_allclose(far[0], (labels[:, None] == model.classes_).mean(axis=0))


def test_rates_of_counts_go_on_and_are_bounded() -> None:
    rates = np.exp(1.0 + 0.3 * AXIS[:, 0])
    model = KernelPoissonRegressor([Gaussian(4.0)]).fit(AXIS, np.round(rates))
    assert_allclose(model.predict([[6.2]]), np.exp(1.0 + 0.3 * 6.2), rtol=0.1)
    assert (model.predict([[60.0], [1e8], [-1e8]]) < 2.0 * rates.max()).all()


# --- everything that carries a model agrees -------------------------------------------------------


@cache
def carried(task: str) -> tuple[Any, np.ndarray]:
    """A stack of two members in several views, and rows from within to absurd."""
    X, y = table()
    new = np.vstack(
        [X[:5], *(absurd(0, size) for size in (5.0, 12.0, 1e8)), absurd(1, 1e8), absurd(2, 9.0)]
    )
    if task == "regression":
        return stack("linear and Gaussian"), new
    labels = np.digitize(y, [0.0, 1.5] if task == "three classes" else [0.0])
    return KernelStackingClassifier([Gaussian(1.0), Gaussian(3.0)]).fit(X, labels), new


def values(model: Any, X: np.ndarray) -> np.ndarray:
    """Responses, or probabilities."""
    return np.asarray(getattr(model, "predict_proba", model.predict)(X))


TASKS = ["regression", "two classes"]


@pytest.mark.parametrize("task", TASKS)
class TestAgreement:
    def test_rows_are_near_between_and_far(self, task: str) -> None:
        model, new = carried(task)
        closeness = model._fall_back.closeness(model._views_of(new))
        assert (closeness == 1.0).any()
        assert (closeness == 0.0).any()
        assert ((closeness > 0.0) & (closeness < 1.0)).any()

    def test_graphs(self, task: str) -> None:
        pytest.importorskip("skl2onnx")
        runtime = pytest.importorskip("onnxruntime")
        model, new = carried(task)
        graph = mercer.to_onnx(model, new)
        session = runtime.InferenceSession(graph.SerializeToString())
        *_, found = session.run(None, onnx_inputs(graph, new))
        assert_allclose(found.reshape(values(model, new).shape), values(model, new), atol=1e-9)

    def test_few_centers(self, task: str) -> None:
        model, _ = carried(task)
        small = mercer.compress(model, table()[0], n_components=20)
        far = absurd(0, 1e8)
        assert_allclose(values(small, far), values(model, far), atol=1e-6)


@pytest.mark.parametrize("task", [*TASKS, "three classes"])
def test_explanations_add_up_outside(task: str) -> None:
    model, new = carried(task)
    scores = shapley_values(model, new, background=table()[0][:10]).predictions
    expected = values(model, new)
    if task == "two classes":
        scores, expected = expit(scores), expected[:, 1]
    elif task == "three classes":
        scores = softmax(scores, axis=1)
    assert_allclose(scores, expected, atol=1e-9)
