"""No estimator keeps an array of the caller: what is written into it later changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from campaign import rotating
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from test_common import ESTIMATORS

from mercer import (
    AlignmentMaximization,
    BayesianMKLRegressor,
    HSICClustering,
    KernelLogisticRegression,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    MultipleKernelClustering,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian, OnColumns

pytestmark = [
    pytest.mark.usefixtures("few_folds"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

KERNELS = [Gaussian(1.0), Gaussian(3.0)]
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "array": np.array,
    "single": lambda X: np.array(X, dtype=np.float32),
    "frame": lambda X: pd.DataFrame(np.array(X), columns=list("abc"), copy=True),
    "csr": sp.csr_array,
}
ANSWERS = (
    *("predict", "predict_proba", "decision_function", "transform", "predict_interval"),
    *("predict_set", "kernel_matrix"),
)


def given(estimator: BaseEstimator, container: str = "array") -> dict[str, Any]:
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
    """What a fitted model answers for new rows, and all public numbers that it holds."""
    names = ANSWERS[:-2] if getattr(model, "_is_multilabel", False) else ANSWERS
    found = {name: getattr(model, name)(X) for name in names if hasattr(model, name)}
    held = {name: getattr(model, name) for name in dir(type(model)) if name.startswith("loo_")}
    held |= {name: value for name, value in vars(model).items() if name.endswith("_")}
    for name, value in held.items():
        if isinstance(value, np.ndarray | float | int) or sp.issparse(value):
            found[name] = value
    if getattr(model, "X_fit_", None) is not None:
        found["kernel"] = model.kernel_(X, model.X_fit_)
    return {k: v.toarray() if sp.issparse(v) else np.asarray(v) for k, v in found.items()}


def check(estimator: Any, arguments: Callable[[], dict[str, Any]], X_new: Any) -> None:
    """Compare the answers of two fits, of which one is to arrays that are overwritten."""
    expected = answers(clone(estimator).fit(**arguments()), X_new)
    passed = arguments()
    model = clone(estimator).fit(**passed)
    overwrite(passed)
    found = answers(model, X_new)
    assert len(expected) > 1
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def new_rows(container: str) -> Any:
    """Rows that are predicted."""
    return CONTAINERS[container](np.random.default_rng(1).normal(size=(7, 3)))


@pytest.mark.parametrize(
    ("estimator", "container"),
    rotating(ESTIMATORS, ["array", "frame", "csr", "single"]),
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_written_after_the_fit_changes_nothing(
    estimator: BaseEstimator, container: str
) -> None:
    if container == "csr" and not get_tags(estimator).input_tags.sparse:
        container = "array"
    check(estimator, lambda: given(estimator, container), new_rows(container))


STACKS = [
    KernelStackingRegressor(["linear", AlignmentMaximization(KERNELS)]),
    KernelStackingClassifier(["linear"]),
]
TWO_STAGE = [TwoStageRegressor(), TwoStageClassifier(C=1.0)]
NAMED = OnColumns(Gaussian("median"), ["c", "a"])
OTHERS: list[tuple[Any, str]] = [
    (STACKS[0], "array"),
    (STACKS[1], "csr"),
    (KernelStackingRegressor(["default", NAMED]), "frame"),
    (KernelStackingRegressor([NAMED], approximation="nystroem", n_components=20), "frame"),
    (KernelStackingClassifier(["linear"], approximation="nystroem", n_components=20), "array"),
    (TwoStageRegressor(approximation="nystroem", n_components=20), "array"),
    (TwoStageClassifier(approximation="nystroem", n_components=20), "array"),
]


@pytest.mark.parametrize(("estimator", "container"), OTHERS)
def test_stacks_and_fits_on_features_keep_no_array(estimator: Any, container: str) -> None:
    check(estimator, lambda: given(estimator, container), new_rows(container))


@pytest.mark.parametrize("estimator", [*STACKS, *TWO_STAGE], ids=lambda made: type(made).__name__)
def test_folds_are_not_kept(estimator: Any) -> None:
    def arguments() -> dict[str, Any]:
        return {name: value for name, value in given(estimator).items() if name != "groups"}

    def folds() -> list[tuple[Any, Any]]:
        rows = np.random.default_rng(2).permutation(40)
        return [
            (np.sort(np.delete(rows, part)), rows[part].copy()) for part in (np.s_[:20], np.s_[20:])
        ]

    models, lists = [], [folds(), folds()]
    for listed in lists:
        models.append(clone(estimator).set_params(cv=listed).fit(**arguments()))
    overwrite(models[1].cv)
    expected, found = (answers(model, new_rows("array")) for model in models)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize(
    ("estimator", "container"),
    [(STACKS[0], "frame"), (STACKS[1], "array"), (TWO_STAGE[0], "array")],
)
def test_rows_of_updates_are_not_kept(estimator: Any, container: str) -> None:
    def updated(change: Callable[[Any], None]) -> Any:
        features = {"approximation": "nystroem", "n_components": 10}
        found = clone(estimator).set_params(**features).fit(**given(estimator, container))
        found.prepare_updates(
            **{k: v for k, v in given(estimator, container).items() if k != "groups"}
        )
        arguments = {k: v for k, v in given(estimator, container).items() if k != "groups"}
        found.update(**arguments)
        change(arguments)
        return answers(found, new_rows(container))

    expected, found = updated(lambda _: None), updated(overwrite)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


WITH_GRAMS: list[Any] = [
    AlignmentMaximization("precomputed"),
    HSICClustering(kernel="precomputed"),
    MultipleKernelClustering("precomputed"),
    TwoStageRegressor(UniformCombination("precomputed")),
    MKLClassifier("precomputed", loss="logistic"),
    BayesianMKLRegressor("precomputed", n_starts=1),
    KernelLogisticRegression("precomputed", alpha=1.0),
]


@pytest.mark.parametrize("estimator", WITH_GRAMS, ids=lambda made: type(made).__name__)
@pytest.mark.parametrize("layout", ["last", "list"])
def test_given_gram_matrices_are_not_kept(estimator: Any, layout: str) -> None:
    table, rows = given(estimator)["X"], new_rows("array")
    kernels = KERNELS[:1] if isinstance(estimator, HSICClustering) else KERNELS

    def grams(X: Any) -> Any:
        found = [kernel(X, table) for kernel in kernels]
        return found if layout == "list" else np.stack(found, axis=2)

    check(estimator, lambda: {**given(estimator), "X": grams(table)}, grams(rows))
