"""Copies of rows are left out together by two-stage estimators, fits on features, and learners."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from mercer import (
    ContinuousAlignment,
    GradientOuterProduct,
    KernelStackingClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._data.copies import copies
from mercer.kernels import Gaussian, Laplacian

pytestmark = pytest.mark.filterwarnings("ignore:The best")
NYSTROEM: dict[str, Any] = {"approximation": "nystroem", "n_components": 60}
KERNELS = [Gaussian("median"), Laplacian("median")]
ESTIMATORS = [
    TwoStageClassifier(),
    TwoStageRegressor(GradientOuterProduct(n_iter=2)),
    TwoStageRegressor(**NYSTROEM),
    KernelStackingClassifier(KERNELS, **NYSTROEM),
    GradientOuterProduct(n_iter=3),
    ContinuousAlignment(Gaussian(ard=True), width_penalty="auto", tol=0.05),
]
NAMES = [type(e).__name__ + getattr(e, "approximation", "") for e in ESTIMATORS]


def joined(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of which a third of the first three quarters is there twice, and their numbers."""
    rng = np.random.default_rng(seed)
    kept = 3 * n // 4
    X = rng.normal(size=(kept, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + rng.normal(size=kept)
    rows = rng.permutation(np.concatenate([np.arange(kept), np.arange(n - kept)]))
    return X[rows], y[rows], rows


def targets(model: Any, y: np.ndarray) -> np.ndarray:
    return np.where(y > 0, "high", "low") if "Classifier" in type(model).__name__ else y


def learned(model: Any, X: np.ndarray) -> np.ndarray:
    """What a fitted estimator predicts, or the kernel of a learner."""
    if not hasattr(model, "predict"):
        return np.asarray(model.transform(X))
    found: np.ndarray = getattr(model, "predict_proba", model.predict)(X)
    return found


@pytest.mark.parametrize("model", ESTIMATORS, ids=NAMES)
def test_copies_are_groups_of_their_own(model: Any) -> None:
    X, y, rows = joined(60)
    y, groups = targets(model, y), copies(X, y)
    assert groups is not None
    assert_array_equal(groups[:, None] == groups, rows[:, None] == rows)
    found, told = clone(model).fit(X, y), clone(model).fit(X, y, groups=groups)
    assert_array_equal(learned(found, X), learned(told, X))


@pytest.mark.parametrize("settings", [{}, NYSTROEM], ids=["exact", "features"])
def test_scores_are_those_of_rows_that_were_drawn_anew(settings: Any) -> None:
    differences = []
    for seed in range(12):
        X, y, _ = joined(160, seed)
        new, expected, _ = joined(800, 100 + seed)
        model = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), **settings)
        scores = []
        for groups in (None, np.arange(160)):
            fit = clone(model).fit(X, y, groups=groups)
            scores.append(fit.cv_results_["mean_test_score"].max() - fit.score(new, expected))
        differences.append(scores)
    means = np.mean(differences, axis=0)
    errors = np.std(differences, axis=0, ddof=1) / np.sqrt(12)
    assert abs(means[0]) < 2.0 * errors[0]
    # Without groups, copies of a row predict it.
    assert means[1] - means[0] > 0.05


@pytest.mark.parametrize("model", [TwoStageRegressor(cv=3), TwoStageClassifier(cv=3)])
def test_copies_are_not_sought_where_folds_are_given(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mercer._data.copies.copies", pytest.fail)
    X, y, rows = joined(60)
    model.fit(X, targets(model, y))
    model.set_params(cv=None).fit(X, targets(model, y), groups=rows)


def test_intervals_count_copies_once() -> None:
    X, y, _ = joined(12)
    model = TwoStageRegressor().fit(X, y)
    # Nine rows, of which three are there twice.
    assert np.isfinite(model.predict_interval(X, coverage=0.9)).all()
    assert np.isinf(model.predict_interval(X, coverage=0.91)).all()


@pytest.mark.parametrize("C", ["auto", 1.0])
def test_classes_of_one_row_each_are_fitted(C: Any) -> None:
    X = np.repeat([[0.1, 0.5], [0.7, 0.2]], 6, axis=0)
    model = TwoStageClassifier(C=C).fit(X, np.repeat(["a", "b"], 6))
    assert_array_equal(model.predict(X[[0, 6]]), ["a", "b"])


def test_a_given_penalty_is_calibrated_in_as_many_folds_as_groups() -> None:
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(30, 2)), np.arange(30) % 3
    model = TwoStageClassifier(C=1.0).fit(X, X[:, 0] > 0, groups=groups)
    assert np.isfinite(model.predict_proba(X)).all()
