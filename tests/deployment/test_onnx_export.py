"""ONNX graphs beside the models, run by onnxruntime, and what has no operators."""

from typing import Any

import numpy as np
import pytest
from deployment_cases import (
    SUMS_OVER_CENTERS,
    N,
    classes,
    fitted,
    leaf_stack,
    leaf_stack_of_categories,
    probabilities_of,
    responses,
    rows,
    several_labels,
    with_category,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri
from sklearn.base import is_classifier
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from mercer import (
    ForestKernel,
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
    to_onnx,
)
from mercer._deployment.onnx_export import onnx_inputs
from mercer.kernels import (
    Dirichlet,
    Forest,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    Product,
    RationalQuadratic,
    WeightedSum,
)
from mercer.preprocessing import SoftClippingScaler, table_encoder

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
from mercer._deployment.onnx_operators import Operators
from mercer._deployment.onnx_views import interpolated, normal_quantile

pytestmark = [
    pytest.mark.filterwarnings("ignore:No number of centers that was tried"),
    pytest.mark.usefixtures("few_folds_throughout"),
]

X, NEW = rows()[:N], rows()[N:]

PARTS = ["c", "t", "_", "__", "0", "1", "2", "scan", "x", "X", "variable", "é", "\n"]
NAMES = st.lists(st.sampled_from(PARTS), max_size=3).map("".join)
"""Names of columns that may meet those of tensors, inputs and outputs."""

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


def run(graph: Any, table: Any) -> dict[str, np.ndarray]:
    """Outputs of a graph, by name."""
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, onnx_inputs(graph, table)), strict=True))


def precision(graph: Any) -> int:
    """Type of the last output."""
    return int(graph.graph.output[-1].type.tensor_type.elem_type)


def compared(model: Any, graph: Any, table: Any, tolerance: float) -> None:
    """Compare all outputs of a graph with what the model predicts."""
    found = run(graph, table)
    if not is_classifier(model):
        expected = np.reshape(model.predict(table), (len(found["variable"]), -1))
        assert list(found) == ["variable"]
        assert_allclose(found["variable"], expected, atol=tolerance * expected.std())
        return
    assert_array_equal(found["label"], model.predict(table))
    if hasattr(model, "predict_proba") and "probabilities" in found:
        assert_allclose(found["probabilities"], model.predict_proba(table), atol=tolerance)
        assert list(found) == ["label", "probabilities"]


