"""Ranks of methods over several splits."""

import numpy as np
import pytest

pytest.importorskip("pandas")

from mercer_command.fitting import Comparison


def test_equal_errors_share_a_mean_rank() -> None:
    errors = np.array([[0.1, 0.2], [0.1, 0.1], [0.3, 0.3]])
    comparison = Comparison(("a", "b", "c"), errors, errors, errors)
    frame = comparison.as_frame()
    assert frame["method"].tolist() == ["b", "a", "c"]
    np.testing.assert_array_equal(frame["rank"], [1.25, 1.75, 3.0])


def test_ranks_come_before_errors() -> None:
    """The first method is better on two splits of three, and much worse on the third."""
    errors = np.array([[0.2, 0.2, 0.2], [0.1, 0.1, 0.9]])
    assert list(Comparison(("a", "b"), errors, errors, errors).as_frame()["method"]) == ["b", "a"]


def test_deviations_are_those_of_a_sample_of_splits() -> None:
    errors = np.array([[0.1, 0.2, 0.6]])
    frame = Comparison(("a",), errors, errors, errors).as_frame()
    np.testing.assert_allclose(frame["error_std"], np.sqrt(0.07))
    np.testing.assert_allclose(frame["test_alignment_std"], np.sqrt(0.07))
    one = Comparison(("a",), errors[:, :1], errors[:, :1], errors[:, :1])
    assert one.as_frame()["error_std"].tolist() == [0.0]
