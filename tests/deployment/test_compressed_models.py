"""Compressed models as estimators: intervals, sets, searches, files, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deployment_cases import (
    SUMS_OVER_CENTERS,
    N,
    classes,
    fitted,
    leaf_stack,
    responses,
    rows,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import mercer
from mercer import (
    CompressedClassifier,
    CompressedRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
)
from mercer.kernels import Gaussian, Laplacian

pytestmark = pytest.mark.filterwarnings("ignore:No number of centers that was tried")

X, NEW = rows()[:N], rows()[N:]
MANY = rows(800, seed=5)


class TestIntervalsAndSets:
    def test_intervals_hold_new_responses(self) -> None:
        many = rows(2000, seed=9)
        model = fitted("regression", "stacking")
        small = compress(model, NEW, n_components="all")
        low, high = small.predict_interval(many, coverage=0.8).T
        truth = responses(many)
        assert 0.7 < np.mean((low <= truth) & (truth <= high)) < 0.95

    def test_intervals_widen_by_the_loss(self) -> None:
        model = fitted("regression", "two-stage")
        few, all_of_them = (compress(model, NEW, n_components=n) for n in (8, "all"))
        widths = [np.ptp(m.predict_interval(NEW), axis=1)[0] for m in (few, all_of_them)]
        assert_allclose(widths[0] / widths[1], 1.0 + few.loss_.expected_growth, rtol=1e-6)

    def test_they_need_left_out_residuals(self) -> None:
        small = compress(fitted("regression", "one-stage"), n_components=20)
        with pytest.raises(ValueError, match="Intervals need left-out residuals"):
            small.predict_interval(X)

    def test_sets_are_those_of_the_model(self) -> None:
        model = fitted("three classes", "one-stage")
        small = compress(model, n_components="all")
        assert_array_equal(small.predict_set(NEW, 0.8), model.predict_set(NEW, 0.8))


class TestEstimators:
    def test_fit_is_a_fit_of_the_model_that_is_compressed(self) -> None:
        y, learner = responses(X), UniformCombination([Gaussian(2.0)])
        small = CompressedRegressor(TwoStageRegressor(learner, alpha=0.1), n_components=20)
        weights = np.random.default_rng(0).uniform(1.0, 2.0, N)
        model = TwoStageRegressor(learner, alpha=0.1).fit(X, y, sample_weight=weights)
        found = small.fit(X, y, sample_weight=weights).predict(NEW)
        assert_array_equal(found, compress(model, X, n_components=20).predict(NEW))
        assert (
            repr(small.model)
            == "TwoStageRegressor(UniformCombination([Gaussian(bandwidth=2.0)]), alpha=0.1)"
            or small.model
        )

    def test_the_number_of_centers_can_be_searched(self) -> None:
        search = GridSearchCV(
            CompressedRegressor(TwoStageRegressor(UniformCombination([Gaussian(2.0)]), alpha=0.1)),
            {"n_components": [1, 15]},
            cv=2,
        ).fit(X, responses(X))
        assert search.best_params_ == {"n_components": 15}
        assert compress(search, n_components=10).predict(X).shape == (N,)

    def test_pipelines_keep_their_steps(self) -> None:
        model = make_pipeline(StandardScaler(), TwoStageRegressor(alpha=0.1))
        model.fit(10.0 * X, responses(X))
        small = compress(model, 10.0 * NEW, n_components=20)
        assert small[0] is model[0]
        assert type(small[-1]) is CompressedRegressor
        assert np.corrcoef(small.predict(10.0 * X), model.predict(10.0 * X))[0, 1] > 0.95

    def test_columns_are_checked_as_by_the_model(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), alpha=0.1)
        small = compress(model.fit(frame, responses(X)), n_components=20)
        assert small.feature_names_in_.tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="feature names should match"):
            small.predict(frame[["b", "a", "c"]])
        plain = compress(fitted("regression", "two-stage"), n_components=20)
        with pytest.raises(ValueError, match="expecting 3 features"):
            plain.predict(X[:, :2])
        with pytest.raises(ValueError, match="NaN"):
            plain.predict(np.full((1, 3), np.nan))

    @pytest.mark.parametrize(("task", "name"), SUMS_OVER_CENTERS)
    def test_saved_models_predict_the_same(self, task: str, name: str, tmp_path: Path) -> None:
        pytest.importorskip("skops.io")
        small = compress(fitted(task, name), n_components=20)
        mercer.save(small, tmp_path / "model.skops")
        loaded = mercer.load(tmp_path / "model.skops")
        assert_array_equal(loaded.predict(NEW), small.predict(NEW))
        assert_array_equal(loaded.kernel_expansion()(NEW), small.kernel_expansion()(NEW))

    def test_saved_leaves(self, tmp_path: Path) -> None:
        pytest.importorskip("skops.io")
        small = compress(leaf_stack(), n_components=50)
        mercer.save(small, tmp_path / "model.skops")
        assert_array_equal(mercer.load(tmp_path / "model.skops").predict(NEW), small.predict(NEW))
        assert small.kernel_terms().combines == "predictions"
        assert (tmp_path / "model.skops").stat().st_size < 1_000_000

    def test_a_compressed_model_is_explained_and_compressed_again(self) -> None:
        small = compress(fitted("regression", "two-stage"), n_components=20)
        found = mercer.inspection.shapley_values(small, NEW[:2], background=5)
        assert_allclose(found.predictions, small.predict(NEW[:2]), atol=1e-8)
        assert compress(small, NEW, n_components=10).predict(NEW).shape == (N,)

    def test_noise_is_compressed_to_almost_nothing(self) -> None:
        y = np.random.default_rng(3).normal(size=N)
        model = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), alpha=[1e3]).fit(X, y)
        small = compress(model, tol=0.01)
        assert small.loss_.criterion < 0.01


class TestRefusals:
    def test_models_that_cannot_be_compressed(self) -> None:
        with pytest.raises(NotFittedError):
            compress(TwoStageRegressor())
        with pytest.raises(TypeError, match="predicts nothing"):
            compress(UniformCombination().fit(X, responses(X)))
        with pytest.raises(TypeError, match="Ridge cannot be compressed: this takes a fitted"):
            compress(Ridge().fit(X, responses(X)))
        stack = np.stack([X @ X.T], axis=2)
        model = TwoStageRegressor(UniformCombination("precomputed"), alpha=0.1)
        with pytest.raises(TypeError, match="precomputed Gram matrices"):
            compress(model.fit(stack, responses(X)))

    @pytest.mark.parametrize("n_components", [0, 1.5, "few"])
    def test_settings(self, n_components: Any) -> None:
        with pytest.raises((ValueError, TypeError), match="n_components must be"):
            compress(fitted("regression", "two-stage"), n_components=n_components)
        with pytest.raises(ValueError, match="tol must be"):
            compress(fitted("regression", "two-stage"), tol=0.0)

    def test_too_few_rows(self) -> None:
        with pytest.raises(ValueError, match="Found 3 row"):
            compress(fitted("regression", "two-stage"), X[:3])

    def test_predictors_of_other_libraries_are_functions_of_kernels(self) -> None:
        learner = UniformCombination([Laplacian(3.0)])
        model = TwoStageRegressor(learner, predictor=SVR(kernel="precomputed"))
        model.fit(X, responses(X))
        small = compress(model, MANY, n_components=80)
        assert np.corrcoef(small.predict(NEW), model.predict(NEW))[0, 1] > 0.97
        classifier = TwoStageClassifier(learner, C=1.0).fit(X, classes(X, 3))
        assert isinstance(compress(classifier, n_components=20), CompressedClassifier)