class TestModels:
    @pytest.mark.parametrize(("task", "name"), SUMS_OVER_CENTERS)
    def test_graphs_predict_what_models_predict(self, task: str, name: str) -> None:
        model = fitted(task, name)
        if (task, name) == ("three classes", "Bayesian"):
            with pytest.raises(TypeError, match="BayesianMKLClassifier of more than two classes"):
                to_onnx(model, X)
            return
        cancels = name == "two-stage, Nyström"
        compared(model, to_onnx(model, X, dtype="float64"), NEW, 1e-6 if cancels else 1e-9)
        compared(model, to_onnx(model, NEW), NEW, 1.01e-5)
        assert probabilities_of(model) or not is_classifier(model) or name == "Bayesian"

    @pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
    def test_compressed_models(self, task: str) -> None:
        small = compress(fitted(task, "stacking"), X, n_components=20)
        compared(small, to_onnx(small, X, dtype="float64"), NEW, 1e-9)
        compared(small, to_onnx(small, X), NEW, 1e-4)

    def test_single_precision_where_it_is_close(self) -> None:
        smooth = fitted("regression", "two-stage")
        assert precision(to_onnx(smooth, X)) == onnx.TensorProto.FLOAT
        compared(smooth, to_onnx(smooth, X), NEW, 1e-4)

    @pytest.mark.parametrize("kernel", WITH_OPERATORS, ids=lambda kernel: kernel.describe())
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_large_inputs(self, kernel: Any, dtype: str) -> None:
        model = TwoStageRegressor(UniformCombination([kernel]), alpha=0.1).fit(X, responses(X))
        powers = 10.0 ** np.array([5, 19, 20, 30, 38] + [150, 300] * (dtype == "float64"))
        large = np.vstack([powers[:, None] * row for row in (NEW[0] / 5.0, [1.0, 0.0, 0.0])])
        large = large.astype(dtype).astype(float)
        with np.errstate(over="ignore", invalid="ignore"):
            expected = model.predict(large)
        assert np.isfinite(expected[:2]).all()
        found = run(to_onnx(model, X, dtype=dtype), large)["variable"][:, 0].astype(float)
        known = np.abs(expected) < np.finfo(dtype).max
        assert_allclose(found[known], expected[known], rtol=1e-5, atol=1e-5)

    def test_double_precision_where_it_is_not(self) -> None:
        """Single precision has seven digits: too few for differences in the eighth."""
        model = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), alpha=0.1)
        model.fit(X + 1e6, responses(X))
        graph = to_onnx(model, X + 1e6)
        assert precision(graph) == onnx.TensorProto.DOUBLE
        compared(model, graph, NEW + 1e6, 1e-7)
        assert precision(to_onnx(fitted("regression", "two-stage"), X[:1])) == 11

    def test_coefficients_that_cancel(self) -> None:
        """Nyström features of nearly equal centers have large ones."""
        wide = TwoStageRegressor(
            UniformCombination([Gaussian(40.0)]), approximation="nystroem", n_components=50
        ).fit(X, responses(X))
        graph = to_onnx(wide, X)
        assert precision(graph) == onnx.TensorProto.FLOAT
        compared(wide, graph, NEW, 1e-5)

    @pytest.mark.parametrize("task", ["regression", "two classes"])
    def test_far_from_all_rows_graphs_fall_back_too(self, task: str) -> None:
        model = fitted(task, "stacking")
        far = np.vstack([NEW, 5.0 * NEW, 100.0 * NEW])
        compared(model, to_onnx(model, X, dtype="float64"), far, 1e-9)

    def test_leaves_of_trees(self) -> None:
        model = leaf_stack()
        graph = to_onnx(model, NEW, dtype="float64")
        compared(model, graph, NEW, 1e-7)

    def test_leaves_of_trees_that_read_indicators_as_one_column(self) -> None:
        model, table = leaf_stack_of_categories(), with_category(NEW)
        assert any(isinstance(k, Forest) and k.indicators for k in model.kernels_)
        compared(model, to_onnx(model, table, dtype="float64"), table, 1e-7)

    def test_kernels_of_trees_in_single_precision(self) -> None:
        learner = ForestKernel("extra-trees", n_trees=5, min_samples_leaf=1)
        model = TwoStageRegressor(learner, alpha=0.1).fit(X, responses(X))
        compared(model, to_onnx(model, X, dtype="float64"), NEW, 1e-9)
        trees = Forest(RandomForestRegressor(4, random_state=0).fit(X, X[:, 0]))
        both = WeightedSum([trees, Gaussian(2.0)], [0.5, 2.0])
        model = TwoStageRegressor(UniformCombination([both]), alpha=0.1).fit(X, responses(X))
        compared(model, to_onnx(model, X, dtype="float64"), NEW, 1e-9)

    def test_a_periodic_kernel(self) -> None:
        kernel = OnColumns(Dirichlet(1.5), [0])
        model = TwoStageRegressor(UniformCombination([kernel]), alpha=0.1).fit(X, responses(X))
        compared(model, to_onnx(model, X, dtype="float64"), NEW, 1e-9)

    def test_several_labels_and_responses(self) -> None:
        model = several_labels()
        found = run(to_onnx(model, X, dtype="float64"), NEW)
        assert_array_equal(found["label"], model.predict(NEW))
        assert_allclose(found["probabilities"], model.predict_proba(NEW), atol=1e-9)
        Y = np.column_stack([responses(X), X[:, 0]])
        both = KernelStackingRegressor([Gaussian(2.0)]).fit(X, Y)
        compared(both, to_onnx(both, X, dtype="float64"), NEW, 1e-9)

    @pytest.mark.parametrize("labels", [[0, 1], [1.0, 2.0], ["no", "yes"], [False, True]])
    def test_labels_keep_their_type(self, labels: list[Any]) -> None:
        y = np.array(labels)[(responses(X) > 0.0).astype(int)]
        model = TwoStageClassifier(UniformCombination([Gaussian(2.0)]), C=1.0).fit(X, y)
        found = run(to_onnx(model, X), NEW)["label"]
        assert_array_equal(found, model.predict(NEW))


