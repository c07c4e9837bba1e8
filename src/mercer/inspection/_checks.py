"""Checks of a report, a class each: reasons why scores on held-out rows may be misleading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from scipy import stats
from sklearn.ensemble import ExtraTreesClassifier

from mercer._data.copies import copies
from mercer._data.types import Array
from mercer._data.validation import ROUNDING
from mercer.inspection._columns import Column, column_bins
from mercer.inspection._coverage import Coverage
from mercer.inspection._held_out import PredictorScores, Task, style_of
from mercer.inspection._intervals import CONFIDENCE, Estimate

LEVEL = 0.01
"""Level of the tests of the checks: of tables without faults, at most this share is reported."""

LEAST_CORRELATION = 0.1
"""Smaller correlations are not reported, even if they are significant because of many rows."""


@dataclass(frozen=True)
class Check:
    """A check, and what it has found.

    Attributes
    ----------
    code : str
        Name of the check, the same for all of its class.
    severity : {"error", "warning"}
        "error" if a finding makes the model or its scores worthless.
    advice : str
        Remedy with the estimators of this library; empty if the sentences contain it.
    sentences : tuple of str
        One for each finding, without a period; empty if nothing was found.
    columns : tuple of str
        The column to which each sentence refers; an empty text if it refers to no column.
    """

    code: ClassVar[str]
    severity: ClassVar[Literal["error", "warning"]] = "warning"
    advice: ClassVar[str] = ""

    sentences: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            object.__setattr__(self, "columns", ("",) * len(self.sentences))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The sentences, with the advice."""
        return tuple("; ".join(filter(None, (told, self.advice))) for told in self.sentences)


class NoBetterThanConstant(Check):
    """The model is not significantly better than a constant."""

    code = "constant"
    severity = "error"

    @classmethod
    def of(cls, is_better: bool, ratio: Estimate | None, metric: str, task: Task) -> Self:
        """Check the comparison of a model with the constant.

        Parameters
        ----------
        is_better : bool
        ratio : Estimate or None
            Ratio of the mean errors.
        metric : str
            The first score.
        task : {"classification", "regression"}
        """
        if is_better:
            return cls()
        told = (
            "on the held-out rows, the model is not better than a constant prediction, beyond what "
            "chance explains"
        )
        if ratio is None:
            return cls((told,))
        scales = {"log_rmse": "squared error of the logarithms", "poisson_deviance": "deviance"}
        of = scales.get(metric, "squared error")
        of = "squared error of the probabilities" if task == "classification" else of
        ends = f"{ratio.low:.2f} to {ratio.high:.2f}"
        return cls(
            (f"{told}: its {of} is {ratio.value:.2f} of the constant's (95% interval {ends})",)
        )


class Copies(Check):
    """Held-out rows are copies of training rows."""

    code = "copies"

    @classmethod
    def of(cls, columns: list[Column], y: Array, losses: Array, unit: str) -> Self:
        """Check which held-out rows are copies, and how they affect the error.

        Parameters
        ----------
        columns : list of Column
            Columns with the training rows followed by the held-out rows.
        y : ndarray of shape (n_train + n_rows,)
        losses : ndarray of shape (n_rows,)
            Losses of the held-out rows.
        unit : {"error", "mean absolute error"}
            Name of the mean of the losses.
        """
        if not columns:
            return cls()
        table = np.nan_to_num(np.column_stack([column.values for column in columns]), nan=-1.0)
        codes = np.unique(y, return_inverse=True)[1].astype(float)
        numbers, n_train = copies(table, codes), len(y) - len(losses)
        copied = np.zeros(len(losses), bool)
        if numbers is not None:
            copied = np.isin(numbers[n_train:], numbers[:n_train])
        if copied.mean() < 0.02:  # Such a small share hardly changes a score.
            return cls()
        digits = ".1%" if unit == "error" else ".4g"
        shares = [f"{losses[copied].mean():{digits}} on these"]
        if not copied.all():
            shares.append(f"{losses[~copied].mean():{digits}} on the others, as on new rows")
        counts = f"{copied.mean():.1%} of the held-out rows ({copied.sum():,} of {len(losses):,})"
        return cls((f"{counts} are copies of training rows: {unit} {', '.join(shares)}",))


class SharedGroups(Check):
    """Groups have both held-out and training rows."""

    code = "groups"

    @classmethod
    def of(cls, groups: Array, known: Array) -> Self:
        """Check how many groups have both.

        Parameters
        ----------
        groups : ndarray of shape (n_rows,)
            Name of the group of each held-out row.
        known : ndarray of shape (n_train,)
            Name of the group of each training row.
        """
        names = np.unique(groups)
        if not (shared := int(np.isin(names, known).sum())):
            return cls()
        return cls(
            (
                f"{shared} of {len(names)} groups have rows in the training rows as well: the "
                "scores do not hold for new groups; hold out whole groups",
            )
        )


