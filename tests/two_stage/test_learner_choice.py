"""The learner of the lowest left-out error: its width and family, and the second stage with it."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import left_out_kernel_ridge
from sklearn.base import clone
from two_stage_cases import centered, isotropic

from mercer import TwoStageClassifier, TwoStageRegressor, UniformCombination
from mercer._estimators.two_stage.learner_choice import EvaluatedLearner, comparable
from mercer.kernels import Gaussian, Kernel, Laplacian

pytestmark = pytest.mark.filterwarnings("ignore:The best (C|alpha):UserWarning")


def smooth(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A function of the distance, for which the Gaussian kernel is best."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.exp(-0.2 * (X**2).sum(axis=1))


def additive(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A sum of functions with kinks, for which the product Laplacian is best."""
    X = np.random.default_rng(1).normal(size=(n, 4))
    return X, np.abs(X).sum(axis=1)


def the_kernel(candidate: EvaluatedLearner) -> Kernel:
    assert isinstance(candidate.learner, UniformCombination)
    (kernel,) = candidate.learner.kernels
    return kernel


def relative_error(kernel: Kernel, X: np.ndarray, y: np.ndarray, alpha: float) -> float:
    """Error of refits, relative to that of the means of all others."""
    gram = kernel(X)
    unit = np.trace(centered(gram)) / len(X)
    wrong = y - left_out_kernel_ridge(gram / unit, y, alpha)
    others = (y.sum() - y) / (len(y) - 1)
    return float((wrong**2).sum() / ((y - others) ** 2).sum())


# --- candidates --------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [smooth, additive])
def test_errors_are_those_of_refits(problem: Any) -> None:
    X, y = problem()
    found = isotropic(X, y, "regression")
    assert [type(the_kernel(c)) for c in found] == (
        [Gaussian, Laplacian] if problem is smooth else [Laplacian, Gaussian]
    )
    assert found[0].loo_error < found[1].loo_error
    for candidate in found:
        expected = relative_error(the_kernel(candidate), X, y, candidate.alpha)
        assert_allclose(candidate.loo_error, expected, rtol=1e-4)
        assert candidate.description == the_kernel(candidate).describe()


def test_no_octave_is_better() -> None:
    X, y = additive()
    best = isotropic(X, y, "regression")[0]
    kernel: Any = the_kernel(best)
    for factor in (0.5, 2.0):
        other = kernel.with_theta(kernel.theta + np.log(factor))
        for alpha in 10.0 ** np.arange(-9, 2):
            assert best.loo_error < 1.01 * relative_error(other, X, y, alpha)


def test_kernels_of_support_vector_machines_are_wider() -> None:
    X, y = smooth()
    labels = (y > np.median(y)).astype(int)
    wide: Any
    narrow: Any
    wide, narrow = (
        next(the_kernel(c) for c in found if isinstance(the_kernel(c), Gaussian))
        for found in (
            isotropic(X, labels, "classification"),
            isotropic(X, np.eye(2)[labels], "regression"),
        )
    )
    assert_allclose(wide.bandwidth, 2.0 * narrow.bandwidth, rtol=1e-6)


def test_many_rows_are_compared_on_some() -> None:
    X, y = smooth(1200)
    found = isotropic(X, y, "regression")
    assert isinstance(the_kernel(found[0]), Gaussian)
    assert found[0].loo_error < 1e-3


# --- the estimators ----------------------------------------------------------------------------


def test_the_regressor_takes_the_lowest_error() -> None:
    X, y = additive()
    model = TwoStageRegressor().fit(X, y)
    assert isinstance(model.kernel_.kernels[0], Laplacian)
    assert model.kernel_.kernels[0].norm == 1.0
    own = clone(model).set_params(learner=model.candidates_[0].learner).fit(X, y)
    assert_array_equal(own.predict(X), model.predict(X))
    assert model.learner is None


def test_the_classifier_takes_the_most_accurate_of_the_near() -> None:
    X, y = additive()
    labels = (y > np.median(y)).astype(int)
    model = TwoStageClassifier().fit(X, labels)
    fitted = [TwoStageClassifier(c.learner).fit(X, labels) for c in comparable(model.candidates_)]
    scores = [other.cv_correct_.mean() for other in fitted]
    best = fitted[int(np.argmax(scores))]
    assert model.cv_correct_.mean() == max(scores)
    assert_array_equal(model.decision_function(X), best.decision_function(X))


def test_without_folds_the_error_decides() -> None:
    X, y = additive()
    model = TwoStageClassifier(C=1.0).fit(X, y > np.median(y))
    assert model.kernel_.kernels[0].theta == pytest.approx(the_kernel(model.candidates_[0]).theta)


# --- folds and grids ---------------------------------------------------------------------------


def test_a_sorted_table_is_shuffled_into_folds() -> None:
    """Rows in the order of an angle, whose folds without shuffling would be sectors."""
    angles = np.sort(np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, size=120))
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    y = (np.sin(3.0 * angles) > 0.0).astype(int)
    model = TwoStageClassifier(UniformCombination([Gaussian(0.3)])).fit(X, y)
    assert model.cv_correct_.mean() > 0.9


def test_folds_of_responses_are_shuffled() -> None:
    x = np.sort(np.random.default_rng(0).uniform(-3.0, 3.0, size=80))
    model = TwoStageRegressor(UniformCombination([Gaussian(1.0)]), nested=True)
    scores = model.fit(x[:, None], np.sin(x)).cv_results_
    assert min(scores[f"split{i}_test_score"].max() for i in range(5)) > 0.9


def test_alpha_is_searched_beyond_its_grid() -> None:
    x = np.linspace(0.0, 3.0, 40)
    model = TwoStageRegressor(UniformCombination([Gaussian(2.0)])).fit(x[:, None], np.sin(x))
    grid = model.cv_results_["param_alpha"]
    assert grid.min() < 1e-6
    assert_allclose(np.diff(np.log10(grid)), -0.5)
