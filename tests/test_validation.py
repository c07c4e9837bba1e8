"""Checks of parameters and targets, and warnings that point at the caller's line."""

import warnings
from datetime import date, timedelta
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from learner_cases import ESTIMATORS, problem
from numpy.testing import assert_allclose
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from mercer import KernelOptimization, KernelStackingRegressor
from mercer._data.validation import check_bool, check_choice, check_number, check_positive, warn
from mercer.kernels import Gaussian

pytestmark = pytest.mark.usefixtures("few_folds")
SUPERVISED = [name for name, make in ESTIMATORS.items() if get_tags(make()).target_tags.required]
OF_RESPONSES = [name for name in SUPERVISED if not is_classifier(ESTIMATORS[name]())]
OF_LABELS = [name for name in SUPERVISED if not is_regressor(ESTIMATORS[name]())]
SQUARING = {"BayesianMKLRegressor", "ContinuousMKLRegressor", "L2KRR", "MKLRegressor"}
"""Objectives or variances in the squared unit of the responses are among their attributes."""


@pytest.mark.parametrize(
    ("value", "options", "kind", "message"),
    [
        (None, {}, TypeError, "tol must be an instance of float, not NoneType"),
        ("1", {}, TypeError, "tol must be an instance of float, not str"),
        (2.5, {"whole": True}, TypeError, "tol must be an instance of int, not float"),
        (np.nan, {}, ValueError, "tol must be finite and not negative; got nan"),
        (np.inf, {}, ValueError, "tol must be finite and not negative; got inf"),
        (-1, {}, ValueError, "tol must be finite and not negative; got -1"),
        (0, {"low": 1}, ValueError, "tol must be at least 1; got 0"),
    ],
)
def test_numbers(value: Any, options: dict[str, Any], kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        check_number("tol", value, **options)
    check_number("tol", 1, **options)


def test_choices_and_booleans() -> None:
    check_choice("norm", None, (None, "trace"))
    with pytest.raises(ValueError, match=r'norm must be one of None, "trace"; got False'):
        check_choice("norm", False, (None, "trace"))
    check_bool("normalize", np.True_)
    for value in (0, 1, "yes", None):
        with pytest.raises(ValueError, match="normalize must be True or False; got"):
            check_bool("normalize", value)
    with pytest.raises(ValueError, match=r"C must be positive; got 0\.0"):
        check_positive("C", 0.0)


def test_warnings_point_at_the_line_that_called_the_package() -> None:
    learner = KernelOptimization(Gaussian(ard=True), "cka", width_penalty=0.0, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="The criterion still changed") as told:
        learner.fit(*problem("binary"))
    assert told[0].filename == __file__
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn("a message", ConvergenceWarning)
    assert found[0].filename == __file__
    assert found[0].category is ConvergenceWarning


# --- values of targets -------------------------------------------------------------------------


DATES = np.datetime64("2024-01-01") + np.arange(30).astype("timedelta64[D]")
MOMENTS = {
    "dates": DATES,
    "durations": DATES - DATES[0],
    "pandas": pd.Series(DATES).dt.tz_localize("UTC"),
    "objects": [date(2024, 1, 1) + timedelta(days=k) for k in range(30)],
}


@cache
def found(name: str, factor: float) -> np.ndarray:
    """Predictions in the unit of the responses, or what a learner or selector makes of X."""
    X, y = problem("regression", 30)
    model = ESTIMATORS[name]().fit(X, factor * y)
    return np.asarray(model.predict(X) / factor if is_regressor(model) else model.transform(X))


@pytest.mark.parametrize(("factor", "size"), [(1e300, "large"), (1e-300, "small")])
@pytest.mark.parametrize("name", sorted({*OF_RESPONSES} - {"KernelPoissonRegressor"}))
@pytest.mark.filterwarnings("ignore:No number of centers")
def test_responses_of_any_magnitude_are_learned_or_refused(
    name: str, factor: float, size: str
) -> None:
    # The noise of a count is in proportion to the root of its size, so that the unit matters.
    if name in SQUARING:
        with pytest.raises(ValueError, match=f"Input y contains .*values too {size} to be squared"):
            found(name, factor)
    else:
        assert_allclose(found(name, factor), found(name, 1.0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", OF_RESPONSES)
def test_responses_that_are_missing_or_have_no_sum_are_refused(name: str) -> None:
    X, y = problem("regression", 30)
    with pytest.raises(ValueError, match="Input y contains values too large to be summed"):
        ESTIMATORS[name]().fit(X, y / np.abs(y).max() * np.finfo(float).max)
    with pytest.raises(ValueError, match="Input y contains None"):
        ESTIMATORS[name]().fit(X, [None, *y[1:]])


@pytest.mark.parametrize("kind", MOMENTS)
def test_dates_are_no_targets(kind: str) -> None:
    X, _ = problem("regression", 30)
    for name in SUPERVISED:
        with pytest.raises(ValueError, match="y holds dates or durations; pass numbers"):
            ESTIMATORS[name]().fit(X, MOMENTS[kind])


@pytest.mark.parametrize(("missing", "shown"), [(None, "None"), (np.nan, "NaN"), (pd.NA, "NA")])
def test_missing_labels_are_refused(missing: Any, shown: str) -> None:
    X, y = problem("regression", 30)
    labels = np.where(y > np.median(y), "yes", "no").astype(object)
    labels[3] = missing
    for name in OF_LABELS:
        with pytest.raises(ValueError, match=f"Input y contains {shown}"):
            ESTIMATORS[name]().fit(X, labels)


def test_targets_of_samples_of_many_rows_are_checked() -> None:
    X, _ = problem("regression", 30)
    model = KernelStackingRegressor(approximation="nystroem", max_samples=20)
    with pytest.raises(ValueError, match="y holds dates or durations; pass numbers"):
        model.fit(X, DATES)
