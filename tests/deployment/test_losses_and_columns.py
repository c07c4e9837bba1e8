"""Models of other losses, and kernels of columns: compressed, exported and updated, or refused."""

from typing import Any

import numpy as np
import pytest
from deployment_cases import N, classes, responses, rows
from numpy.testing import assert_allclose, assert_array_equal

from mercer import (
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    KernelStackingClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
    to_onnx,
)
from mercer._files.deployment.onnx_export import onnx_inputs
from mercer.kernels import (
    Categorical,
    Gaussian,
    Kernel,
    Lookup,
    Missing,
    OnColumns,
    Ordinal,
    Spectrum,
    Tanimoto,
)

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

KERNEL = Gaussian(2.0)
X, NEW = rows()[:N], rows()[N:]
MANY = rows(800, seed=5)
COUNTS = np.random.default_rng(3).poisson(np.exp(responses(X)))
GRADES = np.searchsorted([-0.5, 0.5], responses(X))


def in_runtime(model: Any, X: np.ndarray) -> list[Any]:
    """What the exported model predicts."""
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    graph = to_onnx(model, X)
    session = runtime.InferenceSession(graph.SerializeToString())
    found: list[Any] = session.run(None, onnx_inputs(graph, X))
    return found


class TestGeneralizedMachines:
    def test_expected_counts(self) -> None:
        model = KernelPoissonRegressor([KERNEL]).fit(X, COUNTS)
        expected = model.predict(NEW)
        small = compress(model, MANY, n_components=80)
        assert_allclose(small.predict(NEW), expected, rtol=0.1)
        assert 1e-8 < small.loss_ < 0.01
        assert_allclose(in_runtime(model, NEW)[0].ravel(), expected, rtol=1e-5)

    def test_probabilities_of_two_classes(self) -> None:
        model = KernelLogisticRegression([KERNEL]).fit(X, classes(X, 2))
        small = compress(model, MANY, n_components=80)
        assert_allclose(small.predict_proba(NEW), model.predict_proba(NEW), atol=0.05)
        label, probabilities = in_runtime(model, NEW)
        assert_array_equal(label, model.predict(NEW))
        assert_allclose(probabilities, model.predict_proba(NEW), atol=2e-5)

    def test_more_classes_have_scores(self) -> None:
        model = KernelLogisticRegression([KERNEL]).fit(X, classes(X, 3))
        small = compress(model, MANY, n_components=200)
        assert np.mean(small.predict(NEW) == model.predict(NEW)) > 0.95
        assert not hasattr(small, "predict_proba")
        assert_array_equal(in_runtime(model, NEW)[0], model.predict(NEW))

    def test_grades_are_refused(self) -> None:
        pytest.importorskip("skl2onnx")
        model = KernelOrdinalClassifier([KERNEL]).fit(X, GRADES)
        name = "KernelOrdinalClassifier"
        with pytest.raises(TypeError, match=f"{name} cannot be compressed: its grades lie"):
            compress(model, X)
        with pytest.raises(TypeError, match=f"{name} has no operators in ONNX: its grades lie"):
            to_onnx(model, X)


def test_stacks_of_several_labels_are_not_updated() -> None:
    model = KernelStackingClassifier([KERNEL]).fit(X, (X > 0.0).astype(int))
    with pytest.raises(TypeError, match="stack of several labels"):
        model.update(NEW, (NEW > 0.0).astype(int))


def coded(n: int, seed: int, missing: float = 0.0) -> np.ndarray:
    """Rows of a number, a code of four values and a small whole number."""
    rng = np.random.default_rng(seed)
    table = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 4, n), rng.integers(0, 3, n)]
    ).astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    return table


OF_COLUMNS: dict[str, Kernel] = {
    "Categorical": OnColumns(Gaussian(1.0), [0]) * OnColumns(Categorical(), [1]),
    "Ordinal": OnColumns(Gaussian(1.0), [0]) + OnColumns(Ordinal(2.0), [2]),
    "Missing": Missing(OnColumns(Gaussian(1.0), [0])) * OnColumns(Categorical(), [1]),
    "Tanimoto": OnColumns(Tanimoto(), [1, 2]) + OnColumns(Gaussian(1.0), [0]),
    "Spectrum": OnColumns(Spectrum(1, letters=[0.0, 1.0, 2.0, 3.0]), [1, 2]),
    "Lookup": OnColumns(Lookup(np.eye(4) + 1.0), [1]) + OnColumns(Gaussian(1.0), [0]),
}


OF_CODES = {
    "Categorical": "Categorical, width",
    "Missing": "missing values at",
    "Spectrum": "Spectrum of length 1",
    "Lookup": "Lookup of 4 objects",
}
"""Kernels of columns without means, by the words with which they are refused."""


@pytest.mark.parametrize("name", OF_COLUMNS)
def test_kernels_of_columns(name: str) -> None:
    missing = 0.1 if name == "Missing" else 0.0
    table, new = coded(200, 0, missing), coded(400, 1, missing)
    y = np.nan_to_num(np.sin(table[:, 0]) + (table[:, 1] == 2.0) + 0.3 * table[:, 2])
    model = TwoStageRegressor(UniformCombination([OF_COLUMNS[name]])).fit(table[:150], y[:150])
    expected = model.predict(new)
    if name in OF_CODES:
        with pytest.raises(TypeError, match=f"{OF_CODES[name]}.* cannot be compressed"):
            compress(model, new, n_components=100)
    else:
        small = compress(model, new, n_components=100)
        assert np.corrcoef(small.predict(new), expected)[0, 1] > 0.97
    pytest.importorskip("skl2onnx")
    with pytest.raises(TypeError, match=f"{name}|Categorical"):
        to_onnx(model, table)
