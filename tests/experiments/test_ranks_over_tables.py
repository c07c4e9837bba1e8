"""Ranks over tables, and Holm's adjustment."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from experiments.reporting.ranks_over_tables import holm, rank


def test_the_critical_difference_is_that_of_demsar() -> None:
    """Demsar (2006, section 3.2.2): four methods on 14 data sets, 2.569 sqrt(20/84) = 1.25."""
    rng = np.random.default_rng(0)
    means = pd.DataFrame(rng.random((14, 4)), columns=list("abcd"))
    found = rank(means)
    assert_allclose(found.critical_difference, 2.569 * np.sqrt(20.0 / 84.0), atol=2e-3)
    assert_allclose(found.ranks.sum(), 10.0)
    assert found.p_value == pytest.approx(stats.friedmanchisquare(*means.to_numpy().T).pvalue)


def test_groups_are_the_largest_ones_without_a_difference() -> None:
    means = pd.DataFrame([[1.0, 2.0, 3.0, 4.0, 5.0]] * 8, columns=list("abcde"))
    found = rank(means)
    assert found.critical_difference == pytest.approx(2.157, abs=2e-3)
    assert found.groups() == [("a", "c"), ("b", "d"), ("c", "e")]
    assert rank(means.iloc[:1]).groups() == [("a", "e")]


def test_holm_multiplies_by_the_number_of_hypotheses_left() -> None:
    assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    assert_allclose(holm(np.array([0.5, 0.9])), [1.0, 1.0])
    assert holm(np.empty(0)).size == 0
