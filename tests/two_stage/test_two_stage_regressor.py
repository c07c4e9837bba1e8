"""The two-stage regressor, and both second stages on real data."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import left_out_kernel_ridge
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.model_selection import ShuffleSplit
from sklearn.svm import SVR

from mercer._estimators.learners import ContinuousAlignment, UniformCombination
from mercer._estimators.two_stage import TwoStageClassifier, TwoStageRegressor, ridge_stage
from mercer.kernels import Gaussian


@pytest.mark.filterwarnings("ignore:The best")
def test_alpha_is_chosen_by_leave_one_out(regression):
    X, y = regression
    grid = [1e-3, 1e-2, 0.1, 1.0]
    learner = UniformCombination([Gaussian(1.0), Gaussian(3.0)])
    model = TwoStageRegressor(learner, alpha=grid, nested=False).fit(X, y)
    gram = model.kernel_(X)
    errors = [np.mean((y - left_out_kernel_ridge(gram, y, a)) ** 2) for a in grid]
    order = np.searchsorted(grid, model.cv_results_["param_alpha"])
    np.testing.assert_allclose(
        model.cv_results_["mean_test_score"], 1.0 - np.array(errors)[order] / y.var(), rtol=1e-7
    )
    assert model.alpha_ == grid[int(np.argmin(errors))]
    residuals = y - left_out_kernel_ridge(gram, y, model.alpha_)
    np.testing.assert_allclose(np.abs(model.cv_residuals_), np.abs(residuals), rtol=1e-6)


def test_ridge_has_an_intercept(regression):
    X, y = regression
    plain = TwoStageRegressor(alpha=0.1).fit(X, y)
    shifted = TwoStageRegressor(alpha=0.1).fit(X, y + 1e4)
    np.testing.assert_allclose(shifted.predict(X), plain.predict(X) + 1e4, rtol=1e-9)


def test_alpha_does_not_depend_on_the_units_of_the_outputs(regression):
    X, y = regression
    Y = np.column_stack([y, X[:, 0]])
    learner = UniformCombination([Gaussian(3.0)])
    plain = TwoStageRegressor(learner).fit(X, Y)
    other = TwoStageRegressor(learner).fit(X, Y * [1.0, 1e4])
    assert plain.alpha_ == other.alpha_


@pytest.mark.filterwarnings("ignore:The best")
def test_nested_regression_scores(regression):
    X, y = regression
    cv = ShuffleSplit(3, random_state=0)
    model = TwoStageRegressor(ContinuousAlignment(), nested=True, cv=cv, alpha=[0.01, 0.1]).fit(
        X, y
    )
    for i, alpha in enumerate(model.cv_results_["param_alpha"]):
        for fold, (train, test) in enumerate(cv.split(X)):
            outer = TwoStageRegressor(ContinuousAlignment(), alpha=alpha).fit(X[train], y[train])
            error = np.mean((outer.predict(X[test]) - y[test]) ** 2) / y.var()
            assert model.cv_results_[f"split{fold}_test_score"][i] == pytest.approx(
                1.0 - error, abs=1e-3
            )


def test_edge_of_the_alphas_is_reported(regression):
    X, y = regression
    with pytest.warns(UserWarning, match="The best alpha, .*lies on the edge of the values tried"):
        TwoStageRegressor(alpha=[10.0, 100.0]).fit(X, y)


def test_alpha_of_many_samples_is_found_downhill(regression, monkeypatch):
    X, y = regression
    whole = TwoStageRegressor(UniformCombination()).fit(X, y)
    monkeypatch.setattr(ridge_stage, "_EIGENDECOMPOSED", len(y) - 1)
    found = TwoStageRegressor(UniformCombination()).fit(X, y)
    assert found.alpha_ == pytest.approx(whole.alpha_, rel=1e-9)
    np.testing.assert_allclose(found.predict(X), whole.predict(X), rtol=1e-7)
    tried = found.cv_results_["param_alpha"]
    assert 2 <= len(tried) < len(whole.cv_results_["param_alpha"])
    among = np.searchsorted(-whole.cv_results_["param_alpha"], -tried * (1.0 + 1e-9))
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"],
        whole.cv_results_["mean_test_score"][among],
        rtol=1e-6,
    )


@pytest.mark.parametrize("model", [TwoStageRegressor(alpha=0.1), TwoStageClassifier(C=1.0)])
def test_saved_models_hold_no_gram_matrix(model):
    X = np.random.default_rng(0).normal(size=(500, 3))
    y = (X[:, 0] > 0.0).astype(float)
    saved = pickle.dumps(clone(model).fit(X, y))
    assert len(saved) < 8 * len(X) ** 2 / 20
    np.testing.assert_array_equal(pickle.loads(saved).predict(X), clone(model).fit(X, y).predict(X))


def noisy(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


def covered(model: TwoStageRegressor, X: np.ndarray, y: np.ndarray, coverage: float) -> float:
    ends = model.predict_interval(X, coverage)
    np.testing.assert_allclose(ends.mean(axis=-1), model.predict(X))
    return float(((ends[..., 0] <= y) & (y <= ends[..., 1])).mean())


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize(
    ("learner", "settings"), [(None, {}), (ContinuousAlignment(), {"nested": True})], ids=str
)
def test_intervals_hold_as_many_responses_as_they_say(learner, settings):
    X, y = noisy(1800)
    model = TwoStageRegressor(learner, **settings).fit(X[:300], y[:300])
    assert model.cv_residuals_.shape == (300,)
    assert 0.86 < covered(model, X[300:], y[300:], 0.9) < 0.94
    assert 0.43 < covered(model, X[300:], y[300:], 0.5) < 0.57


@pytest.mark.parametrize("nested", [True, False])
def test_residuals_of_many_samples_or_folds(monkeypatch, nested):
    """Penalties downhill and folds leave the residuals of the selected alpha, too."""
    monkeypatch.setattr(ridge_stage, "_EIGENDECOMPOSED", 50)
    X, y = noisy(300)
    learner = UniformCombination([Gaussian(2.0)])
    model = TwoStageRegressor(learner, nested=nested).fit(X, y)
    score = 1.0 - np.mean(model.cv_residuals_**2) / y.var()
    np.testing.assert_allclose(model.cv_results_["mean_test_score"].max(), score, rtol=1e-6)


def test_intervals_need_residuals(regression):
    X, y = regression
    with pytest.raises(ValueError, match=r"fit with alpha='auto', or alpha=\[0.1\] for this"):
        TwoStageRegressor(alpha=0.1).fit(X, y).predict_interval(X)
    assert not hasattr(TwoStageRegressor(predictor=SVR(kernel="precomputed")), "predict_interval")
    model = TwoStageRegressor(UniformCombination()).fit(X, y)
    with pytest.raises(ValueError, match=r"coverage must be between 0 and 1.*; got 95"):
        model.predict_interval(X, 95)
    np.testing.assert_array_equal(np.isfinite(model.predict_interval(X[:1], 0.9999)), False)


def test_penalties_of_tables_in_single_precision_are_searched() -> None:
    X, y = make_regression(200, n_features=10, n_informative=1, noise=20.0, random_state=42)
    X, y = X.astype("f4").astype("f8"), (y - y.mean()) / y.std()
    single, double = (TwoStageRegressor().fit(X.astype(kind), y) for kind in ("f4", "f8"))
    assert single.alpha_ == double.alpha_
    assert_allclose(single.predict(X), double.predict(X), rtol=1e-10)
