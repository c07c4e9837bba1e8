"""Compressed models as estimators: what they state of their loss, files, and what is refused."""

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
    several_labels,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from sklearn.base import is_classifier
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    KernelPoissonRegressor,
    KernelStackingClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
)
from mercer._deployment import compressed
from mercer._deployment.compressed import (
    CompressedClassifier,
    CompressedRegressor,
    relative_growth,
)
from mercer._deployment.few_centers import with_few_centers
from mercer.kernels import Gaussian, Laplacian

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

X, NEW = rows()[:N], rows()[N:]
MANY = rows(800, seed=5)
LEARNER = UniformCombination([Gaussian(2.0)])


def error_of(model: Any, table: np.ndarray, truth: np.ndarray) -> float:
    """Root mean squared error, or logarithmic loss."""
    if not is_classifier(model):
        return float(np.sqrt(np.mean((model.predict(table) - truth) ** 2)))
    codes = np.searchsorted(model.classes_, truth)
    return float(-np.mean(np.log(model.predict_proba(table)[np.arange(len(codes)), codes])))


def truth_of(task: str, table: np.ndarray) -> np.ndarray:
    """Responses or classes of rows."""
    return responses(table) if task == "regression" else classes(table, 2)


class TestStatedLoss:
    def test_it_is_that_of_rows_that_were_not_fitted_to(self) -> None:
        model = fitted("regression", "two-stage")
        function, y = model.kernel_expansion(), responses(NEW)
        _, left_out, _ = with_few_centers(function, {"given": NEW}, function(NEW), 20)
        small = compress(model, NEW, y, n_components=20)
        before = np.square(y - model.predict(NEW)).mean()
        after = np.square(y - left_out[:, 0]).mean()
        assert_allclose(small.loss_, np.sqrt(after / before) - 1.0, rtol=1e-8)
        fitted_to = np.square(y - small.predict(NEW)).mean()
        assert small.loss_ > np.sqrt(fitted_to / before) - 1.0 + 0.01

    @pytest.mark.parametrize("task", ["regression", "two classes"])
    @pytest.mark.parametrize("n_rows", [150, 400])
    def test_it_is_what_new_rows_lose(self, task: str, n_rows: int) -> None:
        """By labels of other rows, beside new ones: means of eight draws."""
        found = []
        kernels = UniformCombination([Gaussian(2.0), Laplacian(3.0)])
        for seed in range(8):
            table = rows(n_rows + 3000, seed=seed)
            truth = truth_of(task, table)
            model: Any = TwoStageRegressor(kernels, alpha=0.1)
            if task != "regression":
                model = TwoStageClassifier(kernels, C=1.0)
            model.fit(table[:n_rows], truth[:n_rows])
            others, new = slice(n_rows, 2 * n_rows), slice(n_rows + 1000, None)
            small = compress(model, table[others], truth[others], n_components=20)
            before, after = (error_of(m, table[new], truth[new]) for m in (model, small))
            found.append((small.loss_, after / before - 1.0, small.loss_std_))
        stated, true, error = np.mean(found, axis=0)
        assert true > 0.005
        assert abs(stated - true) < max(0.4 * true, 2.0 * error / np.sqrt(8))

    def test_more_features_than_rows_are_penalized(self) -> None:
        """Three kernels at 75 centers have 225 features of 150 rows."""
        table, y = make_classification(
            2150, 6, n_informative=4, n_redundant=0, flip_y=0.05, random_state=0
        )
        model = KernelStackingClassifier().fit(table[:150], y[:150])
        before = error_of(model, table[650:], y[650:])
        for n_components in (75, "auto"):
            small = compress(model, table[:150], n_components=n_components)
            true = error_of(small, table[650:], y[650:]) / before - 1.0
            assert true < 0.3
            assert small.loss_ > true - 0.05

    def test_it_tells_what_a_model_that_shrinks_does_not(self) -> None:
        """A ripple that the model shrinks is dropped: more is lost than the model expects."""
        rng = np.random.default_rng(0)
        many = rng.uniform(-1.0, 1.0, size=(6000, 2))
        y = many[:, 0] + 0.5 * np.sin(12.0 * many[:, 1]) + 0.2 * rng.normal(size=6000)
        model = TwoStageRegressor(UniformCombination([Gaussian(0.25)]), alpha=[3.0])
        model.fit(many[:500], y[:500])
        small = compress(model, many[500:3000], y[500:3000], n_components=40)
        before, after = (np.square(m.predict(many[3000:]) - y[3000:]) for m in (model, small))
        growth = np.sqrt(after.mean() / before.mean()) - 1.0
        assert abs(small.loss_ - growth) < 4.0 * small.loss_std_
        blind = compress(model, many[500:3000], n_components=40)
        assert blind.loss_ < 0.5 * growth
        assert_array_equal(blind.predict(NEW[:, :2]), small.predict(NEW[:, :2]))

    def test_without_labels_it_is_what_is_expected_of_responses(self) -> None:
        model = fitted("regression", "two-stage")
        expected = model.kernel_expansion()(NEW)
        theirs = expected + 0.1 * np.random.default_rng(0).normal(size=expected.shape)
        loss, std = relative_growth(model, expected, theirs)
        e, d = np.mean(model.cv_residuals_**2), np.square(theirs - expected)
        assert_allclose(loss, np.sqrt(1.0 + d.mean() / e) - 1.0)
        spread = d.std(ddof=1) / np.sqrt(N) / e
        assert_allclose(std, 0.5 * spread / np.sqrt(1.0 + d.mean() / e))

    @pytest.mark.parametrize("task", ["two classes", "three classes"])
    def test_without_labels_it_is_what_is_expected_of_classes(self, task: str) -> None:
        model = fitted(task, "stacking")
        mine = model.kernel_expansion()(NEW)
        theirs = mine + np.random.default_rng(0).normal(size=mine.shape)
        found = relative_growth(model, mine, theirs)
        scores = [np.column_stack([0.0 * s, s]) if s.shape[1] == 1 else s for s in (mine, theirs)]
        p, q = (log_softmax(s, axis=1) for s in scores)
        divergences = np.sum(np.exp(p) * (p - q), axis=1)
        codes = np.searchsorted(model.classes_, classes(X, len(model.classes_)))
        error = -np.mean(np.log(model.loo_predictions_[np.arange(N), codes]))
        spread = divergences.std(ddof=1) / np.sqrt(N)
        assert_allclose(found, np.array([divergences.mean(), spread]) / error, rtol=1e-6)

    def test_without_left_out_errors_it_is_the_difference(self) -> None:
        model = fitted("regression", "one-stage")
        mine = model.kernel_expansion()(NEW)
        found, _ = relative_growth(model, mine, mine + 0.1 * np.std(mine))
        assert_allclose(found, 0.1, rtol=1e-6)
        assert relative_growth(model, mine, mine)[0] < 1e-10
        # Of two classes, the share of changes relative to that by a constant.
        machine, values = fitted("two classes", "Bayesian"), np.repeat([[1.0], [-1.0]], 30, axis=0)
        changed = values * np.where(np.arange(60) % 10 == 0, -1.0, 1.0)[:, None]
        assert_allclose(relative_growth(machine, values, changed)[0], 0.2 / 0.5)

    def test_growth_of_the_logarithmic_loss(self) -> None:
        for task in ("two classes", "three classes"):
            model = fitted(task, "stacking")
            y = classes(NEW, len(model.classes_))
            mine = model.kernel_expansion()(NEW)
            theirs = mine + np.random.default_rng(0).normal(size=mine.shape)
            scores = [np.column_stack([0 * s, s]) if s.shape[1] == 1 else s for s in (mine, theirs)]
            at = np.arange(N), np.searchsorted(model.classes_, y)
            before, after = (-log_softmax(s, axis=1)[at].mean() for s in scores)
            found, _ = relative_growth(model, mine, theirs, y)
            assert_allclose(found, after / before - 1.0, rtol=1e-8)

    def test_growth_of_the_losses_of_several_labels_and_of_counts(self) -> None:
        model = several_labels()
        mine, labels = model.kernel_expansion()(NEW), (NEW > 0.0).astype(int)
        theirs = mine + np.random.default_rng(0).normal(size=mine.shape)
        signs = 2.0 * labels - 1.0
        before, after = (np.logaddexp(0.0, -signs * s).sum(axis=1).mean() for s in (mine, theirs))
        found, _ = relative_growth(model, mine, theirs, labels)
        assert_allclose(found, after / before - 1.0, rtol=1e-8)
        counts = np.random.default_rng(3).poisson(np.exp(responses(X)))
        machine = KernelPoissonRegressor([Gaussian(2.0)]).fit(X, counts)
        mine = machine.kernel_expansion()(X)
        before, after = (
            np.mean(np.exp(s) - counts * s + [c * np.log(c) - c if c else 0.0 for c in counts])
            for s in (mine[:, 0], mine[:, 0] + 0.5)
        )
        found, _ = relative_growth(machine, mine, mine + 0.5, counts)
        assert_allclose(found, after / before - 1.0, rtol=1e-8)

    def test_growth_of_responses_and_its_standard_error(self) -> None:
        model, rng = fitted("regression", "two-stage"), np.random.default_rng(0)
        draws = []
        for _ in range(200):
            truth = rng.normal(size=(400, 1))
            mine, theirs = (truth + size * rng.normal(size=(400, 1)) for size in (0.3, 0.4))
            draws.append(relative_growth(model, mine, theirs, truth))
        mine, theirs = (np.sum((v - truth) ** 2) for v in (mine, theirs))
        assert_allclose(draws[-1][0], np.sqrt(theirs / mine) - 1.0)
        growths, errors = np.array(draws).T
        assert_allclose(growths.mean(), 1.0 / 3.0, atol=0.02)
        assert_allclose(errors.mean(), growths.std(), rtol=0.2)

    def test_several_responses_count_relative_to_their_ranges(self) -> None:
        model = TwoStageRegressor(LEARNER, alpha=[0.1])
        Y = np.column_stack([responses(X), X[:, 0]])
        found = []
        for size in (1.0, 1e6):
            model.fit(X, Y * [1.0, size])
            found.append(compress(model, NEW, None, 10).loss_)
        assert_allclose(found[0], found[1], rtol=1e-6)

    def test_bad_labels_are_refused(self) -> None:
        regressor = fitted("regression", "two-stage")
        with pytest.raises(ValueError, match=r"y of shape \(60, 2\) does not match .* 60 rows"):
            compress(regressor, NEW, np.zeros((N, 2)))
        for table, truth in ((NEW[1:], responses(NEW)), (NEW, responses(NEW)[1:])):
            with pytest.raises(ValueError, match="inconsistent numbers of samples"):
                compress(regressor, table, truth)
        with pytest.raises(ValueError, match="NaN"):
            compress(regressor, NEW, np.full(N, np.nan))
        stack = fitted("two classes", "stacking")
        with pytest.raises(ValueError, match=r"unknown categories .*purple"):
            compress(stack, NEW, np.repeat(["blue", "purple"], N // 2))


class TestNumberOfCenters:
    def test_one_center_is_a_constant_and_its_loss_says_so(self) -> None:
        small = compress(fitted("regression", "two-stage"), NEW, n_components=1)
        assert np.ptp(small.predict(X)) < 1e-12
        assert small.loss_ > 0.5

    def test_auto_takes_as_few_centers_as_are_enough(self) -> None:
        smooth, rough = (fitted("regression", name) for name in ("two-stage", "two-stage, scans"))
        assert len(compress(smooth, MANY).rows_per_center_) <= 100
        small = compress(rough, MANY)
        n_centers = len(small.rows_per_center_)
        assert n_centers > 100
        fewer = compress(rough, MANY, n_components=100)
        assert fewer.loss_ + fewer.loss_std_ > 0.01
        assert small.loss_ < fewer.loss_

    @pytest.mark.parametrize(
        ("losses", "best"),
        [
            ([(0.3, 0.0), (0.05, 0.01), (0.2, 0.0), (0.1, 0.0)], 10),
            ([(0.3, 0.0), (0.1, 0.3), (0.2, 0.0), (0.25, 0.0)], 15),
            ([(0.3, 0.0), (0.005, 0.005), (0.001, 0.0), (0.0, 0.0)], 10),
        ],
        ids=["least loss", "with its standard error", "enough"],
    )
    def test_the_best_number_is_kept(
        self, losses: list[Any], best: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = fitted("regression", "two-stage")
        expected = compress(model, NEW, n_components=best).predict(X)
        monkeypatch.setattr(compressed, "_NUMBERS", (5, 10, 15, 20))
        stated = iter(losses)
        monkeypatch.setattr(compressed, "relative_growth", lambda *_: next(stated))
        small = compress(model, NEW)
        assert (small.loss_, small.loss_std_) == losses[best // 5 - 1]
        assert_array_equal(small.predict(X), expected)

    def test_noise_is_compressed_to_almost_nothing(self) -> None:
        y = np.random.default_rng(3).normal(size=N)
        model = TwoStageRegressor(LEARNER, alpha=[1e3]).fit(X, y)
        assert compress(model, X).loss_ < 0.01


EXPECTED = {
    "check_classifiers_one_label_sample_weights": "Weights are a parameter of the model's fit.",
}


class TestEstimators:
    @parametrize_with_checks(
        [
            CompressedRegressor(TwoStageRegressor(), n_components=50),
            CompressedClassifier(TwoStageClassifier(LEARNER, C=1.0), n_components=50),
        ],
        expected_failed_checks=lambda _: EXPECTED,
    )
    def test_checks_of_scikit_learn(self, estimator: Any, check: Any) -> None:
        check(estimator)

    def test_fit_is_a_fit_of_the_model_that_is_compressed(self) -> None:
        y = responses(X)
        small = CompressedRegressor(TwoStageRegressor(LEARNER, alpha=0.1), n_components=20)
        weights = np.random.default_rng(0).uniform(1.0, 2.0, N)
        model = TwoStageRegressor(LEARNER, alpha=0.1).fit(X, y, sample_weight=weights)
        expected = compress(model, X, n_components=20)
        found = small.fit(X, y, sample_weight=weights)
        assert_array_equal(found.predict(NEW), expected.predict(NEW))
        assert found.loss_ == expected.loss_
        assert expected.get_params(deep=False)["n_components"] == 20

    def test_the_number_of_centers_can_be_searched(self) -> None:
        small = compress(fitted("regression", "two-stage"), X, n_components=5)
        search = GridSearchCV(small, {"n_components": [1, 15]}, cv=2).fit(X, responses(X))
        assert search.best_params_ == {"n_components": 15}
        assert compress(search, X, n_components=10).predict(X).shape == (N,)

    def test_pipelines_keep_their_steps(self) -> None:
        model = make_pipeline(StandardScaler(), TwoStageRegressor(alpha=0.1))
        model.fit(10.0 * X, responses(X))
        small = compress(model, 10.0 * NEW, responses(NEW), n_components=20)
        assert small[0] is model[0]
        assert type(small[-1]) is CompressedRegressor
        assert np.corrcoef(small.predict(10.0 * X), model.predict(10.0 * X))[0, 1] > 0.95

    def test_columns_are_checked_as_by_the_model(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = TwoStageRegressor(LEARNER, alpha=0.1)
        small = compress(model.fit(frame, responses(X)), frame, n_components=20)
        assert small.feature_names_in_.tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="feature names should match"):
            small.predict(frame[["b", "a", "c"]])
        plain = compress(fitted("regression", "two-stage"), X, n_components=20)
        with pytest.raises(ValueError, match="expecting 3 features"):
            plain.predict(X[:, :2])
        with pytest.raises(ValueError, match="NaN"):
            plain.predict(np.full((1, 3), np.nan))

    @pytest.mark.parametrize(("task", "name"), SUMS_OVER_CENTERS)
    def test_saved_models_predict_the_same(self, task: str, name: str, tmp_path: Path) -> None:
        pytest.importorskip("skops.io")
        small = compress(fitted(task, name), X, n_components=20)
        mercer.save(small, tmp_path / "model.skops")
        loaded = mercer.load(tmp_path / "model.skops")
        assert_array_equal(loaded.predict(NEW), small.predict(NEW))
        assert_array_equal(loaded.kernel_expansion()(NEW), small.kernel_expansion()(NEW))
        assert loaded.loss_ == small.loss_

    def test_saved_leaves(self, tmp_path: Path) -> None:
        pytest.importorskip("skops.io")
        small = compress(leaf_stack(), MANY, n_components=50)
        mercer.save(small, tmp_path / "model.skops")
        assert_array_equal(mercer.load(tmp_path / "model.skops").predict(NEW), small.predict(NEW))
        assert (tmp_path / "model.skops").stat().st_size < 1_000_000

    def test_classes_are_those_of_the_largest_score(self) -> None:
        for task in ("two classes", "three classes"):
            small = compress(fitted(task, "two-stage"), X, n_components=20)
            scores, chosen = small.decision_function(NEW), small.predict(NEW)
            assert small.predict_proba(NEW).shape == (N, len(small.classes_))
            assert_array_equal(small.classes_[small.predict_proba(NEW).argmax(axis=1)], chosen)
            codes = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
            assert_array_equal(small.classes_[codes], chosen)
        assert not hasattr(compress(fitted("two classes", "Bayesian"), X), "predict_proba")

    def test_a_compressed_model_is_explained_and_compressed_again(self) -> None:
        small = compress(fitted("regression", "two-stage"), X, n_components=20)
        found = mercer.inspection.shapley_values(small, NEW[:2], background=5)
        assert_allclose(found.predictions, small.predict(NEW[:2]), atol=1e-8)
        assert compress(small, NEW, n_components=10).predict(NEW).shape == (N,)

    def test_predictors_of_other_libraries_are_functions_of_kernels(self) -> None:
        learner = UniformCombination([Laplacian(3.0)])
        model = TwoStageRegressor(learner, predictor=SVR(kernel="precomputed"))
        model.fit(X, responses(X))
        small = compress(model, MANY, n_components=80)
        assert np.corrcoef(small.predict(NEW), model.predict(NEW))[0, 1] > 0.97


class TestRefusals:
    def test_models_that_cannot_be_compressed(self) -> None:
        with pytest.raises(NotFittedError):
            compress(TwoStageRegressor(), X)
        with pytest.raises(NotFittedError):
            CompressedRegressor(TwoStageRegressor()).predict(X)
        with pytest.raises(TypeError, match="predicts nothing"):
            compress(UniformCombination().fit(X, responses(X)), X)
        with pytest.raises(TypeError, match="Ridge cannot be compressed: it is no estimator of"):
            compress(Ridge().fit(X, responses(X)), X)
        stack = np.stack([X @ X.T], axis=2)
        model = TwoStageRegressor(UniformCombination("precomputed"), alpha=0.1)
        with pytest.raises(TypeError, match="precomputed Gram matrices"):
            compress(model.fit(stack, responses(X)), stack)

    @pytest.mark.parametrize("n_components", [0, 1.5, "few", "all"])
    def test_numbers_of_centers(self, n_components: Any) -> None:
        with pytest.raises((ValueError, TypeError), match="n_components must be"):
            compress(fitted("regression", "two-stage"), X, n_components=n_components)

    def test_too_few_rows(self) -> None:
        with pytest.raises(ValueError, match="minimum of 4"):
            compress(fitted("regression", "two-stage"), X[:3])
