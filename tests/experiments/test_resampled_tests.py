"""The corrected resampled t-test, ranks over tables and Holm's adjustment."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from experiments.reporting.resampled_tests import compare_splits, holm, rank


def test_with_all_rows_in_use_the_correction_is_that_of_nadeau_and_bengio() -> None:
    """Their variance is (1/J + n_test/n_train) s^2."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 5)) + np.array([[1.0], [0.0]])
    d = first - second
    t = d.mean() / np.sqrt((1.0 / 5.0 + 100.0 / 400.0) * d.var(ddof=1))
    found = compare_splits(first, second, n_test=100, n_rows=500)
    assert found.difference == pytest.approx(d.mean())
    assert_allclose(found.p_value, 2.0 * stats.t.sf(abs(t), 4), rtol=1e-12)


def test_without_shared_rows_the_test_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 6))
    expected = stats.ttest_rel(first, second).pvalue
    assert_allclose(compare_splits(first, second, n_test=0, n_rows=9).p_value, expected)


def test_the_more_rows_a_test_shares_the_less_is_significant() -> None:
    first, second = np.array([1.0, 1.2, 0.9, 1.1, 1.0]), np.zeros(5)
    p_values = [
        compare_splits(first, second, n_test=n_test, n_rows=1000).p_value
        for n_test in (10, 100, 500, 990)
    ]
    assert p_values == sorted(p_values)
    assert compare_splits(first, second, n_test=10, n_rows=1000).sign == 1
    assert compare_splits(second, first, n_test=10, n_rows=1000).sign == -1


def test_few_splits_and_equal_errors_are_not_significant() -> None:
    assert compare_splits(np.ones(2), np.zeros(2), n_test=1, n_rows=9).sign == 0
    assert compare_splits(np.ones(4), np.ones(4), n_test=1, n_rows=9).sign == 0
    assert compare_splits(np.ones(4), np.zeros(4), n_test=1, n_rows=9).sign == 1
    assert compare_splits(np.empty(0), np.empty(0), n_test=1, n_rows=9).n_pairs == 0


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
