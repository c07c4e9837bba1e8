"""What compressed models state of their loss, beside what is lost on new rows."""

from typing import Any

import numpy as np
import pytest
from deployment_cases import N, classes, fitted, responses, rows, several_labels
from numpy.testing import assert_allclose
from scipy.special import log_softmax
from sklearn.base import is_classifier

from mercer import (
    KernelPoissonRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
)
from mercer._files.deployment.few_centers import with_few_centers
from mercer._files.deployment.growth_of_error import relative_growth
from mercer.kernels import Gaussian, Laplacian

pytestmark = [
    pytest.mark.filterwarnings("ignore:With .* centers, the error grows"),
    pytest.mark.usefixtures("few_folds_throughout"),
]

X, NEW = rows()[:N], rows()[N:]
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
    def test_it_is_what_new_rows_lose(self, task: str) -> None:
        """By labels of other rows, beside new ones: means of eight draws."""
        found, n_rows = [], 150
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
    def test_growth_of_the_logarithmic_loss(self, task: str) -> None:
        """Without labels it is what is expected of them."""
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
        at = np.arange(N), np.searchsorted(model.classes_, classes(NEW, len(model.classes_)))
        found, _ = relative_growth(model, mine, theirs, classes(NEW, len(model.classes_)))
        assert_allclose(found, q[at].mean() / p[at].mean() - 1.0, rtol=1e-8)

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
