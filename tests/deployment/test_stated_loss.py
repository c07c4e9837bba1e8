"""What compressed models state of their loss, beside what is lost on new rows."""

import numpy as np
import pytest
from deployment_cases import N, classes, fitted, responses, rows
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from mercer import (
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


class TestStatedLoss:
    def test_it_is_that_of_rows_that_were_not_fitted_to(self) -> None:
        model = fitted("regression", "two-stage")
        function = model.kernel_expansion()
        values = function(NEW)
        _, left_out, _ = with_few_centers(function, {"given": NEW}, values, 20)
        small = compress(model, NEW, n_components=20)
        error = np.mean(model.cv_residuals_**2)
        growths = [
            np.sqrt(1.0 + np.square(found - values[:, 0]).mean() / error) - 1.0
            for found in (left_out[:, 0], small.predict(NEW))
        ]
        assert_allclose(small.loss_, growths[0], rtol=1e-8)
        assert small.loss_ > growths[1] + 0.01

    def test_it_is_what_new_rows_lose(self) -> None:
        """Means of eight draws."""
        found, n_rows = [], 150
        learner = UniformCombination([Gaussian(2.0), Laplacian(3.0)])
        for seed in range(8):
            table = rows(n_rows + 3000, seed=seed)
            truth = responses(table)
            model = TwoStageRegressor(learner, alpha=0.1).fit(table[:n_rows], truth[:n_rows])
            small = compress(model, table[n_rows : 2 * n_rows], n_components=20)
            new = slice(n_rows + 1000, None)
            before, after = (
                np.sqrt(np.mean((one.predict(table[new]) - truth[new]) ** 2))
                for one in (model, small)
            )
            found.append((small.loss_, after / before - 1.0, small.loss_std_))
        stated, true, error = np.mean(found, axis=0)
        assert true > 0.005
        assert abs(stated - true) < max(0.4 * true, 2.0 * error / np.sqrt(8))

    def test_it_is_what_is_expected_of_responses(self) -> None:
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

    def test_several_responses_count_relative_to_their_ranges(self) -> None:
        model = TwoStageRegressor(LEARNER, alpha=[0.1])
        Y = np.column_stack([responses(X), X[:, 0]])
        found = []
        for size in (1.0, 1e6):
            model.fit(X, Y * [1.0, size])
            found.append(compress(model, NEW, 10).loss_)
        assert_allclose(found[0], found[1], rtol=1e-6)
