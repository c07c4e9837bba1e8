"""Checks warn of made data, and seldom of clean data."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mercer.inspection._checks import LEAST_CORRELATION, Copies, Leakage, Shift, _column_shift
from mercer.inspection._columns import (
    ColumnValues,
    _rank_test,
    _rank_tests,
    columns_of,
    losses_by_column,
)
from mercer.inspection._held_out import Truth
from mercer.inspection._identifiers import Identifiers, intraclass_correlation
from mercer.inspection._time_order import TimeOrder, target_orders

N = 300


def columns(**values: Any) -> list[ColumnValues]:
    """Columns of numbers and categories by their names."""
    table = np.empty((len(next(iter(values.values()))), len(values)), dtype=object)
    for j, column in enumerate(values.values()):
        table[:, j] = list(column)
    found = columns_of(table)
    names = dict(zip([f"x{j}" for j in range(len(values))], values, strict=True))
    return [ColumnValues(names[c.name], c.kind, c.values, c.labels) for c in found]


def n_warnings(check: Any, n_draws: int = 100) -> int:
    return sum(bool(check(np.random.default_rng(seed)).warnings) for seed in range(n_draws))


def test_columns_of_text_are_what_the_encoder_reads() -> None:
    past = pd.DataFrame({"day": ["5.1.2019", "31.1.2019"], "price": ["1,5", "2,25"]})
    rows = pd.DataFrame({"day": ["1.2.2019"], "price": ["7"]})
    day, price = columns_of(rows, past)
    assert (day.kind, price.kind) == ("date", "number")
    np.testing.assert_array_equal(day.values - day.values[0], [0.0, 26.0, 27.0])
    np.testing.assert_array_equal(price.values, [1.5, 2.25, 7.0])


# Of 100 draws that warn with a probability of 1% each, more than five do in .05% of all cases.
MOST = 5


class TestLeakage:
    Y = np.random.default_rng(0).random(N) < 0.4

    def named(self, column: Any, y: Any) -> bool:
        task: Any = "regression" if np.asarray(y).dtype.kind == "f" else "classification"
        rng = np.random.default_rng(1)
        found = Leakage.of(columns(c=column, d=rng.normal(size=N)), np.asarray(y), task)
        told = "column 'c' alone predicts the target almost perfectly"
        assert all(told in text for text in found.warnings)
        return bool(found.warnings)

    def test_columns_that_tell_the_target_are_named(self) -> None:
        rng = np.random.default_rng(2)
        labels, response = np.where(self.Y, "left", "stays"), rng.normal(size=N)
        assert self.named(np.where(self.Y, rng.uniform(10, 99, N), 0.0), labels)
        assert self.named(np.where(self.Y, "closed", "open"), labels)
        assert self.named(np.datetime64("2024-01-01") + np.where(self.Y, 9, 0), labels)
        assert self.named(2 * response + 1, response)

    def test_text_that_tells_the_target_is_named(self) -> None:
        """Sentences of different ends, of which one word tells the class."""
        fillers = np.random.default_rng(3).choice(["north", "south", "river", "market"], (N, 5))

        def texts(told: Any) -> list[str]:
            words = np.where(told, "resolved", "pending")
            return [
                f"the {w} case {' '.join(f)} {n}"
                for n, (w, f) in enumerate(zip(words, fillers, strict=True))
            ]

        labels = np.where(self.Y, "left", "stays")
        assert self.named(texts(self.Y), labels)
        flipped = np.where(np.random.default_rng(4).random(N) < 0.1, ~self.Y, self.Y)
        assert not self.named(texts(flipped), labels)

    def test_good_columns_are_not(self) -> None:
        rng, labels = np.random.default_rng(5), np.where(self.Y, "left", "stays")
        flipped = np.where(rng.random(N) < 0.05, ~self.Y, self.Y)
        assert not self.named(np.where(flipped, "closed", "open"), labels)
        assert not self.named(rng.normal(size=N) + 2 * self.Y, labels)
        response = rng.normal(size=N)
        assert not self.named(response + 0.3 * rng.normal(size=N), response)
        # Where one class is rare, the constant errs seldom as well.
        assert not self.named(rng.normal(size=N), np.where(np.arange(N) < 3, "rare", "common"))
        assert not self.named(rng.normal(size=N), np.full(N, 2.0))


class TestCopies:
    def test_copies_within_the_training_rows_and_equal_categories_are_not(self) -> None:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
        X[:10], y[:10] = X[10:20], y[10:20]
        assert not Copies.of(columns_of(X), y, np.ones(20), "").warnings
        few, labels = rng.integers(0, 3, (100, 2)), rng.integers(0, 2, 100)
        assert not Copies.of(columns_of(few), labels, np.ones(20), "").warnings


class TestIdentifiers:
    def test_clean_columns_are_not(self) -> None:
        def noise(rng: Any) -> Any:
            table = columns(subject=np.repeat(np.arange(40), 8), code=rng.integers(0, 60, 320))
            return Identifiers.of(table, rng.standard_t(3, size=320))

        def smooth(rng: Any) -> Any:
            age = rng.integers(20, 80, 320)
            y = np.sin(age / 10.0) + 0.5 * rng.normal(size=320)
            return Identifiers.of(columns(age=age), y)

        def rare(rng: Any) -> Any:
            y = rng.random(320) < 0.1
            return Identifiers.of(columns(code=rng.integers(0, 60, 320)), y)

        assert n_warnings(noise) <= MOST
        assert n_warnings(smooth) <= MOST
        assert n_warnings(rare) <= MOST

    def test_columns_whose_new_values_are_predicted_as_well_are_not(self) -> None:
        """Amounts that most rows lack, and rounded values of another column."""
        rng = np.random.default_rng(0)
        gain = np.where(rng.random(600) < 0.9, 0, rng.integers(1, 60, 600) * 100)
        y = (gain > 0) + 0.1 * rng.normal(size=600)
        assert not Identifiers.of(columns(gain=gain, x=rng.normal(size=600)), y).columns
        z = rng.normal(size=600)
        power = np.round(70.0 + 15.0 * z)
        y = np.sin(8.0 * z) + 0.5 * rng.normal(size=600)
        codes = np.unique(power, return_inverse=True)[1]
        correlation, _ = intraclass_correlation(y, codes)
        assert correlation > LEAST_CORRELATION
        assert not Identifiers.of(columns(power=power, z=z), y).columns

    def test_at_most_three_are_named_the_gravest_first(self) -> None:
        rng = np.random.default_rng(0)
        names, n = [f"subject {k}" for k in range(5)], 900
        codes = rng.integers(0, 60, (5, n))
        effects = rng.normal(size=(5, 60)) * np.sqrt(np.array([1.0, 1.5, 2.0, 2.5, 5.0]))[:, None]
        y = sum(effect[code] for effect, code in zip(effects, codes, strict=True))
        table = columns(**dict(zip(names, codes, strict=True)))
        found = Identifiers.of(table, y + 0.1 * rng.normal(size=n))
        assert found.columns[0] == "subject 4"
        assert len(found.columns) <= 3

    def test_values_that_determine_the_target_are_named(self) -> None:
        rng = np.random.default_rng(0)
        codes = np.repeat(np.arange(40), 8)
        y = rng.normal(size=40)[codes]
        assert Identifiers.of(columns(subject=codes), y).columns == ("subject",)

    def test_the_correlation_is_that_of_the_analysis_of_variance(self) -> None:
        """For 2,000 groups of five rows, whose part of the variance is .3."""
        rng, codes = np.random.default_rng(0), np.repeat(np.arange(2000), 5)
        y = np.sqrt(0.3) * rng.normal(size=2000)[codes] + np.sqrt(0.7) * rng.normal(size=10_000)
        correlation, means = intraclass_correlation(y, codes)
        assert correlation == pytest.approx(0.3, abs=0.03)
        np.testing.assert_allclose(means, y.reshape(2000, 5).mean(axis=1))
        assert intraclass_correlation(np.ones(4), np.array([0, 0, 1, 1]))[0] == 0.0


class TestTimeOrder:
    def test_independent_residuals_are_not(self) -> None:
        def drawn(rng: Any) -> Any:
            residuals = rng.random((2, 80)) < 0.1
            return TimeOrder.of({"a": residuals[0], "b": residuals[1]}, {})

        assert n_warnings(drawn) <= MOST

    def test_targets_that_follow_dates_or_counters_are_told(self) -> None:
        rng = np.random.default_rng(0)
        walk, noise = np.cumsum(rng.normal(size=200)), rng.normal(size=200)
        days = np.datetime64("2024-01-01") + np.arange(200)
        table = columns(day=days, nr=np.arange(200), x=np.sort(noise), k=rng.integers(0, 9, 200))
        found = target_orders(table, Truth("regression", walk, np.empty(0)))
        assert set(found) == {"day", "nr"}
        check = TimeOrder.of({}, found)
        assert check.columns == ("day", "nr")
        assert "rows follow each other by 'day', and targets of neighbors" in check.warnings[0]
        assert not target_orders(table, Truth("regression", np.sort(walk), np.empty(0)))

    @pytest.mark.parametrize("far", ["9999-12-31", "1900-01-01"])
    def test_rows_of_a_date_that_may_stand_for_none_have_no_order(self, far: str) -> None:
        rng = np.random.default_rng(0)
        days = rng.permutation(np.datetime64("2024-01-01") + np.arange(200))
        is_open = rng.random(200) < 0.3
        y = np.where(is_open, 20.0, 0.0) + rng.normal(size=200)
        truth = Truth("regression", y, np.empty(0))
        table = columns(day=np.where(is_open, np.datetime64(far), days))
        assert not TimeOrder.of({}, target_orders(table, truth)).warnings

    def test_targets_of_no_order_are_not(self) -> None:
        days = np.datetime64("2024-01-01") + np.arange(80)

        def drawn(rng: Any) -> Any:
            truth = Truth("classification", rng.random(80) < 0.3, np.array([False, True]))
            return TimeOrder.of({}, target_orders(columns(day=days, nr=np.arange(80)), truth))

        assert n_warnings(drawn) <= MOST


class TestShift:
    def test_rows_of_one_distribution_are_not_told_apart(self) -> None:
        def grouped(rng: Any) -> Any:
            """Rows of a group are nearly equal."""
            groups = np.repeat(np.arange(40), 5)
            marks = rng.normal(size=(40, 2))[groups] + 0.01 * rng.normal(size=(200, 2))
            return Shift.of(columns_of(marks), 150, groups)

        assert n_warnings(grouped, 5) == 0


class TestLossesByColumn:
    def test_columns_by_which_losses_differ_are_listed_largest_first(self) -> None:
        rng = np.random.default_rng(0)
        x, kind = rng.random(500), rng.choice(["a", "b", "c"], 500)
        losses = np.abs(rng.normal(size=500)) * (0.2 + 2.0 * x + 0.6 * (kind == "c"))
        table = columns(noise=rng.normal(size=500), kind=kind, x=x)
        found = losses_by_column(table, losses, np.arange(500), are_shares=False)
        assert [one.column for one in found] == ["x", "kind"]
        assert len(found[0].labels) == 10
        assert np.argmax(found[1].losses) == found[1].labels.index("c")
        rows = np.flatnonzero(kind == "c")
        assert found[1].losses[2] == pytest.approx(np.median(losses[rows]))
        assert found[1].counts[2] == len(rows)

    def test_noise_is_listed_at_the_false_discovery_rate(self) -> None:
        """Rows of a group share their loss and the values of a column."""
        listed, groups = 0, np.repeat(np.arange(30), 4)
        for seed in range(50):
            rng = np.random.default_rng(seed)
            table = columns_of(rng.normal(size=(30, 5))[groups])
            losses = np.abs(rng.normal(size=30))[groups]
            listed += bool(losses_by_column(table, losses, groups, are_shares=False))
        # 5% of 50 draws, and two standard errors.
        assert listed <= 2.5 + 2 * np.sqrt(50 * 0.05 * 0.95)

    def test_what_is_listed_differs_in_what_is_shown(self) -> None:
        """Small differences of many rows are significant; a few large losses move means only."""
        rng = np.random.default_rng(0)
        kind, n = np.repeat(["a", "b"], 2000), np.arange(4000)
        losses = 1.0 + rng.random(4000) + 0.1 * (kind == "b")
        assert stats.kruskal(losses[:2000], losses[2000:]).pvalue < 1e-6
        assert losses_by_column(columns(kind=kind), losses, n, are_shares=False) == ()
        wrong = (rng.random(4000) < np.where(kind == "b", 0.9, 0.8)).astype(float)
        assert stats.kruskal(wrong[:2000], wrong[2000:]).pvalue < 1e-6
        assert losses_by_column(columns(kind=kind), wrong, n, are_shares=True) == ()
        losses += kind == "b"
        losses[0] = 1e6
        [found] = losses_by_column(columns(kind=kind), losses, n, are_shares=False)
        assert found.losses[1] > 1.2 * found.losses[0]
        assert found.losses == tuple(np.median(losses[kind == k]) for k in "ab")

    def test_times_of_day_have_no_date(self) -> None:
        minutes = np.random.default_rng(0).permutation(np.arange(0, 24 * 60, 6))
        clock = np.datetime64("1970-01-01T00:00") + minutes.astype("timedelta64[m]")
        losses = minutes / 1440.0
        [found] = losses_by_column(columns(clock=clock), losses, np.arange(240), are_shares=False)
        assert found.labels[0] == "00:00 to 02:18"
        assert found.labels[-1] == "21:36 to 23:54"
        days = np.datetime64("2024-01-01") + minutes.astype("timedelta64[D]")
        [found] = losses_by_column(columns(day=days), losses, np.arange(240), are_shares=False)
        assert found.labels[0] == "2024-01-01 to 2024-05-18"

    def test_missing_values_are_a_bin_and_small_bins_are_left_out(self) -> None:
        rng = np.random.default_rng(0)
        x = np.where(np.arange(100) < 20, np.nan, rng.random(100))
        kind = np.r_[["rare"] * 3, ["common"] * 97]
        losses = np.isnan(x) + 0.1 * rng.random(100)
        found = losses_by_column(columns(x=x, kind=kind), losses, np.arange(100), are_shares=False)
        assert [one.column for one in found] == ["x"]
        assert found[0].labels[-1] == "missing"
        assert found[0].counts[-1] == 20


def test_columns_are_tested_at_once_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(63, 12))
    values[:, 3:6] = values[:, 3:6].round(0)  # Equal values, and bins that are too small.
    values[5, 6] = np.nan
    values[:, 7] = 1.0
    found, losses = columns_of(values), rng.integers(0, 9, 63).astype(float)
    for column, test in zip(found, _rank_tests(found, losses), strict=True):
        expected = _rank_test(column, losses)
        assert (test is None) is (expected is None)
        if test is not None and expected is not None:
            np.testing.assert_allclose(test, expected, rtol=1e-10)
    values[40:, 4] += 1.0
    smallest = min((_column_shift(c, np.arange(63) >= 40), c.name) for c in columns_of(values))
    [told] = Shift.of(columns_of(values), 40, np.arange(63)).sentences
    assert f"'{smallest[1]}' differs most" in told


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_leak_is_found_among_many_columns(task: Any) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60) if task == "classification" else rng.normal(size=60)
    table = rng.normal(size=(60, 500))
    table[:, 77] = y if task == "classification" else np.round(y, 2)
    assert Leakage.of(columns_of(table), y, task).columns == ("x77",) * (task == "classification")
    more, names = np.tile(np.linspace(-1.0, 1.0, 40), 10), np.arange(400) % 40
    leak = [ColumnValues("leak", "category", names.astype(float), np.arange(40).astype(str))]
    assert Leakage.of(leak, more, "regression").columns == ("leak",)
