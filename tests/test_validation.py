"""Checks of parameters, and warnings that point at the caller's line."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from learner_cases import problem
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelOptimization
from mercer._validation import check_bool, check_choice, check_number, check_positive, warn
from mercer.kernels import Gaussian


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


def test_zero_is_not_positive() -> None:
    check_number("C", 0.0)
    with pytest.raises(ValueError, match=r"C must be positive; got 0\.0"):
        check_positive("C", 0.0)


def test_choices() -> None:
    check_choice("norm", None, (None, "trace"))
    with pytest.raises(ValueError, match=r'norm must be one of None, "trace"; got False'):
        check_choice("norm", False, (None, "trace"))


@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_booleans(value: Any) -> None:
    check_bool("normalize", np.True_)
    with pytest.raises(ValueError, match="normalize must be True or False; got"):
        check_bool("normalize", value)


def test_warnings_point_at_the_line_that_called_the_package() -> None:
    learner = KernelOptimization(Gaussian(ard=True), "cka", ard_penalty=0.0, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="The criterion still changed") as told:
        learner.fit(*problem("binary"))
    assert told[0].filename == __file__
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn("a message", ConvergenceWarning)
    assert found[0].filename == __file__
    assert found[0].category is ConvergenceWarning
