"""Compressed models beside the models: what they predict, what they lose, and what they keep."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from deployment_cases import (
    CLASSIFIERS,
    REGRESSORS,
    SUMS_OVER_CENTERS,
    N,
    classes,
    fitted,
    leaf_stack,
    probabilities_of,
    responses,
    rows,
    several_labels,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from sklearn.base import is_classifier
from sklearn.datasets import make_classification

from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
)
from mercer._deployment import few_centers
from mercer._deployment.compressed import Compressed
from mercer._deployment.few_centers import KernelPart, cluster_means
from mercer.inspection._compression_loss import compression_loss
from mercer.kernels import Gaussian, Laplacian

pytestmark = [
    pytest.mark.filterwarnings("ignore:No number of centers that was tried"),
    pytest.mark.usefixtures("few_folds_throughout"),
]

X, NEW = rows()[:N], rows()[N:]
MANY = rows(800, seed=5)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative to the spread of what is expected."""
    return float(np.abs(found - expected).max() / (np.std(expected) or 1.0))


def error_of(model: Any, table: np.ndarray, truth: np.ndarray) -> float:
    """Root mean squared error, or logarithmic loss."""
    if not is_classifier(model):
        return float(np.sqrt(np.mean((model.predict(table) - truth) ** 2)))
    codes = np.searchsorted(model.classes_, truth)
    return float(-np.mean(np.log(model.predict_proba(table)[np.arange(len(codes)), codes])))


def arrays_in(found: Any, seen: set[int] | None = None) -> list[np.ndarray]:
    """All arrays that an object holds."""
    seen = set() if seen is None else seen
    if id(found) in seen or isinstance(found, type):
        return []
    seen.add(id(found))
    if sp.issparse(found):
        return [found.toarray()]
    if isinstance(found, np.ndarray) and found.dtype != object:
        return [found]
    parts = found if isinstance(found, list | tuple | set | np.ndarray) else ()
    parts = list(found.values()) if isinstance(found, dict) else list(parts)
    parts += list(getattr(found, "__dict__", {}).values())
    return [array for part in parts for array in arrays_in(part, seen)]


class TestAllCenters:
    """The centers of the model itself: the same function, in single precision."""

    @pytest.mark.parametrize(("task", "name"), SUMS_OVER_CENTERS)
    def test_predictions_are_those_of_the_model(self, task: str, name: str) -> None:
        model = fitted(task, name)
        small = compress(model, n_components="all")
        assert small.rows_per_center_ is None
        assert small.predict(NEW).shape == model.predict(NEW).shape
        if not is_classifier(model):
            assert relative(small.predict(NEW), model.predict(NEW)) < 1e-5
        elif probabilities_of(model):
            assert_allclose(small.predict_proba(NEW), model.predict_proba(NEW), atol=1e-5)
            assert_array_equal(small.predict(NEW), model.predict(NEW))
        else:
            assert not hasattr(small, "predict_proba")
            means = model.predict_latent(NEW)[0]
            assert_allclose(small.decision_function(NEW), means, atol=1e-5)

    def test_far_from_all_rows_predictions_fall_back_as_those_of_the_model(self) -> None:
        for task in ("regression", "two classes"):
            model = fitted(task, "stacking")
            small = compress(model, n_components="all")
            method = "predict" if task == "regression" else "predict_proba"
            found, expected = (getattr(m, method)(20.0 * NEW) for m in (small, model))
            assert_allclose(found, expected, atol=1e-5)

    def test_leaves_of_trees_are_kept_exactly(self) -> None:
        model = leaf_stack()
        expected = model.predict(NEW)
        small = compress(model, n_components="all")
        assert_allclose(small.predict(NEW), expected, atol=1e-5 * np.std(expected))

    def test_votes_of_machines_have_no_coefficients(self) -> None:
        with pytest.raises(ValueError, match=r"n_components='all' needs a sum over .* votes of"):
            compress(fitted("three classes", "stacking"), n_components="all")


