"""Stacks and two-stage estimators encode data frames of mixed types themselves."""

import pickle
import sys
from collections.abc import Callable
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import mercer
from mercer import (
    KernelOptimization,
    KernelStackingClassifier,
    KernelStackingRegressor,
    ParquetSource,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import (
    FeatureRelevanceDisplay,
    kernel_terms,
    partial_dependence,
    report,
    shapley_values,
    training_contributions,
)
from mercer.kernels import Gaussian, Missing, OnColumns
from mercer.preprocessing import column_encoder, table_encoder

N = 60
RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "size": np.where(np.arange(N) % 7 == 3, np.nan, RANDOM.normal(size=N)),
        "color": RANDOM.choice(["red", "green", "blue"], N),
        "when": pd.date_range("2024-01-01", periods=N, freq="36h"),
        "fresh": RANDOM.random(N) < 0.5,
    }
)
NUMBERS = pd.DataFrame(RANDOM.normal(size=(N, 3)), columns=["a", "b", "c"])
NOISE = 0.1 * RANDOM.normal(size=N)
Y = TABLE["size"].fillna(0.0).to_numpy() + 2.0 * (TABLE["color"] == "red") + NOISE
Y = Y.to_numpy() + TABLE["fresh"]
CLASSES = np.where(np.median(Y) < Y, "high", "low")
NEW = TABLE.sample(20, random_state=1)

FEW = {"approximation": "nystroem", "n_components": 20}
REGRESSORS = [
    TwoStageRegressor(),
    TwoStageRegressor(KernelOptimization(Gaussian())),
    TwoStageRegressor(**FEW),
    KernelStackingRegressor(["rbf", "laplacian"]),
    KernelStackingRegressor(["rbf"], **FEW),
]
CLASSIFIERS = [
    TwoStageClassifier(C=1.0),
    TwoStageClassifier(**FEW),
    KernelStackingClassifier(["rbf", "laplacian"]),
    KernelStackingClassifier(["rbf"], **FEW),
]
METHODS = ["predict", "predict_interval", "predict_proba", "decision_function", "predict_set"]
STACK = KernelStackingRegressor(["rbf"])
QUICK = TwoStageRegressor(UniformCombination([Gaussian("median")]))


def target(model: BaseEstimator) -> np.ndarray:
    return CLASSES if hasattr(model, "predict_proba") else np.asarray(Y)


def both(model: BaseEstimator, X: Any = TABLE, **given: Any) -> tuple[BaseEstimator, Pipeline]:
    """The model, and a pipeline of `table_encoder` and the model, fitted to a table."""
    y = target(model)
    last = clone(model).set_params(encoder=None)
    encoder = table_encoder()
    last.fit(encoder.fit_transform(X, y), y, **given)
    return clone(model).fit(X, y, **given), make_pipeline(encoder, last)


@pytest.fixture(scope="module")
def fitted() -> BaseEstimator:
    return KernelStackingRegressor(["rbf", "laplacian"]).fit(TABLE, Y)


