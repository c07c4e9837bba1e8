"""Tables in ONNX: views of stacks, steps of pipelines, and columns as inputs."""

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from deployment_cases import N, classes, fitted, responses, rows
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from onnx_cases import compared, run
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
    on_numbers,
    to_onnx,
)
from mercer.kernels import Gaussian
from mercer.preprocessing import SoftClippingScaler, column_encoders, table_encoder

onnx = pytest.importorskip("onnx")

pytestmark = [
    pytest.mark.filterwarnings("ignore:No number of centers that was tried"),
    pytest.mark.usefixtures("few_folds_throughout"),
]

X, NEW = rows()[:N], rows()[N:]

PARTS = ["c", "t", "_", "__", "0", "1", "2", "scan", "x", "X", "variable", "é", "\n"]
NAMES = st.lists(st.sampled_from(PARTS), max_size=3).map("".join)
"""Names of columns that may meet those of tensors, inputs and outputs."""

IMPUTED = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
NAMED = make_column_transformer((IMPUTED, ["single", "double"]), (MinMaxScaler(), ["whole"]))
WEIGHTED = ColumnTransformer([("a", StandardScaler(), [0, 1])], transformer_weights={"a": 2.0})


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
        compared(model, to_onnx(model, table), new, 1e-10)

    @pytest.mark.parametrize(
        "step",
        [
            StandardScaler(with_mean=False),
            SoftClippingScaler(),
            FunctionTransformer(),
            make_union(StandardScaler(), PCA(1)),
            make_pipeline("passthrough", StandardScaler(), PCA(2)),
            make_column_transformer((StandardScaler(), [2, 0]), ("drop", [1])),
            make_column_transformer((StandardScaler(), [True, False, True])),
            make_column_transformer((StandardScaler(), slice(1, None)), (PCA(1), np.array([0, 2]))),
            make_column_transformer((MinMaxScaler(), [-1]), remainder="passthrough"),
            make_pipeline(PCA(3), make_column_transformer((MinMaxScaler(), [2, 0, 1]))),
            WEIGHTED,
        ],
        ids=repr,
    )
    def test_steps_of_numbers(self, step: Any) -> None:
        model = make_pipeline(step, TwoStageRegressor(alpha=0.1)).fit(X, responses(X))
        compared(model, to_onnx(model, X), NEW, 1e-9)

    @pytest.mark.parametrize("step", [PCA(2), NAMED], ids=repr)
    def test_steps_of_columns_of_any_type(self, step: Any) -> None:
        """Whole numbers, single precision and truth values, some of which are missing."""
        frame = pd.DataFrame({"whole": np.arange(N) % 7, "single": X[:, 0].astype(np.float32)})
        frame["double"], frame["true"] = 1.0 / 3.0 + X[:, 1], X[:, 2] > 0.0
        if step is NAMED:
            frame.loc[::5, "double"] = np.nan
            frame["single"] = frame["single"].where(frame["whole"] > 1)
        model = make_pipeline(step, TwoStageRegressor(alpha=0.1)).fit(frame, responses(X))
        new = frame.iloc[::-1].assign(whole=9 - frame["whole"])
        compared(model, to_onnx(model, frame), new, 1e-9)

    def test_categories(self) -> None:
        """Rare, missing and unknown ones, and whole numbers as categories."""
        code = np.where(np.arange(N) % 9, np.arange(N) % 3, 7)
        frame = pd.DataFrame({"code": code, "size": X[:, 0]})
        frame["town"] = np.where(X[:, 1] > 1.0, None, np.where(X[:, 2] > 1.0, "Bern", "Chur"))
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=12)
        step = make_column_transformer((encoder, ["town", "code"]), remainder="passthrough")
        model = make_pipeline(step, TwoStageRegressor(alpha=0.1)).fit(frame, responses(X))
        new = pd.DataFrame({"code": [7, 1, 8], "size": 0.5, "town": ["Thun", None, "Chur"]})
        compared(model, to_onnx(model, frame), new, 1e-9)

    @pytest.mark.filterwarnings("ignore:Found unknown categories")
    @pytest.mark.parametrize("unknown", ["ignore", "infrequent_if_exist"])
    @pytest.mark.parametrize("drop", ["first", "if_binary", ["b", "y"]])
    def test_dropped_categories(self, drop: Any, unknown: Any) -> None:
        frame = pd.DataFrame({"kind": np.where(X[:, 0] > 0.0, "a", "b")})
        frame["letter"] = np.where(X[:, 1] > 1.0, "x", np.where(X[:, 1] < 0.0, "y", "z"))
        frame.loc[::20, "letter"] = "w"
        encoder = OneHotEncoder(drop=drop, handle_unknown=unknown, max_categories=3)
        model = make_pipeline(encoder, TwoStageRegressor(alpha=0.1)).fit(frame, responses(X))
        new = frame.replace({"letter": {"z": "v"}})
        compared(model, to_onnx(model, frame), new, 1e-9)

    @pytest.mark.parametrize("n_classes", [0, 3])
    def test_the_encoder_of_tables(self, n_classes: int) -> None:
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
        new.iloc[:4, 2] = ["purple", "", None, " "]
        new["size"] *= 1.3
        graph = to_onnx(model, frame)
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
        graph = to_onnx(model, table)
        assert [found.name for found in graph.graph.input] == ["x0", "x1", "x2", "x3"]
        compared(model, graph, table, 1e-9)

    @settings(max_examples=15)
    @given(st.lists(NAMES, min_size=3, max_size=3))
    def test_names_of_columns(self, names: list[str]) -> None:
        """Every frame is exported exactly, or refused for what its names are."""
        frame = pd.DataFrame(X, columns=names)
        refused = len(set(names)) < 3 or {"", "variable"} & set(names)
        model = fitted("regression", "two-stage")
        if refused:
            with pytest.raises(ValueError, match="No input can have the name of the column"):
                to_onnx(model, frame)
            return
        found = run(to_onnx(model, frame), frame)["variable"]
        assert_allclose(found[:, 0], model.predict(X), atol=1e-9)

    def test_columns_that_are_not_used_may_have_names_of_outputs(self) -> None:
        frame = pd.DataFrame({"label": X[:, 0], "variable": X[:, 1], "size": X[:, 2]})
        chosen = make_column_transformer(("passthrough", ["size", "label"]))
        model = make_pipeline(chosen, TwoStageRegressor(alpha=0.1)).fit(frame, responses(X))
        compared(model, to_onnx(model, frame), frame, 1e-9)
        model = TwoStageClassifier(C=1.0).fit(frame, classes(X, 2))
        with pytest.raises(ValueError, match="the name of the column 'label'"):
            to_onnx(model, frame)


