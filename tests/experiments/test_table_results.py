"""Groups of tables, and ranks over them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from synthetic_results import split_measures as entries
from synthetic_results import synthetic_results

from experiments.reporting.table_results import (
    LEAST,
    better_inputs,
    group,
    groups_of,
    holm,
    rank,
)

FIRST, SECOND, CLASSES = "concrete, n = 400", "pol, n = 400", "car, n = 400"


RESULTS = synthetic_results(
    {
        FIRST: {
            "stacking": entries([0.2, 0.21, 0.19], fit_seconds=0.5),
            "LightGBM": entries([0.4, 0.43, 0.37]),
            "LightGBM, encoded": entries([0.3, 0.33, 0.27], fit_seconds=3.0),
        },
        SECOND: {
            "stacking": entries([0.5, 0.5, 0.5]),
            "LightGBM": entries([0.4, 0.5, 0.36]),
            "LightGBM, encoded": entries([0.5, 0.6, 0.4]),
        },
        CLASSES: {"stacking": entries([0.0, 0.0]), "LightGBM": entries([0.01, 0.03])},
        "kin8nm, n = 400": {"stacking": entries([0.3])},
    }
)


def test_the_inputs_of_less_mean_error_are_kept_on_each_problem() -> None:
    found = better_inputs(RESULTS)
    assert "LightGBM, encoded" not in found.methods
    np.testing.assert_allclose(found.values("error", FIRST, "LightGBM"), [0.3, 0.33, 0.27])
    np.testing.assert_allclose(found.values("fit_seconds", FIRST, "LightGBM"), [3.0] * 3)
    np.testing.assert_allclose(found.values("error", SECOND, "LightGBM"), [0.4, 0.5, 0.36])
    np.testing.assert_allclose(found.values("error", CLASSES, "LightGBM"), [0.01, 0.03])
    assert better_inputs(found).frame.equals(found.frame)


def test_groups_are_tables_of_one_size_and_task() -> None:
    found = groups_of(better_inputs(RESULTS))
    assert {title: list(each.problems) for title, each in found.items()} == {
        "regression, n = 400": [FIRST, SECOND],
        "classification, n = 400": [CLASSES],
        "regression, sets of numbers": ["kin8nm, n = 400"],
    }
    assert found["regression, sets of numbers"].n_train is None
    assert found["classification, n = 400"].classes


def test_ratios_are_of_means_and_of_errors_that_are_not_zero() -> None:
    found = group(better_inputs(RESULTS), 400, classes=False)
    assert found.ratios("stacking")[FIRST] == pytest.approx(0.2 / 0.3)
    assert found.ratios("stacking")[SECOND] == pytest.approx(0.5 / 0.42)
    assert found.ratios("stacking", "LightGBM", "fit_seconds")[FIRST] == pytest.approx(0.5 / 3.0)
    classes = group(RESULTS, 400, classes=True)
    assert classes.ratios("stacking")[CLASSES] == pytest.approx(LEAST / (0.02 + LEAST))
    assert found.ratios("stacking", "grid search").empty


def test_wins_are_counted_by_means_and_by_the_corrected_test() -> None:
    found = group(better_inputs(RESULTS), 400, classes=False)
    assert found.lower("stacking", "LightGBM") == (1, 0, 1)
    assert found.lower("LightGBM", "stacking") == (1, 0, 1)
    assert found.lower("stacking", "stacking") == (0, 2, 0)
    significant = found.significant("stacking", "LightGBM")
    assert sum(significant) == 2
    assert found.losses("stacking", "LightGBM") == []
    native = group(RESULTS, 400, classes=False)
    assert native.comparison(FIRST, "stacking", "LightGBM").sign == -1
    assert native.losses("LightGBM", "stacking") == ["concrete"]


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


def test_the_test_over_tables_sees_which_method_is_better_on_each() -> None:
    """Of two tables, one is won and one lost: every assignment of signs is as far from zero."""
    assert group(RESULTS, 400, classes=False).p_value("stacking", "LightGBM") == 1.0