class TestPredictions:
    @pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=repr)
    def test_are_those_of_a_pipeline_with_table_encoder(self, model: BaseEstimator) -> None:
        found, pipeline = both(model)
        encoded = pipeline[:-1].transform(NEW)
        for name in METHODS:
            if hasattr(found, name):
                expected = getattr(pipeline[-1], name)(encoded)
                assert_array_equal(getattr(found, name)(NEW), expected)
        for name in ("loo_predictions_", "loo_score_", "relevance_", "cv_residuals_", "weights_"):
            if hasattr(pipeline[-1], name):
                assert_array_equal(getattr(found, name), getattr(pipeline[-1], name))
        assert_array_equal(found.learned_gram(NEW), pipeline[-1].learned_gram(encoded))
        terms = found.kernel_terms()
        assert_array_equal(terms.relevance, pipeline[-1].kernel_terms().relevance)
        assert found.n_features_in_ == 4
        assert found.feature_names_in_.tolist() == [*TABLE]
        assert not hasattr(found, "set_output")

    def test_take_the_target_of_a_scorer_and_a_device(self) -> None:
        model = clone(STACK).set_params(scoring="neg_mean_absolute_error", device="auto")
        weights = np.where(np.arange(N) < 5, 0.0, 1.0)
        found = model.fit(TABLE, Y, sample_weight=weights)
        assert_allclose(found.loo_predictions_[:5], found.predict(TABLE[:5]))

    @pytest.mark.parametrize("model", [STACK, QUICK], ids=repr)
    def test_of_polars_frames_are_those_of_pandas(self, model: BaseEstimator) -> None:
        expected = clone(model).fit(TABLE, Y).predict(NEW)
        found = clone(model).fit(pl.from_pandas(TABLE), Y)
        assert found.feature_names_in_.tolist() == [*TABLE]
        assert_allclose(found.predict(pl.from_pandas(NEW)), expected)
        assert_allclose(found.predict(NEW), expected)

    @pytest.mark.parametrize("model", [*REGRESSORS[1::2], *CLASSIFIERS[:2]], ids=repr)
    @pytest.mark.parametrize("X", [TABLE, NUMBERS], ids=["mixed", "numbers"])
    def test_of_an_array_need_the_order_of_the_columns(
        self, X: pd.DataFrame, model: BaseEstimator
    ) -> None:
        fitted = clone(model).fit(X, target(model))
        with pytest.warns(UserWarning, match="X does not have valid feature names") as told:
            found = fitted.predict(X.to_numpy())
        assert len(told) == 1
        assert_array_equal(found, fitted.predict(X))

    def test_of_files_encode_their_columns(self, tmp_path: Path, fitted: BaseEstimator) -> None:
        NEW.to_parquet(tmp_path / "new.parquet", index=False)
        assert_allclose(
            fitted.predict(ParquetSource(tmp_path / "new.parquet")), fitted.predict(NEW)
        )

    @pytest.mark.parametrize("name", [*TABLE])
    def test_a_single_column_is_enough(self, name: str) -> None:
        found, pipeline = both(TwoStageRegressor(), TABLE[[name]])
        assert_array_equal(found.predict(NEW[[name]]), pipeline.predict(NEW[[name]]))

    def test_a_column_of_many_texts_is_encoded(self) -> None:
        words = RANDOM.choice(["kitchen", "garden", "quiet", "big", "view", "wet", "lift"], (N, 5))
        texts = pd.DataFrame({"note": [" ".join(one) for one in words]})
        found, pipeline = both(TwoStageRegressor(), texts)
        assert_array_equal(found.predict(texts), pipeline.predict(texts))


class TestTablesOfNumbers:
    @pytest.mark.parametrize("model", [STACK, QUICK, *CLASSIFIERS[:2]], ids=repr)
    @pytest.mark.parametrize("of", [pd.DataFrame, np.asarray, sp.csr_array, pl.from_pandas])
    def test_go_in_as_they_are(self, of: Callable[[Any], Any], model: BaseEstimator) -> None:
        X, y = of(NUMBERS), target(model)
        found = clone(model).fit(X, y)
        expected = clone(model).set_params(encoder=None).fit(X, y)
        assert found.encoder_ is None
        assert_array_equal(found.predict(X), expected.predict(X))

    def test_may_be_objects(self) -> None:
        assert clone(STACK).fit(NUMBERS.astype(object), Y).encoder_ is None

    def test_with_gaps_go_in_as_they_are_if_a_kernel_accepts_them(self) -> None:
        X = NUMBERS.where(NUMBERS < 1.0)
        learner = UniformCombination([Missing(Gaussian(1.0))])
        assert TwoStageRegressor(learner).fit(X, Y).encoder_ is None
        assert TwoStageRegressor().fit(X, Y).encoder_ is not None

    def test_go_in_as_they_are_if_a_kernel_names_their_columns(self) -> None:
        kernel = OnColumns(Gaussian(1.0), ["a"]) + OnColumns(Gaussian(1.0), ["flag"])
        X = NUMBERS.assign(flag=NUMBERS["b"] > 0.0)
        assert KernelStackingRegressor([kernel]).fit(X, Y).encoder_ is None
        assert TwoStageRegressor(UniformCombination([kernel])).fit(X, Y).encoder_ is None
        assert TwoStageRegressor().fit(X, Y).encoder_ is not None


