"""ONNX graphs beside the models, run by onnxruntime, and what has no operators."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from deployment_cases import (
    SUMS_OVER_CENTERS,
    N,
    classes,
    fitted,
    responses,
    rows,
    several_labels,
    tree_stack,
)
from numpy.testing import assert_allclose, assert_array_equal
from onnx_cases import compared, run
from sklearn.base import is_classifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from mercer import (
    KernelLogisticRegression,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
    to_onnx,
)
from mercer.kernels import (
    Dirichlet,
    Forest,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    OnProjection,
    Polynomial,
    Product,
    RationalQuadratic,
    WeightedSum,
)

onnx = pytest.importorskip("onnx")

pytestmark = [
    pytest.mark.filterwarnings("ignore:No number of centers that was tried"),
    pytest.mark.usefixtures("few_folds_throughout"),
]

X, NEW = rows()[:N], rows()[N:]

WITH_OPERATORS = [
    Laplacian(2.0),
    Matern(2.0, nu=1.5),
    Matern(2.0, nu=2.5),
    RationalQuadratic(2.0, alpha=0.05),
    OnColumns(Dirichlet(), [0]),
    Linear(),
    Polynomial(3),
    Product([Polynomial(2), Matern(2.0)]),
]


FACTORS = [
    WeightedSum([Gaussian(7.0)], [1.0 / 3.0]),
    WeightedSum([Linear(), WeightedSum([Gaussian(7.0), Linear()], [0.7, 0.3])], [0.3, 1.7]),
    OnColumns(WeightedSum([Laplacian(9.0)], [1.0 / 3.0]), [0, 1]),
    OnProjection(Gaussian(7.0), np.eye(3)[:, :2]),
    OnProjection(WeightedSum([Linear()], [0.3]), np.eye(3)[:, :2]),
]
"""Kernels with factors."""


def beside_products(graph: Any) -> list[str]:
    """Names of single numbers by which the input or the output of a matrix product is scaled.

    Runtimes fuse them with the product, and round them to single precision.
    """
    single = {one.name for one in graph.graph.initializer if np.prod(one.dims) == 1}
    products = [node for node in graph.graph.node if node.op_type == "MatMul"]
    beside = {name for node in products for name in [*node.input, *node.output]}
    scaling = [node for node in graph.graph.node if node.op_type in ("Mul", "Div")]
    return [
        name
        for node in scaling
        for name in single.intersection(node.input)
        if beside & {*node.input, *node.output}
    ]


class TestModels:
    @pytest.mark.parametrize("kernel", FACTORS, ids=lambda kernel: kernel.describe())
    def test_no_factor_beside_a_matrix_product_is_a_single_number(self, kernel: Any) -> None:
        model = on([kernel])
        graph = to_onnx(model, X)
        assert not beside_products(graph)
        compared(model, graph, NEW, 1e-9)

    def test_a_sum_without_weights(self) -> None:
        kernel = WeightedSum([Gaussian(2.0)], [0.0])
        model = on([kernel, Linear()])
        compared(model, to_onnx(model, X), NEW, 1e-9)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_probabilities_of_logistic_regressions(self, n_classes: int) -> None:
        model = KernelLogisticRegression([Gaussian(2.0)], alpha=0.01)
        model.fit(X, classes(X, n_classes))
        graph = to_onnx(model, X)
        assert [output.name for output in graph.graph.output] == ["label", "probabilities"]
        compared(model, graph, NEW, 1e-9)

    @pytest.mark.parametrize(("task", "name"), SUMS_OVER_CENTERS)
    def test_graphs_predict_what_models_predict(self, task: str, name: str) -> None:
        model = fitted(task, name)
        compared(model, to_onnx(model, X), NEW, 1e-9)
        if is_classifier(model) and hasattr(model, "predict_proba"):
            assert "probabilities" in {output.name for output in to_onnx(model, X).graph.output}

    @pytest.mark.parametrize("task", ["regression", "three classes"])
    def test_compressed_models(self, task: str) -> None:
        small = compress(fitted(task, "stacking"), X, n_components=20)
        compared(small, to_onnx(small, X), NEW, 1e-9)

    @pytest.mark.parametrize("kernel", WITH_OPERATORS, ids=lambda kernel: kernel.describe())
    def test_large_inputs(self, kernel: Any) -> None:
        model = on([kernel])
        powers = 10.0 ** np.array([5, 19, 20, 30, 38, 150, 300])
        large = np.vstack([powers[:, None] * row for row in (NEW[0] / 5.0, [1.0, 0.0, 0.0])])
        with np.errstate(over="ignore", invalid="ignore"):
            expected = model.predict(large)
        assert np.isfinite(expected[:2]).all()
        found = run(to_onnx(model, X), large)["variable"][:, 0]
        known = np.abs(expected) < np.finfo(float).max
        assert_allclose(found[known], expected[known], rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("width", [1e2, 1e4, 1e6])
    @pytest.mark.parametrize("kernel", [Gaussian, Matern, RationalQuadratic, Laplacian])
    def test_wide_kernels(self, kernel: Any, width: float) -> None:
        """Coefficients are large, and the kernel is close to one everywhere."""
        learner = UniformCombination([kernel(width)])
        model = TwoStageRegressor(learner, alpha=1e-6).fit(X, responses(X))
        compared(model, to_onnx(model, X), NEW, 1e-6)

    def test_far_from_all_rows_graphs_fall_back_too(self) -> None:
        model = fitted("two classes", "stacking")
        far = np.vstack([NEW, 5.0 * NEW, 100.0 * NEW])
        compared(model, to_onnx(model, X), far, 1e-9)

    @pytest.mark.parametrize("n_outputs", [1, 2])
    def test_boosted_trees_of_responses(self, n_outputs: int) -> None:
        model = tree_stack(n_outputs=n_outputs)
        assert any(kernel is None for kernel in model.kernels_)
        compared(model, to_onnx(model, NEW), NEW, 1e-7)

    def test_kernels_of_trees_in_single_precision(self) -> None:
        trees = Forest(RandomForestRegressor(4, random_state=0).fit(X, X[:, 0]))
        both = WeightedSum([trees, Gaussian(2.0)], [0.5, 2.0])
        model = on([both])
        compared(model, to_onnx(model, X), NEW, 1e-9)

    def test_several_labels_and_responses(self) -> None:
        model = several_labels()
        found = run(to_onnx(model, X), NEW)
        assert_array_equal(found["label"], model.predict(NEW))
        assert_allclose(found["probabilities"], model.predict_proba(NEW), atol=1e-9)
        Y = np.column_stack([responses(X), X[:, 0]])
        both = KernelStackingRegressor([Gaussian(2.0)]).fit(X, Y)
        compared(both, to_onnx(both, X), NEW, 1e-9)

    @pytest.mark.parametrize("labels", [[0, 1], [1.0, 2.0], ["no", "yes"], [False, True]])
    def test_labels_keep_their_type(self, labels: list[Any]) -> None:
        y = np.array(labels)[(responses(X) > 0.0).astype(int)]
        model = TwoStageClassifier(UniformCombination([Gaussian(2.0)]), C=1.0).fit(X, y)
        found = run(to_onnx(model, X), NEW)["label"]
        assert_array_equal(found, model.predict(NEW))


def own(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.asarray(A @ B.T + 1.0)


def on(kernels: Any, table: np.ndarray = X) -> Any:
    return TwoStageRegressor(UniformCombination(kernels), alpha=0.1).fit(table, responses(X))


class Sharper(Gaussian):
    """A kernel of another formula than that of its base class."""

    def _from_scaled(self, u: np.ndarray) -> np.ndarray:
        return super()._from_scaled(4.0 * u)


class TestModelsWithoutOperators:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: on([own, Gaussian()]), "The kernel own has no op"),
            (lambda: on([Sharper()]), r"Sharper, width 1.* has no op"),
            (lambda: on("precomputed", np.stack([X @ X.T], axis=2)), "precomputed Gram matrices"),
            (lambda: UniformCombination().fit(X, responses(X)), "predicts nothing"),
            (lambda: Ridge().fit(X, responses(X)), "Ridge has no operators in ONNX: it is no"),
            (
                lambda: fitted("three classes", "stacking"),
                r"votes of machines .* no operators in ONNX\. merc",
            ),
            (
                lambda: fitted("two classes", "Bayesian"),
                "BayesianMKLClassifier has no op",
            ),
        ],
    )
    def test_models_are_refused(self, make: Callable[[], Any], message: str) -> None:
        with pytest.raises(TypeError, match=message):
            to_onnx(make(), X)

    def test_without_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "skl2onnx", None)
        with pytest.raises(ModuleNotFoundError, match=r"skl2onnx: pip install 'mercer\[onnx\]'"):
            to_onnx(fitted("regression", "two-stage"), X)