def test_a_table_of_one_column_of_text() -> None:
    frame = pd.DataFrame({"color": np.tile(["red", "green", "blue"], N // 3 + 1)[:N]})
    model = make_pipeline(table_encoder(), TwoStageRegressor(UniformCombination([Gaussian(2.0)])))
    model.fit(frame, responses(X))
    compared(model, to_onnx(model, frame), frame, 1e-9)


def test_trees_that_find_the_values_missing_that_the_encoder_has_filled_in() -> None:
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(fresh=X[:, 1] > 0.0)
    frame.loc[::4, "a"] = np.nan
    y = responses(X) + 1.0 * frame["a"].isna() + (X[:, 1] > 0.5)
    trees = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=3, random_state=0)
    model = KernelStackingRegressor([Gaussian(2.0), trees]).fit(frame, y)
    assert min(model.weights_) > 0.1
    assert len(model.weights_) == 2
    numbers = model.encoder_.transform(frame)
    graph = to_onnx(on_numbers(model), numbers)
    compared(on_numbers(model), graph, numbers, 1e-9)
    small = compress(model, frame, n_components=30).predict(frame)
    assert np.corrcoef(small, model.predict(frame))[0, 1] > 0.95


class TestStepsWithoutOperators:
    @pytest.mark.parametrize(
        ("step", "message"),
        [
            (SplineTransformer(), "The step SplineTransformer has no operators"),
            (QuantileTransformer(n_quantiles=9), "The step QuantileTransformer has no operators"),
            (PowerTransformer(), r"does not convert \[PowerTransformer\(\)\]: Conflicted"),
            (PolynomialFeatures(), r"does not convert \[PolynomialFeatures\(\)\]: .*type"),
            (FunctionTransformer(np.abs), "does not convert .*absolute.* function is None"),
            (Binarizer(threshold=X[0, 0]), r"other numbers than \[Binarizer\(threshold="),
            (SimpleImputer(missing_values=-1.0), r"SimpleImputer\(missing_values=-1\.0\)"),
            (make_pipeline(column_encoders()["categories"]), "Numbers of an array"),
        ],
    )
    def test_steps_of_pipelines(self, step: Any, message: str) -> None:
        model = make_pipeline(step, TwoStageRegressor(UniformCombination([Gaussian(2.0)])))
        with pytest.raises(TypeError, match=message):
            to_onnx(model.fit(X, responses(X)), X)

    def test_columns_that_are_read_as_numbers_and_as_text(self) -> None:
        frame = pd.DataFrame({"code": np.arange(N) % 3})
        encoder = OneHotEncoder(handle_unknown="ignore")
        step = make_column_transformer((StandardScaler(), ["code"]), (encoder, ["code"]))
        model = make_pipeline(step, TwoStageRegressor(alpha=0.1)).fit(frame, responses(X))
        with pytest.raises(TypeError, match="'code' is used as numbers and as categories"):
            to_onnx(model, frame)

    def test_skl2onnx_is_as_it_was(self) -> None:
        """In a process of its own: other tests may have registered converters."""
        code = (
            "import numpy as np, skl2onnx\n"
            "from sklearn.pipeline import make_pipeline\n"
            "from mercer import TwoStageRegressor, to_onnx\n"
            "from mercer.preprocessing import SoftClippingScaler\n"
            "X = np.random.default_rng(0).normal(size=(30, 2))\n"
            "model = make_pipeline(SoftClippingScaler(), TwoStageRegressor(alpha=0.1))\n"
            "to_onnx(model.fit(X, X[:, 0]), X)\n"
            "for kind in (SoftClippingScaler, TwoStageRegressor):\n"
            "    try:\n"
            "        skl2onnx.get_model_alias(kind)\n"
            "    except RuntimeError as error:\n"
            "        print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout.count(b"Unable to find alias") == 2

    def test_dates_and_text(self) -> None:
        days = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(N), unit="D")
        learner = UniformCombination([Gaussian(2.0)])
        model = make_pipeline(table_encoder(), TwoStageRegressor(learner, alpha=0.1))
        dated = pd.DataFrame({"size": X[:, 0], "day": days})
        with pytest.raises(TypeError, match="Columns of dates have no operators in ONNX: 'day'"):
            to_onnx(model.fit(dated, responses(X)), dated)
        words = np.random.default_rng(0).choice(["good", "bad", "old", "new", "odd"], (N, 4))
        said = [f"{' '.join(some)} {row}" for row, some in enumerate(words)]
        told = pd.DataFrame({"size": X[:, 0], "said": said})
        with pytest.raises(TypeError, match="Columns of texts have no operators in ONNX: 'said'"):
            to_onnx(model.fit(told, responses(X)), told)

    def test_unknown_categories_that_raise_errors(self) -> None:
        frame = pd.DataFrame({"kind": np.where(X[:, 0] > 0.0, "a", "b")})
        encoder = OneHotEncoder(sparse_output=False)
        model = make_pipeline(encoder, TwoStageRegressor(alpha=0.1)).fit(frame, responses(X))
        with pytest.raises(TypeError, match=r"OneHotEncoder\(handle_unknown='error'\)"):
            to_onnx(model, frame)
