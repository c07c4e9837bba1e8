"""Tables and candidates that the tests of stacking share."""

from typing import Any

import numpy as np

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._data.encoded_targets import EncodedTarget
from mercer._data.resampling import Together
from mercer._data.weights import as_weights
from mercer._estimators.stacking.candidates import Candidate
from mercer._estimators.stacking.evaluation import Evaluation, RidgeSolver, ViewedSample
from mercer._estimators.stacking.selection import SelectionRule
from mercer.kernels import Kernel

RULE, CLASS_RULE = (
    SelectionRule(max_samples=1000, scoring=None, random_state=0, classifies=classifies)
    for classifies in (False, True)
)

ESTIMATORS = [KernelStackingRegressor, KernelStackingClassifier]


def problem(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Samples, and responses that depend on two of the features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1 % d] ** 2 + 0.1 * rng.normal(size=n)


def labels(y: np.ndarray) -> np.ndarray:
    """Three classes of responses."""
    return np.array(["low", "middle", "high"])[np.digitize(y, [0.3, 1.2])]


def target_for(estimator: Any, y: np.ndarray) -> np.ndarray:
    """Responses for regression, and classes of them for classification."""
    return y if issubclass(estimator, KernelStackingRegressor) else labels(y)


def outputs(model: Any, X: Any) -> np.ndarray:
    """Predicted responses or probabilities, checked to be finite, and probabilities to sum to one.

    Leave-one-out scores, relevances and intervals are checked as well.
    """
    assert np.isfinite(model.loo_score_)
    assert np.isfinite(model.relevance_).all()
    assert np.isfinite(model.weights_).all()
    if not hasattr(model, "predict_proba"):
        found = model.predict(X)
        assert np.isfinite(found).all()
        assert np.isfinite(model.loo_predictions_).all()
        if found.ndim == 1:
            intervals = model.predict_interval(X)
            assert (intervals[:, 0] <= intervals[:, 1]).all()
        return np.asarray(found)
    found = model.predict_proba(X)
    assert (found >= 0.0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert set(model.predict(X)) <= set(model.classes_)
    return np.asarray(found)


def viewed(X: Any, y: Any, target: EncodedTarget) -> ViewedSample:
    """A table with one view."""
    return ViewedSample({"given": X}, y, target.weights, target=target)


def values_target(Y: np.ndarray, weights: np.ndarray | None = None) -> EncodedTarget:
    """Responses as they are."""
    k = Y.shape[1]
    weights = as_weights(weights, len(Y))
    return EncodedTarget(np.zeros(k), np.ones(k), None, Y, None, weights, Together(len(Y)))


def ridge_evaluation(kernel: Kernel, alpha: float, deviations: np.ndarray) -> Evaluation:
    """A candidate that was evaluated by ridge regression."""
    candidate = Candidate(["a kernel"], "given", lambda X, y, target: [kernel])
    solver = RidgeSolver(alpha)
    return Evaluation("a kernel", kernel, solver, deviations, 0.5, candidate)