class TestViewsAndEncoders:
    def test_views_of_stacks(self) -> None:
        """Heavy tails, columns of two values, of one, and of many equal values."""
        rng = np.random.default_rng(0)
        table = np.column_stack(
            [
                np.exp(2.0 * rng.normal(size=200)),
                rng.integers(0, 2, 200),
                np.full(200, 7.0),
                np.maximum(rng.normal(size=200), 0.0),
                rng.integers(0, 5, 200) / 10.0,
            ]
        )
        y = np.log(table[:, 0]) + table[:, 1] - table[:, 3]
        model = KernelStackingRegressor(max_samples=100).fit(table, y)
        views = model.kernel_expansion().views_of
        assert "quantiles" in views.names
        new = np.vstack([table[:50], table[50:100] * 1.1 - 0.1, table[:5] * 1e3])
        compared(model, to_onnx(model, table, dtype="float64"), new, 1e-7)
        compared(model, to_onnx(model, table), new, 1e-4)

    def test_normal_quantiles(self) -> None:
        op = Operators(np.dtype(np.float64))
        p = np.concatenate([np.geomspace(1e-9, 0.5, 200), 1.0 - np.geomspace(1e-9, 0.5, 200)])
        found = normal_quantile(op, "p")
        helper, double = onnx.helper, onnx.TensorProto.DOUBLE
        given, wanted = (helper.make_tensor_value_info(n, double, [None]) for n in ("p", found))
        constants = list(op.graph.constants.values())
        graph = helper.make_graph(op.graph.nodes, "g", [given], [wanted], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        session = runtime.InferenceSession(model.SerializeToString())
        assert_allclose(session.run(None, {"p": p})[0], ndtri(p), rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize(
        "step",
        [
            StandardScaler(),
            StandardScaler(with_mean=False),
            MinMaxScaler(),
            MaxAbsScaler(),
            RobustScaler(),
            SoftClippingScaler(),
            FunctionTransformer(),
            make_column_transformer((StandardScaler(), [2, 0]), ("drop", [1])),
            make_column_transformer((MinMaxScaler(), [1]), remainder="passthrough"),
        ],
        ids=repr,
    )
    def test_steps_of_numbers(self, step: Any) -> None:
        model = make_pipeline(step, TwoStageRegressor(alpha=0.1)).fit(X, responses(X))
        compared(model, to_onnx(model, X, dtype="float64"), NEW, 1e-9)

    @pytest.mark.parametrize("n_classes", [0, 2, 3])
    def test_the_encoder_of_tables(self, n_classes: int) -> None:
        pd = pytest.importorskip("pandas")
        rng = np.random.default_rng(0)
        color = rng.choice(["red", "green", "blue"], N).astype(object)
        many = rng.choice([f"shop {i}" for i in range(40)], 10 * N).astype(object)[:N]
        color[:5] = None
        frame = pd.DataFrame({"size": X[:, 0], "weight": X[:, 1], "color": color})
        frame["open"], frame["shop"], frame["empty"] = rng.uniform(size=N) < 0.5, many, np.nan
        frame["grade"] = pd.Categorical(rng.integers(1, 4, N))
        frame.loc[3:9, "weight"] = np.nan
        y = responses(X) + (color == "red")
        learner = UniformCombination([Gaussian(2.0)])
        last: Any = TwoStageRegressor(learner, alpha=0.1)
        if n_classes:
            y, last = classes(X, n_classes), KernelStackingClassifier([Gaussian(2.0)])
        model = make_pipeline(table_encoder(), last).fit(frame, y)
        if n_classes == 3:
            model = compress(model, frame, n_components=20)
        new = frame.iloc[::-1].copy()
        new.iloc[0, 2] = "purple"
        new["size"] *= 1.3
        graph = to_onnx(model, frame, dtype="float64")
        compared(model, graph, new, 1e-8)
        inputs = {found.name: found for found in graph.graph.input}
        assert "empty" not in inputs
        assert inputs["color"].type.tensor_type.elem_type == onnx.TensorProto.STRING
        assert inputs["size"].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE

    def test_arrays_of_mixed_types(self) -> None:
        rng = np.random.default_rng(0)
        table = np.column_stack([X.astype(object), rng.choice(["a", "b"], N).astype(object)])
        learner = UniformCombination([Gaussian(2.0)])
        model = make_pipeline(table_encoder(), TwoStageRegressor(learner, alpha=0.1))
        model.fit(table, responses(X))
        graph = to_onnx(model, table, dtype="float64")
        assert [found.name for found in graph.graph.input] == ["x0", "x1", "x2", "x3"]
        compared(model, graph, table, 1e-9)

    @settings(max_examples=25)
    @given(st.lists(NAMES, min_size=3, max_size=3))
    def test_names_of_columns(self, names: list[str]) -> None:
        """Every frame is exported exactly, or refused for what its names are."""
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X, columns=names)
        refused = len(set(names)) < 3 or {"", "variable"} & set(names)
        for model in (fitted("regression", "two-stage"), fitted("regression", "two-stage, scans")):
            if refused:
                with pytest.raises(ValueError, match=r"Several columns|A column has|The column"):
                    to_onnx(model, frame, dtype="float64")
                continue
            found = run(to_onnx(model, frame, dtype="float64"), frame)["variable"]
            assert_allclose(found[:, 0], model.predict(X), atol=1e-9)

    def test_names_of_internal_tensors(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(np.tile(X, 5)[:, :13], columns=[f"c{k}" for k in range(13)])
        model = TwoStageRegressor(UniformCombination([Gaussian(4.0)]), alpha=0.1)
        graph = to_onnx(model.fit(frame, responses(X)), frame, dtype="float64")
        assert [found.name for found in graph.graph.input] == list(frame.columns)
        compared(model, graph, frame, 1e-9)

    def test_columns_that_are_not_used_may_have_names_of_outputs(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"label": X[:, 0], "variable": X[:, 1], "size": X[:, 2]})
        chosen = make_column_transformer(("passthrough", ["size", "label"]))
        model = make_pipeline(chosen, TwoStageRegressor(alpha=0.1)).fit(frame, responses(X))
        compared(model, to_onnx(model, frame, dtype="float64"), frame, 1e-9)
        model = TwoStageClassifier(C=1.0).fit(frame, classes(X, 2))
        with pytest.raises(ValueError, match="The column 'label' has the name of an output"):
            to_onnx(model, frame)

    def test_frames_of_numbers(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), alpha=0.1)
        model.fit(frame, responses(X))
        graph = to_onnx(model, frame, dtype="float64")
        assert [found.name for found in graph.graph.input] == ["a", "b", "c"]
        compared(model, graph, frame, 1e-9)


