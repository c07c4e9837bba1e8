"""No estimator keeps an array of the caller: what is written into it after the fit changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from test_common import DEFAULTS, STAND_INS

from mercer import (
    L1SVM,
    AlignmentMaximization,
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    MKLRegressor,
    MultipleKernelClustering,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer.kernels import Gaussian

pytestmark = [
    pytest.mark.usefixtures("few_folds"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

_CHEAPER = {type(made): made for made in STAND_INS[:-1]}
ESTIMATORS = [_CHEAPER.get(type(made), made) for made in DEFAULTS]
KERNELS = [Gaussian(), "linear"]
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "array": np.array,
    "single": lambda X: np.array(X, dtype=np.float32),
    "frame": lambda X: pd.DataFrame(np.array(X), columns=list("abc"), copy=True),
    "csr": sp.csr_array,
}
ANSWERS = (
    *("predict", "predict_proba", "decision_function", "transform", "predict_interval"),
    *("predict_set", "kernel_matrix", "kernel_"),
)
ATTRIBUTES = (
    *("loo_score_", "loo_predictions_", "labels_", "weights_", "relevance_", "best_score_"),
    *("cv_residuals_", "cv_correct_", "support_", "alignment_", "classes_"),
)


def given(estimator: BaseEstimator, container: str = "array", **extra: bool) -> dict[str, Any]:
    """Arguments of a fit, all of them new arrays."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    if is_classifier(estimator):
        y = (y > np.median(y)).astype(int)
    elif get_tags(estimator).target_tags.positive_only:
        y = np.floor(np.exp(y))
    found = {"X": CONTAINERS[container](X), "y": y}
    if has_fit_parameter(estimator, "sample_weight"):
        found["sample_weight"] = rng.integers(1, 4, 40).astype(float)
    if has_fit_parameter(estimator, "groups"):
        found["groups"] = np.arange(40) // 2
    return found


def overwrite(found: Any) -> None:
    """Write other numbers into everything that can be written to."""
    if isinstance(found, dict | list | tuple):
        for part in found.values() if isinstance(found, dict) else found:
            overwrite(part)
    elif isinstance(found, pd.DataFrame):
        found.iloc[:, :] = 1e3 * found.to_numpy()[::-1] - 7.0
    elif sp.issparse(found):
        overwrite(found.data)
    else:
        found[...] = found[::-1].copy() if found.dtype.kind == "i" else 1e3 * found[::-1] - 7.0


def answers(model: Any, X: Any) -> dict[str, Any]:
    """What a fitted model answers for new rows, and what it tells of the fit."""
    found: dict[str, Any] = {}
    for name in ATTRIBUTES:
        if hasattr(model, name):
            found[name] = getattr(model, name)
    for name in ANSWERS:
        if hasattr(model, name):
            try:
                value = getattr(model, name)(X, X) if name == "kernel_" else getattr(model, name)(X)
            except (ValueError, TypeError) as error:
                value = str(error)
            found[name] = value
    return found


def check(estimator: Any, arguments: Callable[[], dict[str, Any]], X_new: Any) -> None:
    """Compare the answers of two fits, of which one is to arrays that are overwritten."""
    expected = answers(clone(estimator).fit(**arguments()), X_new)
    passed = arguments()
    model = clone(estimator).fit(**passed)
    overwrite(passed)
    found = answers(model, X_new)
    assert len(expected) > 1
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda made: type(made).__name__)
def test_what_is_written_after_the_fit_changes_nothing(
    estimator: BaseEstimator, container: str
) -> None:
    rng = np.random.default_rng(1)
    X_new = CONTAINERS[container](rng.normal(size=(7, 3)))
    check(estimator, lambda: given(estimator, container), X_new)