class Shift(Check):
    """Held-out rows differ from training rows."""

    code = "shift"

    @classmethod
    def of(
        cls,
        columns: list[Column],
        n_train: int,
        units: Array,
        *,
        seed: int = 0,
        max_rows: int = 2000,
    ) -> Self:
        """Check whether rows can be told apart, and in which column they differ most.

        Parameters
        ----------
        columns : list of Column
            Columns with the training rows followed by the held-out rows.
        n_train : int
        units : ndarray of int of shape (n_rows,)
            Unit of each row. No unit has both training and held-out rows.
        seed : int, default=0
        max_rows : int, default=2000
            Maximum number of rows that are drawn from the training rows and from the held-out rows.

        Notes
        -----
        This is a classifier two-sample test [1]_: randomized trees are fitted to half of the units
        to distinguish held-out rows from training rows, and the mean probabilities of the other
        units are compared by the Mann-Whitney test. Each column is also tested alone, by the
        Kolmogorov-Smirnov test for numbers and by the chi-squared test for categories. Both
        approaches use half of the level.

        References
        ----------
        .. [1] Lopez-Paz, Oquab (2017). Revisiting classifier two-sample tests. ICLR.
        """
        rng, n = np.random.default_rng(seed), len(units)
        drawn = (rng.permutation(n_train), n_train + rng.permutation(n - n_train))
        rows = np.concatenate([each[:max_rows] for each in drawn])
        is_new, owners = rows >= n_train, np.unique(units[rows], return_inverse=True)[1]
        new_unit = np.bincount(owners, is_new) > 0
        learned = np.zeros(len(new_unit), bool)
        for kind in (True, False):
            members = rng.permutation(np.flatnonzero(new_unit == kind))
            learned[members[: len(members) // 2]] = True
        if not columns or min(np.sum(new_unit[learned]), np.sum(~new_unit[learned])) < 1:
            return cls()
        table = np.column_stack([column.values[rows] for column in columns])
        # Leaves of several rows and all columns in each split also detect a shift of one in many.
        model = ExtraTreesClassifier(min_samples_leaf=10, max_features=None, random_state=0)
        model.fit(table[learned[owners]], is_new[learned[owners]])
        means = np.bincount(owners, model.predict_proba(table)[:, 1]) / np.bincount(owners)
        new, old = means[~learned & new_unit], means[~learned & ~new_unit]
        statistic, p_value = stats.mannwhitneyu(new, old, alternative="greater")
        taken = [column.take(rows).over_units(owners) for column in columns]
        p_values = [_column_shift(column, new_unit) for column in taken]
        best = int(np.argmin(p_values))
        differs = p_values[best] * len(columns) <= LEVEL / 2.0
        if p_value > LEVEL / 2.0 and not differs:
            return cls()
        told = "held-out rows are not like the training rows (ROC AUC of telling them apart "
        told += f"{float(statistic) / (len(new) * len(old)):.2f}"
        told += f"; '{columns[best].name}' differs most)" if differs else ")"
        return cls((f"{told}: scores hold for rows like the held-out ones only",))


def _column_shift(column: Column, is_new: Array) -> float:
    """Return the p-value of the Kolmogorov-Smirnov or chi-squared test of equal distributions."""
    if column.is_ordered:
        known = ~np.isnan(column.values)
        parts = [column.values[known & (is_new == kind)] for kind in (True, False)]
        return float(stats.ks_2samp(*parts).pvalue) if all(map(len, parts)) else 1.0
    codes, labels = column_bins(column)
    parts = [codes[(codes >= 0) & (is_new == kind)] for kind in (True, False)]
    table = np.array([np.bincount(part, minlength=len(labels)) for part in parts])
    if table.shape[1] < 2 or not table.sum(axis=1).all():
        return 1.0
    return float(stats.chi2_contingency(table).pvalue)


class CoverageGap(Check):
    """The coverage of intervals or sets is far from the requested coverage."""

    code = "coverage"

    @classmethod
    def of(cls, found: Coverage | None, task: Task, least_gap: float = 0.03) -> Self:
        """Compare the coverage with the requested one.

        Parameters
        ----------
        found : Coverage or None
        task : {"classification", "regression"}
            Task of the model. Sets of classes may have a larger coverage than requested, because
            they hold whole classes.
        least_gap : float, default=0.03
            Smaller differences are not reported, even if they are significant because of many rows.
        """
        if found is None:
            return cls()
        gap, what = found.share.value - found.asked, "intervals"
        if task == "classification":
            gap, what = min(gap, 0.0), "sets"
        least_gap = max(least_gap, _by_chance(found.share.low, found.share.high))
        if not np.isfinite(found.width) or abs(gap) <= least_gap:
            return cls()
        verdict = (
            "the model is too sure, for example because held-out rows differ from the rows of the "
            "fit"
            if gap < 0.0
            else "they are wider than they need to be"
        )
        told = f"{found.asked:.0%} {what} hold {found.share.value:.1%} of the held-out targets"
        return cls((f"{told}: {verdict}",))


class LeftOutGap(Check):
    """Errors on held-out rows are far from errors on left-out training rows."""

    code = "left-out score"

    @classmethod
    def of(
        cls, held_out: PredictorScores, left_out: PredictorScores | None, metric: str = "error"
    ) -> Self:
        """Compare the scores of both kinds of rows.

        Parameters
        ----------
        held_out : PredictorScores
        left_out : PredictorScores or None
            Scores of left-out training rows. They are not compared if their note says that they are
            too good.
        metric : str, default="error"
            The first score of the report, which is compared unless it is that of squared errors.
        """
        if left_out is None or left_out.note:
            return cls()
        both = held_out.scores.keys() & left_out.scores.keys()
        # A few rows decide on the squared error of a response with a heavy tail.
        names = (metric if metric in _COMPARED else "log_rmse", "log_rmse", "rmse", "error")
        name = next(name for name in names if name in both)
        losses = (held_out.scores[name], left_out.scores[name])
        if name in ("balanced_accuracy", "roc_auc"):  # The best score is one.
            losses = (_lost(losses[0]), _lost(losses[1]))
            differ = _differ_in_size(*losses)
        else:
            differ = _differ(*losses)
        if not differ:
            return cls()
        style = "amount" if name == "log_rmse" else style_of(name)
        new, own = (one.scores[name].told(style)[0] for one in (held_out, left_out))
        verdict = "held-out rows differ from the rows of the fit"
        if losses[0].value < losses[1].value:
            verdict = "held-out rows are easier, or too similar to the rows of the fit"
        what = _COMPARED.get(name, "error")
        told = f"the {what} is {new} on held-out rows and {own} on left-out training rows"
        return cls((f"{told}: {verdict}",))


_COMPARED = {
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "area under the ROC curve",
    "log_loss": "log-loss",
    "mae": "mean absolute error",
    "poisson_deviance": "mean Poisson deviance",
}
"""Scores that are compared if they come first, in words."""


def _lost(found: Estimate) -> Estimate:
    """Return one minus a score."""
    return Estimate(1.0 - found.value, 1.0 - found.high, 1.0 - found.low)


def _differ_in_size(new: Estimate, own: Estimate, least_ratio: float = 1.15) -> bool:
    """Return whether two shares have a large ratio and differ significantly.

    Intervals of shares are long on the side of one half, which faces the other share.
    """
    less, more = sorted((new, own), key=lambda one: one.value)
    above = _by_chance(2.0 * less.value - less.high, less.high)
    below = _by_chance(more.low, 2.0 * more.value - more.low)
    is_large = more.value > least_ratio * less.value
    return bool(more.value - less.value > np.hypot(above, below) and is_large)


def _differ(new: Estimate, own: Estimate, least_ratio: float = 1.15) -> bool:
    """Return whether two errors have a large ratio and differ significantly."""
    if min(new.value, own.value) <= 0.0:
        return False
    logs = [np.log([max(one.low, 1e-300), one.value, one.high]) for one in (new, own)]
    by_chance = [_by_chance(low, high) for low, _, high in logs]
    gap = abs(logs[0][1] - logs[1][1])
    return bool(gap > max(np.log(least_ratio), np.hypot(by_chance[0], by_chance[1])))


def _by_chance(low: float, high: float) -> float:
    """Return the critical difference at the level `LEVEL` that an interval implies."""
    error = (high - low) / (2.0 * stats.norm.ppf(0.5 + CONFIDENCE / 2.0))
    return float(stats.norm.isf(LEVEL / 2.0) * error)


def lag_one(values: Array) -> tuple[float, float]:
    """Return the circular rank correlation at lag one, and its standardized value.

    Parameters
    ----------
    values : ndarray of shape (n_units,)
    """
    n, ranks = len(values), stats.rankdata(values)
    ranks = ranks - ranks.mean()
    squares, fourth = float(np.sum(ranks**2)), float(np.sum(ranks**4))
    if n < 4 or squares == 0.0:
        return 0.0, 0.0
    product, mean = float(ranks @ np.roll(ranks, 1)), -squares / (n - 1)
    variance = (squares**2 - fourth) / (n - 1) - mean**2
    variance += (squares**2 - 2.0 * fourth) / ((n - 1) * (n - 2))
    if variance <= ROUNDING * squares**2:
        return product / squares, 0.0  # All permutations have the same correlation.
    return product / squares, (product - mean) / float(np.sqrt(variance))