def test_interpolation_between_nearly_equal_quantiles() -> None:
    low, high = 100.0, np.nextafter(100.0, 200.0)
    knots = np.array([-3.0, 0.0, low, high, np.nextafter(high, 200.0), 150.0, 150.0, 160.0])
    references = np.linspace(0.0, 1.0, len(knots))
    x = np.array([-3.0, -1.0, 0.0, low, high, 120.0, 150.0, 155.0, 160.0])
    op = Operators(np.dtype(np.float64))
    found = interpolated(op, op.cast("x"), knots[:, None], references)
    op.graph.nodes.append(onnx.helper.make_node("Identity", [found], ["found"]))
    ends = (onnx.helper.make_tensor_value_info(name, 11, [None, 1]) for name in ("x", "found"))
    constants = list(op.graph.constants.values())
    graph = onnx.helper.make_graph(op.graph.nodes, "graph", *([end] for end in ends), constants)
    opset = [onnx.helper.make_opsetid("", 18)]
    proto = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
    session = runtime.InferenceSession(proto.SerializeToString())
    downwards = np.interp(-x, -knots[::-1], -references[::-1])
    expected = 0.5 * (np.interp(x, knots, references) - downwards)
    assert_allclose(session.run(None, {"x": x[:, None]})[0][:, 0], expected, atol=1e-12)