class TestFewCenters:
    @pytest.mark.parametrize("name", REGRESSORS)
    def test_few_centers_predict_nearly_the_same(self, name: str) -> None:
        model = fitted("regression", name)
        small = compress(model, MANY, n_components=80)
        assert np.corrcoef(small.predict(NEW), model.predict(NEW))[0, 1] > 0.99
        assert len(small.rows_per_center_) <= 80

    @pytest.mark.parametrize("name", CLASSIFIERS)
    @pytest.mark.parametrize("task", ["two classes", "three classes"])
    def test_few_classes_change(self, name: str, task: str) -> None:
        model = fitted(task, name)
        small = compress(model, MANY, n_components=80)
        # Votes of the machines of a stack jump where their decisions change.
        jumps = (task, name) == ("three classes", "stacking")
        assert small.loss_.changed < (0.15 if jumps else 0.06)
        assert np.mean(small.predict(NEW) != model.predict(NEW)) <= small.loss_.changed + 0.05

    def test_several_labels(self) -> None:
        model = several_labels()
        small = compress(model, MANY, n_components=80)
        assert small.predict(NEW).shape == (N, 3)
        assert np.mean(small.predict(NEW) != model.predict(NEW)) < 0.05
        assert_allclose(small.predict_proba(NEW), model.predict_proba(NEW), atol=0.2)

    def test_several_responses_keep_their_shape(self) -> None:
        Y = np.column_stack([responses(X), X[:, 0]])
        learner = UniformCombination([Gaussian(2.0)])
        for targets in (Y, Y[:, :1], Y[:, 0]):
            model = TwoStageRegressor(learner, alpha=[0.1]).fit(X, targets)
            small = compress(model, n_components="all")
            assert_allclose(small.predict(NEW), model.predict(NEW), atol=1e-5)
            assert small.predict_interval(NEW).shape == model.predict_interval(NEW).shape

    @pytest.mark.parametrize("penalty", [1e-12, 1e-3])
    def test_coefficients_minimize_the_penalized_squares(
        self, penalty: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No change of coefficients that sum to zero, or of the constant, lowers the objective."""
        expansion = fitted("regression", "two-stage").kernel_expansion()
        views, kernel = {"given": X}, expansion.terms[0].kernel
        part = KernelPart.of(expansion, views)
        centers = cluster_means(views, part.relevance, 12, 0)
        monkeypatch.setattr(few_centers, "_PENALTIES", np.array([penalty]))
        found, _ = part.on_centers(centers, views, part.values(views))
        C = centers.views["given"].astype(float)
        gram = kernel(C)
        H = np.eye(len(C)) - 1.0 / len(C)
        unit = np.trace(H @ gram @ H) / len(C)
        K, target = kernel(X, C), expansion.of_views(views)[:, 0]

        def objective(c: np.ndarray, b: float) -> float:
            squares = np.sum((target - K @ c - b) ** 2)
            return float(squares + penalty * len(X) * unit * c @ gram @ c)

        c, b = found.terms[0].coefficients[:, 0], float(found.intercept[0])
        least, rng = objective(c, b), np.random.default_rng(0)
        assert abs(c.sum()) < 1e-8 * np.abs(c).sum()
        for size in (1e-3, 1e-1, 1.0):
            change = H @ rng.normal(size=len(C)) * size * np.abs(c).mean()
            assert objective(c + change, b) > least
            assert objective(c, b + size * 0.1) > least

    def test_one_center_is_a_constant_and_its_loss_says_so(self) -> None:
        small = compress(fitted("regression", "two-stage"), NEW, n_components=1)
        assert np.ptp(small.predict(X)) < 1e-12
        assert small.loss_.expected_growth > 0.5

    def test_auto_takes_as_few_centers_as_the_tolerance_allows(self) -> None:
        model = fitted("regression", "two-stage")
        loose, close = (compress(model, MANY, tol=tol) for tol in (0.5, 5e-3))
        assert loose.loss_.criterion <= 0.5
        assert close.loss_.criterion <= 5e-3
        assert len(loose.rows_per_center_) <= 50 < len(close.rows_per_center_)

    def test_a_tolerance_out_of_reach_is_said(self) -> None:
        with pytest.warns(
            UserWarning, match="No number of centers that was tried has a loss of at"
        ):
            compress(fitted("regression", "two-stage"), tol=1e-12)

    def test_the_same_seed_repeats_the_result(self) -> None:
        model = fitted("regression", "stacking")
        first, second, other = (
            compress(model, n_components=15, random_state=seed).predict(NEW) for seed in (0, 0, 1)
        )
        assert_array_equal(first, second)
        assert np.abs(first - other).max() > 1e-6

    @pytest.mark.parametrize("unit", [1e-8, 1e8])
    def test_the_unit_of_features_does_not_matter(self, unit: float) -> None:
        X_unit = X * np.array([unit, 1.0, 1.0])
        kernel = Gaussian(np.array([2.0 * unit, 2.0, 2.0]))
        learner = UniformCombination([kernel])
        scaled = TwoStageRegressor(learner, alpha=0.1).fit(X_unit, responses(X))
        plain = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), alpha=0.1)
        plain.fit(X, responses(X))
        found = compress(scaled, n_components=20).predict(X_unit)
        assert_allclose(found, compress(plain, n_components=20).predict(X), atol=1e-4)

    def test_copies_of_rows(self) -> None:
        twice = np.repeat(X[:10], 12, axis=0)
        small = compress(fitted("regression", "two-stage"), twice, n_components=40)
        assert len(small.rows_per_center_) <= 10
        expected = fitted("regression", "two-stage").predict(X[:10])
        assert_allclose(small.predict(X[:10]), expected, atol=1e-3)

    def test_sparse_tables(self) -> None:
        table = sp.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0))
        model = KernelStackingRegressor([Gaussian(2.0)]).fit(table, responses(X))
        small = compress(model, n_components="all")
        assert_allclose(small.predict(table), model.predict(table), atol=1e-5)
        assert_allclose(small.predict(table.toarray()), model.predict(table), atol=1e-5)
        assert compress(model, table, n_components=20).predict(table).shape == (N,)


class TestWhatIsLeftOfTheRows:
    @pytest.mark.parametrize("name", ["stacking", "two-stage", "Bayesian"])
    def test_no_array_holds_a_training_row(self, name: str) -> None:
        model = fitted("regression", name)
        small = compress(model, n_components=20)
        forms = [X, *model.kernel_expansion().views(X).values()]
        for array in arrays_in(vars(small)):
            if array.ndim != 2 or array.shape[1] != X.shape[1]:
                continue
            for form in forms:
                distances = np.abs(array[:, None] - form[None]).max(axis=2)
                assert distances.min() > 1e-4

    def test_every_center_is_the_mean_of_several_rows(self) -> None:
        small = compress(fitted("regression", "two-stage"), n_components=20)
        centers = small.kernel_expansion().terms[0].centers
        counts = small.rows_per_center_
        assert len(centers) == len(counts)
        assert counts.min() >= 2
        assert counts.sum() <= N

    @given(st.integers(1, 30), st.integers(0, 3))
    @settings(max_examples=20, deadline=None)
    def test_clusters_are_means(self, n_centers: int, seed: int) -> None:
        points = np.random.default_rng(seed).integers(0, 3, size=(40, 2)).astype(float)
        views = {"one": points, "other": points**2}
        found = cluster_means(views, {name: np.ones(2) for name in views}, n_centers, seed)
        assert (found.n_rows >= 2).all()
        # The mean over all clusters is that of the rows in them.
        inside = found.n_rows @ found.views["one"]
        left_out = points.sum(axis=0) - inside
        assert (left_out >= -1e-4).all()
        assert (left_out <= 2.0 * (40 - found.n_rows.sum()) + 1e-4).all()


class TestLoss:
    @pytest.mark.parametrize("penalty", [1e-9, 1e-3])
    def test_left_out_values_are_those_of_fits_without_the_row(
        self, penalty: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        part = KernelPart.of(fitted("regression", "two-stage").kernel_expansion(), {"given": NEW})
        values = part.values({"given": NEW})
        centers = cluster_means({"given": NEW}, part.relevance, 12, 0)
        monkeypatch.setattr(few_centers, "_PENALTIES", np.array([penalty]))
        _, left_out = part.on_centers(centers, {"given": NEW}, values)
        monkeypatch.setattr(few_centers, "_PENALTIES", np.array([penalty * N / (N - 1)]))
        for row in range(0, N, 7):
            others = {"given": np.delete(NEW, row, axis=0)}
            function, _ = part.on_centers(centers, others, np.delete(values, row, axis=0))
            expected = function(NEW[[row]])[0] - part.expansion.intercept
            assert_allclose(left_out[row], expected, rtol=1e-6)

    def test_it_is_that_of_rows_that_were_not_fitted_to(self) -> None:
        model = fitted("regression", "two-stage")
        loss = compress(model, NEW, n_components=20).loss_
        draws = np.random.RandomState(0)
        views, seed = {"given": NEW[draws.permutation(N)]}, draws.randint(2**31 - 1)
        part = KernelPart.of(model.kernel_expansion(), views)
        centers, values = cluster_means(views, part.relevance, 20, seed), part.values(views)
        _, left_out = part.on_centers(centers, views, values)
        assert loss.n_rows == N
        assert_allclose(loss.difference, np.sqrt(np.mean((left_out - values) ** 2)), rtol=1e-10)

    def test_more_features_than_rows_are_penalized(self) -> None:
        """Three kernels at 75 centers have 225 features of 150 rows."""
        table, y = make_classification(
            2150, 6, n_informative=4, n_redundant=0, flip_y=0.05, random_state=0
        )
        model = KernelStackingClassifier().fit(table[:150], y[:150])
        before = error_of(model, table[650:], y[650:])
        for n_components in (75, "auto"):
            small = compress(model, n_components=n_components)
            assert error_of(small, table[650:], y[650:]) < 1.3 * before

    def test_the_best_number_is_kept(self) -> None:
        model, given = fitted("two classes", "two-stage"), rows(150, seed=3)
        losses = [compress(model, given, n_components=n).loss_.criterion for n in (50, 75)]
        assert compress(model, given, tol=1e-9).loss_.criterion == min(losses)
        with patch.object(Compressed, "_numbers", return_value=iter([40, 2])):
            small = compress(model, given, tol=1e-9)
        assert len(small.rows_per_center_) > 2
        assert small.loss_ == compress(model, given, n_components=40).loss_

    @pytest.mark.parametrize("task", ["regression", "two classes"])
    def test_it_is_what_new_rows_lose(self, task: str) -> None:
        """Growth that is stated by labels of other rows, beside that on new ones."""
        ratios = []
        for seed in range(4):
            table = rows(2400, seed=seed)
            truth = responses(table) if task == "regression" else classes(table, 2)
            kernels = UniformCombination([Gaussian(2.0), Laplacian(3.0)])
            model: Any = TwoStageRegressor(kernels, alpha=0.1)
            if task != "regression":
                model = TwoStageClassifier(kernels, C=1.0)
            model.fit(table[:150], truth[:150])
            small = compress(model, table[150:400], truth[150:400], n_components=20)
            before, after = (error_of(m, table[400:], truth[400:]) for m in (model, small))
            ratios.append((1.0 + small.loss_.measured_growth) / (after / before))
        assert abs(np.mean(ratios) - 1.0) < 0.15

    def test_growth_of_squared_errors(self) -> None:
        model = fitted("regression", "two-stage")
        loss = compress(model, NEW, n_components=20).loss_
        error, d = np.sqrt(np.mean(model.cv_residuals_**2)), loss.difference[0]
        assert_allclose(loss.left_out_error, error)
        assert_allclose(loss.expected_growth, np.sqrt(error**2 + d**2) / error - 1.0)
        assert f"{loss.expected_growth:.2%}" in str(loss)

    @pytest.mark.parametrize("task", ["two classes", "three classes"])
    def test_growth_of_the_logarithmic_loss(self, task: str) -> None:
        model = fitted(task, "stacking")
        expansion = model.kernel_expansion()
        mine = expansion(NEW)
        theirs = mine + np.random.default_rng(0).normal(size=mine.shape)
        found = compression_loss(expansion, mine, theirs, model)
        scores = [np.column_stack([0.0 * s, s]) if s.shape[1] == 1 else s for s in (mine, theirs)]
        p, q = (log_softmax(s, axis=1) for s in scores)
        divergences = np.sum(np.exp(p) * (p - q), axis=1)
        codes = np.searchsorted(model.classes_, classes(X, len(model.classes_)))
        error = -np.mean(np.log(model.loo_predictions_[np.arange(N), codes]))
        assert_allclose(found.left_out_error, error, rtol=1e-8)
        assert_allclose(found.expected_growth, divergences.mean() / error, rtol=1e-6)
        spread = divergences.std(ddof=1) / np.sqrt(N) / error
        assert_allclose(found.standard_error, spread, rtol=1e-6)
        assert_allclose(found.criterion, found.expected_growth + spread, rtol=1e-6)

    def test_without_left_out_errors_the_difference_counts(self) -> None:
        loss = compress(fitted("regression", "one-stage"), n_components=20).loss_
        assert loss.left_out_error is loss.expected_growth is None
        assert loss.criterion > 0.0
        assert "is what tol bounds" in str(loss)
        loss = compress(fitted("two classes", "Bayesian"), n_components=20).loss_
        assert loss.criterion == loss.changed


class TestLossWithLabels:
    """Responses or classes of the rows measure what the compression costs."""

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
        loss = small.loss_
        assert abs(loss.measured_growth - growth) < 4.0 * loss.standard_error
        assert loss.expected_growth < 0.5 * growth
        blind = compress(model, many[500:3000], n_components=40)
        assert blind.loss_.expected_growth == loss.expected_growth
        assert_array_equal(blind.predict(NEW[:, :2]), small.predict(NEW[:, :2]))

    def test_growth_of_responses_and_its_standard_error(self) -> None:
        model = fitted("regression", "two-stage")
        expansion, rng = model.kernel_expansion(), np.random.default_rng(0)
        draws = []
        for _ in range(200):
            truth = rng.normal(size=(400, 1))
            mine, theirs = (truth + size * rng.normal(size=(400, 1)) for size in (0.3, 0.4))
            loss = compression_loss(expansion, mine, theirs, model, truth)
            draws.append((loss.measured_growth, loss.standard_error))
        mine, theirs = (np.sum((v - truth) ** 2) for v in (mine, theirs))
        assert_allclose(draws[-1][0], np.sqrt(theirs / mine) - 1.0)
        growths, errors = np.array(draws).T
        assert_allclose(growths.mean(), 1.0 / 3.0, atol=0.02)
        assert_allclose(errors.mean(), growths.std(), rtol=0.2)

    @pytest.mark.parametrize("task", ["two classes", "three classes"])
    def test_growth_of_the_logarithmic_loss(self, task: str) -> None:
        model = fitted(task, "stacking")
        small = compress(model, n_components=20)
        y = classes(NEW, len(model.classes_))
        expansion = model.kernel_expansion()
        truth = np.searchsorted(model.classes_, y)
        expansions = [m.kernel_expansion() for m in (model, small)]
        values = [found.predicted(found.views(NEW)) for found in expansions]
        loss = compression_loss(expansion, *values, model, truth)
        before, after = (-np.log(m.predict_proba(NEW)[np.arange(N), truth]) for m in (model, small))
        assert_allclose(loss.measured_growth, after.mean() / before.mean() - 1.0, rtol=1e-6)
        assert loss.criterion == loss.measured_growth + loss.standard_error
        assert f"grows by {loss.measured_growth:.2%}" in str(loss)

    def test_bad_labels_are_refused(self) -> None:
        regressor = fitted("regression", "two-stage")
        with pytest.raises(ValueError, match="X has 60 rows, and y has 10"):
            compress(regressor, NEW, np.zeros(10))
        with pytest.raises(ValueError, match=r"y must have 1 column\(s\); got 2"):
            compress(regressor, NEW, np.zeros((N, 2)))
        with pytest.raises(ValueError, match="y needs the rows that it belongs to"):
            compress(regressor, y=responses(X))
        with pytest.raises(ValueError, match="NaN"):
            compress(regressor, NEW, np.full(N, np.nan))
        with pytest.raises(TypeError, match="predicts a latent mean: compress it without y"):
            compress(fitted("two classes", "Bayesian"), NEW, classes(NEW, 2))
        stack = fitted("two classes", "stacking")
        with pytest.raises(ValueError, match=r"previously unseen labels: \['purple'\]"):
            compress(stack, NEW, np.repeat(["blue", "purple"], N // 2))
