"""Records as a table: queries, paired tests, ranks and trends."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from synthetic_results import errors_of_tasks, synthetic_results

from experiments.reporting.results import (
    LEVEL,
    axis,
    compare,
    median_ranks,
    rank_correlation,
    trend,
    win_tie_loss,
)

RESULTS = synthetic_results(
    {
        "p": {"a": {"error": [1, 2, 3]}, "b": {"error": [2, 3.1, 4.2]}},
        "q": {"a": {"error": [1, 2]}, "b": {"error": [0, 9, 4]}, "c": {"error": [1]}},
    }
)


def test_values_are_found_by_problem_and_method() -> None:
    assert RESULTS.mean("error", "p", "a") == 2.0
    assert np.isnan(RESULTS.mean("error", "p", "c"))
    assert RESULTS.values("absent", "p", "a").size == 0
    assert RESULTS.repeats("q", "a") == 2
    assert RESULTS.tried("error", "a", "b") == ["p", "q"]
    assert RESULTS.tried("error", "a", "c") == ["q"]


def test_ratios_are_of_means_that_both_methods_have() -> None:
    assert RESULTS.ratios("error", "b", "a") == {
        "p": pytest.approx(1.55),
        "q": pytest.approx(26 / 9),
    }
    assert RESULTS.ratios("error", "c", "a") == {"q": pytest.approx(2 / 3)}
    assert RESULTS.ratios("error", "a", "b", ["p"]) == {"p": pytest.approx(1 / 1.55)}


def test_results_are_complete_where_every_method_has_a_record() -> None:
    assert not RESULTS.complete
    assert not RESULTS.timed
    known = RESULTS.frame[RESULTS.frame["method"] != "c"]
    methods = {name: RESULTS.experiment.methods[name] for name in "ab"}
    assert type(RESULTS)(replace(RESULTS.experiment, methods=methods), known).complete
    limited = replace(RESULTS.experiment, limits={("p", "c"): 0})
    assert type(RESULTS)(limited, RESULTS.frame).complete


def test_pairs_are_of_repeats_that_both_methods_have() -> None:
    first, second = RESULTS.pairs("error", "q", "a", "b")
    np.testing.assert_array_equal([first, second], [[1, 2], [0, 9]])


def with_t_statistic(t: float) -> np.ndarray:
    """Three differences whose t-statistic, of two degrees of freedom, is given."""
    return t / np.sqrt(3.0) + np.array([-1.0, 0.0, 1.0])


def test_the_paired_test_is_two_tailed_at_five_percent() -> None:
    """Student's t of two degrees of freedom is beyond 4.303 with probability 0.05."""
    assert LEVEL == 0.05
    zeros = np.zeros(3)
    assert_allclose(compare(with_t_statistic(4.3027), zeros).p_value, 0.05, rtol=1e-4)
    assert [compare(with_t_statistic(t), zeros).sign for t in (4.2, 4.4)] == [0, 1]
    assert [compare(with_t_statistic(-t), zeros).sign for t in (4.2, 4.4)] == [0, -1]


def test_equal_differences_are_certain_from_three_pairs_on() -> None:
    assert compare(np.array([1.0]), np.array([2.0])).sign == 0
    assert compare(np.zeros(2), np.ones(2)).sign == 0
    assert compare(np.zeros(2), np.array([1.0, 1.001])).sign == 0
    assert compare(np.ones(3), np.zeros(3)).sign == 1
    assert compare(np.ones(3), np.ones(3)).sign == 0
    assert compare(np.empty(0), np.empty(0)).n_pairs == 0


def test_wins_are_problems_on_which_the_first_method_has_less() -> None:
    assert win_tie_loss(RESULTS, "error", "a", "b") == (1, 1, 0)
    assert win_tie_loss(RESULTS, "error", "b", "a") == (0, 1, 1)
    assert win_tie_loss(RESULTS, "error", "a", "c") == (0, 1, 0)
    three = errors_of_tasks({"a": [1.0, 3.0, 2.0], "b": [2.0, 1.0, 4.0]}, n_repeats=3)
    assert win_tie_loss(three, "error", "a", "b") == (2, 0, 1)


def test_median_ranks_share_ties_and_pass_over_gaps() -> None:
    means = pd.DataFrame({"a": [1.0, 1.0, 3.0], "b": [2.0, 1.0, 1.0], "c": [3.0, np.nan, 2.0]})
    assert median_ranks(means).to_dict() == {"a": 1.5, "b": 1.5, "c": 2.5}


def test_rank_correlations_need_three_pairs_that_vary() -> None:
    x = np.array([1.0, 2.0, 3.0, np.nan])
    assert rank_correlation(x, np.array([0.1, 0.4, 9.0, 0.0])) == pytest.approx(1.0)
    assert rank_correlation(x, -x) == pytest.approx(-1.0)
    assert np.isnan(rank_correlation(x, np.array([1.0, np.nan, 2.0, 3.0])))
    assert np.isnan(rank_correlation(x, np.ones(4)))


@pytest.mark.parametrize("shared", [0.0, 0.25])
def test_the_correction_for_shared_rows_is_that_of_nadeau_and_bengio(shared: float) -> None:
    """Their variance is (1/J + n_test/n_train) s^2; without shared rows, that of the t-test."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 5)) + np.array([[1.0], [0.0]])
    d = first - second
    t = d.mean() / np.sqrt((1.0 / 5.0 + shared) * d.var(ddof=1))
    found = compare(first, second, **({"test_to_train": shared} if shared else {}))
    assert found.difference == pytest.approx(d.mean())
    assert_allclose(found.p_value, 2.0 * stats.t.sf(abs(t), 4), rtol=1e-12)


ALONG = synthetic_results(
    {
        f"gamma={gamma}": {"DA": {"error": [rank + 0.01 * repeat for repeat in range(3)]}}
        for rank, gamma in enumerate((0, 5, 40))
    }
)


def test_a_trend_is_the_change_from_the_first_problem_to_the_last() -> None:
    places = axis(ALONG, "gamma")
    assert list(places.values()) == [0.0, 5.0, 40.0]
    change, p_value = trend(ALONG, "error", "DA", places)
    assert change == pytest.approx(2.0)
    assert p_value < 1e-6