class TestWhatHasNoOperators:
    def test_callable_kernels(self) -> None:
        def own(A: np.ndarray, B: np.ndarray) -> np.ndarray:
            return np.asarray(A @ B.T + 1.0)

        model = TwoStageRegressor(UniformCombination([own, Gaussian()]), alpha=0.1)
        model.fit(X, responses(X))
        with pytest.raises(TypeError, match="The kernel own has no operators in ONNX"):
            to_onnx(model, X)
        with pytest.raises(TypeError, match="The kernel own has no operators in ONNX"):
            to_onnx(compress(model, X, n_components=20), X)

    def test_kernels_of_other_formulas(self) -> None:
        class Sharper(Gaussian):
            def _from_scaled(self, u: np.ndarray) -> np.ndarray:
                return super()._from_scaled(4.0 * u)

        model = TwoStageRegressor(UniformCombination([Sharper()]), alpha=0.1)
        with pytest.raises(TypeError, match=r"Sharper, width 1.* has no operators"):
            to_onnx(model.fit(X, responses(X)), X)

    def test_votes_of_machines(self) -> None:
        for name in ("two-stage", "stacking"):
            with pytest.raises(
                TypeError, match=r"votes of machines .* no operators in ONNX\. merc"
            ):
                to_onnx(fitted("three classes", name), X)

    def test_models_that_predict_nothing(self) -> None:
        with pytest.raises(TypeError, match="predicts nothing"):
            to_onnx(UniformCombination().fit(X, responses(X)), X)
        with pytest.raises(TypeError, match="Ridge has no operators in ONNX: it is no"):
            to_onnx(Ridge().fit(X, responses(X)), X)
        stack = np.stack([X @ X.T], axis=2)
        model = TwoStageRegressor(UniformCombination("precomputed"), alpha=0.1)
        with pytest.raises(TypeError, match="precomputed Gram matrices"):
            to_onnx(model.fit(stack, responses(X)), X)
        with pytest.raises(ValueError, match="dtype must be"):
            to_onnx(fitted("regression", "two-stage"), X, dtype="float16")

    def test_steps_of_pipelines(self) -> None:
        model = make_pipeline(PCA(2), TwoStageRegressor(alpha=0.1)).fit(X, responses(X))
        with pytest.raises(TypeError, match="The step PCA has no operators in ONNX"):
            to_onnx(model, X)

    def test_dates_and_text(self) -> None:
        pd = pytest.importorskip("pandas")
        days = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(N), unit="D")
        learner = UniformCombination([Gaussian(2.0)])
        model = make_pipeline(table_encoder(), TwoStageRegressor(learner, alpha=0.1))
        dated = pd.DataFrame({"size": X[:, 0], "day": days})
        with pytest.raises(TypeError, match="of dates has no operators"):
            to_onnx(model.fit(dated, responses(X)), dated)
        words = np.random.default_rng(0).choice(["good", "bad", "old", "new", "odd"], (N, 4))
        said = [f"{' '.join(some)} {row}" for row, some in enumerate(words)]
        told = pd.DataFrame({"size": X[:, 0], "said": said})
        with pytest.raises(TypeError, match="The step TextFeatures has no operators"):
            to_onnx(model.fit(told, responses(X)), told)

    @pytest.mark.parametrize(
        "settings", [{"drop": "first"}, {"handle_unknown": "error"}], ids=["drop", "unknown"]
    )
    def test_settings_of_encoders(self, settings: dict[str, Any]) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"kind": np.where(X[:, 0] > 0.0, "a", "b")})
        encoder = OneHotEncoder(sparse_output=False, **settings)
        model = make_pipeline(encoder, TwoStageRegressor(alpha=0.1)).fit(frame, responses(X))
        name = next(iter(settings))
        with pytest.raises(TypeError, match=rf"OneHotEncoder\({name}="):
            to_onnx(model, frame)