class TestGivenEncoders:
    def test_none_refuses_text(self) -> None:
        for model in (*REGRESSORS[::3], *CLASSIFIERS[::2]):
            with pytest.raises(ValueError, match=r"could not convert[\s\S]+table_encoder\(\)"):
                clone(model).set_params(encoder=None).fit(TABLE[["color"]], target(model))

    @pytest.mark.parametrize("of", [np.asarray, sp.csr_array, pd.DataFrame])
    def test_are_cloned_and_fitted_to_any_table(self, of: Callable[[Any], Any]) -> None:
        encoder, X = MaxAbsScaler(), of(10.0 * NUMBERS)
        for model in (STACK, TwoStageRegressor()):
            found = clone(model).set_params(encoder=encoder).fit(X, Y)
            assert hasattr(found.encoder_, "scale_")
            assert not hasattr(encoder, "scale_")
            pipeline = make_pipeline(clone(encoder), clone(model).set_params(encoder=None)).fit(
                X, Y
            )
            assert_allclose(found.predict(X), pipeline.predict(X))

    def test_may_return_frames_whose_columns_kernels_name(self) -> None:
        encoder = column_encoder(TABLE).set_output(transform="pandas")
        kernel = OnColumns(Missing(Gaussian(1.0)), ["size"])
        model = TwoStageRegressor(UniformCombination([kernel]), encoder=encoder).fit(TABLE, Y)
        assert model.learner_.feature_names_in_.tolist() == ["size", "when", "color", "fresh"]
        last = clone(model).set_params(encoder=None)
        assert_allclose(model.predict(NEW), make_pipeline(encoder, last).fit(TABLE, Y).predict(NEW))
        scaled = StandardScaler().set_output(transform="pandas")
        stack = KernelStackingRegressor([OnColumns(Gaussian(1.0), ["b"])], encoder=scaled)
        assert_array_equal(stack.fit(NUMBERS, NUMBERS["b"]).relevance_, [0.0, 1.0, 0.0])
        assert stack.predict(NUMBERS).shape == (N,)

    def test_may_choose_columns(self) -> None:
        encoder = make_column_transformer((OneHotEncoder(), ["color"]))
        model = TwoStageClassifier(C=1.0, encoder=encoder).fit(TABLE, CLASSES)
        assert (model.n_features_in_, model.kernel_terms().relevance.shape) == (4, (3,))

    @pytest.mark.parametrize(
        ("encoder", "error"), [("one-hot", ValueError), (MaxAbsScaler, TypeError), (3, TypeError)]
    )
    def test_others_are_refused(self, encoder: object, error: type[Exception]) -> None:
        for model in (STACK, TwoStageRegressor()):
            with pytest.raises(error, match=r"encoder must be 'auto', None or a transformer"):
                clone(model).set_params(encoder=encoder).fit(NUMBERS, Y)

    def test_of_files_belong_to_the_source(self, tmp_path: Path) -> None:
        NUMBERS.assign(y=Y).to_parquet(tmp_path / "table.parquet", index=False)
        source = ParquetSource(tmp_path / "table.parquet", "y")
        assert clone(STACK).fit(source).encoder_ is None
        with pytest.raises(ValueError, match=r"ParquetSource\(path, target, encoder=encoder\)"):
            clone(STACK).set_params(encoder=MaxAbsScaler()).fit(source)

    def test_without_skrub_an_error_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in [one for one in sys.modules if one.partition(".")[0] == "skrub"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "skrub", None)
        monkeypatch.delitem(sys.modules, "mercer.preprocessing._text_encoder", raising=False)
        for model in (STACK, TwoStageRegressor()):
            told = r'encodes.*mercer\[tables\]", or pass a table of finite numbers'
            with pytest.raises(ModuleNotFoundError, match=told):
                clone(model).fit(TABLE, Y)
            assert clone(model).fit(NUMBERS, Y).predict(NUMBERS).shape == (N,)


class TestWeightsAndGroups:
    @pytest.mark.parametrize("model", [*REGRESSORS[::2], *CLASSIFIERS[::2]], ids=repr)
    def test_rows_of_weight_zero_are_unknown_to_the_encoder(self, model: BaseEstimator) -> None:
        X, weights, y = TABLE.copy(), np.ones(N), target(model)
        X.loc[::9, "color"], weights[::9] = "black", 0.0
        X.loc[::9, "size"] = 1e6
        found = clone(model).fit(X, y, sample_weight=weights)
        kept = clone(model).fit(X[weights > 0.0], y[weights > 0.0])
        assert "color_black" not in found.encoder_.get_feature_names_out()
        name = "predict_proba" if hasattr(found, "predict_proba") else "predict"
        assert_allclose(getattr(found, name)(NEW), getattr(kept, name)(NEW))
        if hasattr(found, "loo_predictions_") and model.approximation == "auto":
            assert_allclose(found.loo_predictions_[::9], getattr(found, name)(X[::9]))

    @pytest.mark.parametrize("model", [STACK, QUICK], ids=repr)
    def test_weights_and_groups_are_those_of_a_pipeline(self, model: BaseEstimator) -> None:
        given = {"sample_weight": RANDOM.integers(0, 3, N), "groups": np.arange(N) // 3}
        kept = given["sample_weight"] > 0
        found = clone(model).fit(TABLE, Y, **given)
        part = {name: values[kept] for name, values in given.items()}
        other = clone(model).fit(TABLE[kept], Y[kept], **part)
        assert_allclose(found.predict(NEW), other.predict(NEW))
        assert_allclose(found.predict_interval(NEW), other.predict_interval(NEW))

    @pytest.mark.parametrize("model", [STACK, QUICK], ids=repr)
    def test_copies_of_rows_are_left_out_together(self, model: BaseEstimator) -> None:
        X, y = pd.concat([TABLE, TABLE]), np.tile(Y, 2)
        found = clone(model).fit(X, y)
        known = clone(model).fit(X, y, groups=np.tile(np.arange(N), 2))
        if model is STACK:
            assert_allclose(found.loo_predictions_, known.loo_predictions_)
        assert_allclose(found.predict_interval(NEW), known.predict_interval(NEW))

    def test_targets_and_weights_must_be_as_many_as_rows(self) -> None:
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            clone(STACK).fit(TABLE, Y[1:])
        with pytest.raises(ValueError, match="sample_weight"):
            clone(STACK).fit(TABLE, Y, sample_weight=np.ones(3))
        with pytest.raises(ValueError, match="positive sample_weight"):
            clone(STACK).fit(TABLE, Y, sample_weight=np.eye(1, N)[0])
        with pytest.raises(ValueError, match="requires y"):
            clone(STACK).fit(TABLE)


class TestColumns:
    @pytest.mark.parametrize("model", [STACK, QUICK], ids=repr)
    def test_must_be_those_of_the_fit_in_their_order(self, model: BaseEstimator) -> None:
        found = clone(model).fit(TABLE, Y)
        with pytest.raises(ValueError, match=r"yet now missing[\s\S]+- size"):
            found.predict(NEW.drop(columns="size"))
        with pytest.raises(ValueError, match=r"Column 'Size' is new \(did you mean 'size'\?\)"):
            found.predict(NEW.rename(columns={"size": "Size"}))
        with pytest.raises(ValueError, match="must be in the same order"):
            found.predict(NEW[[*TABLE][::-1]])
        with (
            pytest.warns(UserWarning, match="valid feature names"),
            pytest.raises(ValueError, match=r"has 3 features, but .* is expecting 4"),
        ):
            found.predict(NEW.to_numpy(object)[:, :3])

    def test_of_the_next_fit_replace_them(self) -> None:
        model = clone(STACK).fit(TABLE, Y).fit(NUMBERS.to_numpy(), Y)
        assert (model.encoder_, model.n_features_in_) == (None, 3)
        assert not hasattr(model, "feature_names_in_")
        with pytest.raises(ValueError, match="could not convert"):
            model.fit(TABLE.to_numpy(object), Y)
        assert model.predict(NUMBERS.to_numpy()).shape == (N,)


class TestClients:
    def test_searches_and_folds_take_frames(self) -> None:
        folds = GroupKFold(3)
        groups = np.arange(N) // 4
        scores = cross_val_score(QUICK, TABLE, Y, cv=folds, groups=groups)
        search = GridSearchCV(QUICK, {"encoder": [None, "auto"]}, cv=3, error_score=-9)
        assert scores.shape == (3,)
        with pytest.warns(FitFailedWarning, match="fits failed"):
            assert search.fit(TABLE, Y).best_params_ == {"encoder": "auto"}
        assert shapley_values(search, NEW).feature_names == [*TABLE]

    def test_calibration_passes_weights(self) -> None:
        weights = np.where(CLASSES == "low", 1.0, 5.0)
        model = CalibratedClassifierCV(TwoStageClassifier(C=1.0), cv=2, ensemble=False)
        plain = clone(model).fit(TABLE, CLASSES).predict_proba(NEW)
        found = model.fit(TABLE, CLASSES, sample_weight=weights).predict_proba(NEW)
        assert found[:, 0].mean() > plain[:, 0].mean() + 0.05

    @pytest.mark.parametrize("kind", [VotingRegressor, StackingRegressor])
    def test_ensembles_pass_weights(self, kind: Any) -> None:
        weights = np.where(np.arange(N) < 30, 1.0, 0.01)
        model = kind([("one", QUICK), ("other", STACK)])
        found = model.fit(TABLE, Y, sample_weight=weights)
        first = clone(QUICK).fit(TABLE, Y, sample_weight=weights)
        assert_allclose(found.estimators_[0].predict(NEW), first.predict(NEW))
        assert found.predict(NEW).shape == (20,)

    def test_several_targets_pass_weights(self) -> None:
        weights = np.where(np.arange(N) < 30, 1.0, 0.01)
        model = MultiOutputRegressor(QUICK)
        found = model.fit(TABLE, np.column_stack([Y, -Y]), sample_weight=weights).predict(NEW)
        first = clone(QUICK).fit(TABLE, Y, sample_weight=weights)
        assert_allclose(found[:, 0], first.predict(NEW))
        both_at_once = clone(QUICK).fit(TABLE, np.column_stack([Y, -Y]))
        assert both_at_once.predict(NEW).shape == (20, 2)

    def test_a_pipeline_may_choose_the_columns_before(self) -> None:
        chosen = make_column_transformer(("passthrough", ["size", "color"]))
        model = make_pipeline(chosen.set_output(transform="pandas"), clone(STACK)).fit(TABLE, Y)
        assert model[-1].n_features_in_ == 2
        found = shapley_values(model, NEW)
        assert found.feature_names == [*TABLE]
        assert_array_equal(found.values[:, 2:], 0.0)


class TestExplanations:
    def test_are_those_of_the_pipeline(self, fitted: BaseEstimator) -> None:
        pipeline = make_pipeline(fitted.encoder_, both(fitted)[1][-1])
        found, expected = (shapley_values(one, NEW, TABLE[:30]) for one in (fitted, pipeline))
        assert found.feature_names == [*TABLE]
        assert_array_equal(found.values, expected.values)
        assert_allclose(found.values.sum(axis=1) + found.base_value, fitted.predict(NEW))
        curves = [partial_dependence(one, TABLE, "color") for one in (fitted, pipeline)]
        assert_array_equal(curves[0].average, curves[1].average)
        rows = [training_contributions(one, NEW, TABLE).values for one in (fitted, pipeline)]
        assert_array_equal(*rows)

    def test_name_the_encoded_columns_of_kernels(self, fitted: BaseEstimator) -> None:
        names = fitted.encoder_.get_feature_names_out().tolist()
        assert kernel_terms(fitted).feature_names == names
        assert len(fitted.relevance_) == len(names)
        display = FeatureRelevanceDisplay.from_estimator(fitted)
        assert {label.get_text() for label in display.ax_.get_yticklabels()} <= set(names)

    def test_the_expansion_is_of_the_encoded_columns(self, fitted: BaseEstimator) -> None:
        expansion = fitted.kernel_expansion()
        rows = fitted.encoder_.transform(NEW)
        values = expansion.predicted(expansion.views(rows))
        assert_allclose(values[:, 0], fitted.predict(NEW))

    def test_a_report_names_the_given_columns(self) -> None:
        model, pipeline = both(QUICK)
        found, expected = (report(one, TABLE, Y) for one in (model, pipeline))
        assert found.coverage == expected.coverage
        assert found.held_out[0].scores == expected.held_out[0].scores


class TestFiles:
    @pytest.mark.parametrize("model", [STACK, TwoStageClassifier(C=1.0)], ids=repr)
    def test_keep_the_encoder(self, model: BaseEstimator, tmp_path: Path) -> None:
        found = clone(model).fit(TABLE, target(model))
        mercer.save(found, tmp_path / "model.skops")
        loaded = mercer.load(tmp_path / "model.skops")
        for again in (loaded, pickle.loads(pickle.dumps(found))):
            assert_array_equal(again.predict(NEW), found.predict(NEW))
            assert_array_equal(again.feature_names_in_, [*TABLE])
        assert clone(found).get_params(deep=False).keys() == model.get_params(deep=False).keys()

    @pytest.mark.parametrize("model", [STACK, TwoStageClassifier(C=1.0)], ids=repr)
    def test_of_onnx_take_the_given_columns(self, model: BaseEstimator) -> None:
        runtime = pytest.importorskip("onnxruntime")
        pytest.importorskip("skl2onnx")
        X = TABLE.drop(columns="when").astype({"fresh": str})
        found = clone(model).fit(X, target(model))
        graph = mercer.to_onnx(found, X)
        assert [one.name for one in graph.graph.input] == ["size", "color", "fresh"]
        inputs = {
            one.name: X[[one.name]].to_numpy(object if one.name != "size" else None)
            for one in graph.graph.input
        }
        kind = {1: np.float32, 11: np.float64}[graph.graph.input[0].type.tensor_type.elem_type]
        inputs["size"] = inputs["size"].astype(kind)
        last = runtime.InferenceSession(graph.SerializeToString()).run(None, inputs)[-1]
        values = found.predict_proba if hasattr(found, "predict_proba") else found.predict
        assert_allclose(np.squeeze(last), values(X), atol=1e-4)

    def test_of_small_models_are_pipelines(self) -> None:
        found = clone(STACK).fit(TABLE, Y)
        small = mercer.compress(found, TABLE, n_components=20)
        assert small[0] is found.encoder_
        assert np.corrcoef(small.predict(NEW), found.predict(NEW))[0, 1] > 0.9


class TestUpdates:
    @pytest.mark.parametrize("model", [STACK, QUICK], ids=repr)
    def test_add_rows_of_the_given_table(self, model: BaseEstimator) -> None:
        found, pipeline = both(clone(model).set_params(**FEW))
        encoded = pipeline[:-1].transform(TABLE)
        expected = pipeline[-1].prepare_updates(encoded, Y).update(encoded[:9], Y[:9] + 1.0)
        found = found.prepare_updates(TABLE, Y).update(TABLE[:9], Y[:9] + 1.0)
        assert_array_equal(found.predict(NEW), expected.predict(pipeline[:-1].transform(NEW)))
        with pytest.raises(ValueError, match="yet now missing"):
            found.update(TABLE[["size"]], Y)


SEEN: dict[str, np.ndarray] = {}


class Seeing(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that records the rows that it was last fitted to."""

    def fit(self, X: Any, y: Any) -> Any:
        SEEN[type(self).__name__] = X
        return super().fit(X, y)


class SeeingNumbers(Seeing):
    """The same, which declares that it takes no missing values."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


@pytest.mark.parametrize("encoder", ["auto", table_encoder()], ids=["auto", "given"])
@pytest.mark.parametrize("settings", [{}, FEW], ids=["exact", "nystroem"])
def test_estimators_find_the_values_missing_that_the_encoder_fills_in(
    encoder: Any, settings: Any
) -> None:
    """Those that take no missing values find none."""
    SEEN.clear()
    candidates = ["default", Seeing(max_depth=2), SeeingNumbers(max_depth=2)]
    model = KernelStackingClassifier(candidates, encoder=encoder, **settings).fit(TABLE, CLASSES)
    place = list(model.encoder_.get_feature_names_out()).index("size")
    known = model.encoder_.transform(TABLE)
    seen, others = SEEN["Seeing"], SEEN["SeeingNumbers"]
    assert 0 < np.isnan(seen[:, place]).sum() <= TABLE["size"].isna().sum()
    assert np.isnan(seen).sum() == np.isnan(seen[:, place]).sum()
    assert np.isin(others, known).all()


@pytest.mark.parametrize("trees", [HistGradientBoostingRegressor, RandomForestRegressor])
def test_shapley_values_of_trees_with_missing_values(trees: Any) -> None:
    """They are those of the function that exchanges columns of the table between rows."""
    settings = {HistGradientBoostingRegressor: {"min_samples_leaf": 3}}.get(trees, {})
    model = KernelStackingRegressor([Gaussian(3.0), trees(random_state=0, **settings)])
    model.fit(TABLE, Y)
    assert len(model.weights_) == 2
    assert min(model.weights_) > 0.1
    new, background, names = TABLE[3:7], TABLE[:12], [*TABLE]
    found = shapley_values(model, new, background)
    values = {}
    for size in range(5):
        for known in combinations(names, size):
            parts = [background.assign(**row[[*known]]) for _, row in new.iterrows()]
            parts = [part.astype(TABLE.dtypes) for part in parts]
            values[known] = np.array([model.predict(part).mean() for part in parts])
    for place, name in enumerate(names):
        expected = np.zeros(len(new))
        for known, value in values.items():
            if name not in known:
                also = tuple(one for one in names if one in (*known, name))
                share = 1.0 / (len(names) * comb(len(names) - 1, len(known)))
                expected += share * (values[also] - value)
        assert_allclose(found.values[:, place], expected, atol=1e-9)


def test_the_default_kernels_stay_beside_an_estimator_that_takes_missing_values() -> None:
    """A table of numbers alone is encoded as well, because they do not take missing values."""
    gaps = NUMBERS.assign(a=NUMBERS["a"].where(np.arange(N) % 5 > 0))
    trees = DecisionTreeRegressor(max_depth=2, random_state=0)
    y = gaps["a"].fillna(-2.0) + NUMBERS["b"]
    model = KernelStackingRegressor(["default", trees]).fit(gaps, y)
    assert any(c.weight for c in model.candidates_ if c.kernel is not None)
    assert KernelStackingRegressor([trees]).fit(gaps, y).encoder_ is None
    with pytest.raises(ValueError, match="Input X contains NaN"):
        KernelStackingRegressor(["default", trees]).fit(gaps.to_numpy(), y)
