"""Checks of a report, a class each: reasons why scores on held-out rows may be misleading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from scipy import stats
from scipy.sparse import issparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer._data.copies import copies
from mercer._data.types import Array, Features
from mercer.inspection._columns import ColumnValues, column_bins
from mercer.inspection._coverage import Coverage
from mercer.inspection._held_out import PredictorScores, Task, style_of
from mercer.inspection._intervals import CONFIDENCE, Estimate

LEVEL = 0.01
"""Level of the tests of the checks: of tables without faults, at most this share is reported."""

_MOST_ROWS = 2000
"""Maximum number of rows that are drawn for tests of columns, of each kind of rows."""

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


class Leakage(Check):
    """Columns almost determine the target."""

    code = "leakage"
    severity = "error"

    @classmethod
    def of(cls, columns: list[ColumnValues], y: Array, task: Task, seed: int = 0) -> Self:
        """Find columns that predict the target almost perfectly.

        Parameters
        ----------
        columns : list of ColumnValues
            Columns of the training rows.
        y : ndarray of shape (n_train,)
        task : {"classification", "regression"}
        seed : int, default=0

        Notes
        -----
        A decision tree is fitted to each column alone, and predicts held-out rows in three folds. A
        column is reported if its tree leaves at most 1% of the variance unexplained. For classes,
        it is reported if its tree misclassifies at most a tenth as many rows as the most frequent
        class does, and at most 2% of the rows. Classes with fewer than three rows are ignored. For
        text, the features of the tree are the words that occur.

        No tree is fitted to a column if neighbors in its order have targets that differ too much:
        if the halved mean square of their differences is more than a fifth of the variance, or if
        the rows whose class is that of neither neighbor are several times those that a tree may
        misclassify.
        """
        rows = np.random.default_rng(seed).permutation(len(y))[:_MOST_ROWS]
        drawn, told = [column.take(rows) for column in columns], dict[str, str]()
        for column in _suspects(drawn, y[rows], task) if len(rows) >= 3 else []:
            if accuracy := _accuracy(_as_features(column), y[rows], task, seed):
                told[column.name] = (
                    f"column '{column.name}' alone predicts the target almost perfectly "
                    f"({accuracy}): if it is not known before the target is, leave it out"
                )
        return cls(tuple(told.values()), tuple(told))


def _suspects(columns: list[ColumnValues], y: Array, task: Task) -> list[ColumnValues]:
    """Return the columns that a tree may predict the target from; see `Leakage.of`."""
    if task == "regression":
        order, most = np.argsort(y, kind="stable"), 0.2 * float(np.var(y))
    else:
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        frequent = (counts >= 3)[codes]
        rare_share = 1.0 - counts.max() / max(int(frequent.sum()), 1)
        order = np.flatnonzero(frequent)[np.argsort(codes[frequent], kind="stable")]
        y, most = codes, 2.5 * min(0.02, 0.1 * rare_share) * len(order) + 2.0
    found = []
    for column in columns:
        # Rows of equal cells are in the order of their targets.
        own = column.values[order]
        sorted_y = y[order][np.argsort(own, kind="stable")]
        if column.kind != "text":
            steps = np.diff(sorted_y)
            lonely = (np.r_[1, steps] != 0) & (np.r_[steps, 1] != 0)
            size = np.mean(np.square(steps)) / 2.0 if task == "regression" else lonely.sum()
            if size > most:
                continue
        found.append(column)
    return found


def _as_features(column: ColumnValues) -> Features:
    """Return a column as numeric features: numbers, codes of categories, or words of a text."""
    if column.kind == "text":
        words = HashingVectorizer(n_features=2**12, alternate_sign=False, binary=True, norm=None)
        return words.fit_transform(column.labels[column.values.astype(int)])
    return column.values[:, None]


def _accuracy(X: Features, y: Array, task: Task, seed: int) -> str | None:
    """Describe how well a tree predicts the target; None unless it does almost perfectly."""
    # The prediction of a row depends on at most five words.
    settings = {"max_depth": 5 if issparse(X) else None, "min_samples_leaf": 2, "random_state": 0}
    if task == "regression":
        tree, split, most = DecisionTreeRegressor(**settings), KFold, 0.01 * float(np.var(y))
    else:
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        frequent = counts >= 3
        X, y, counts = X[frequent[codes]], y[frequent[codes]], counts[frequent]
        tree, split = DecisionTreeClassifier(**settings), StratifiedKFold
        most = min(0.02, 0.1 * (1.0 - counts.max(initial=0) / max(len(y), 1)))
    if len(np.unique(y)) < 2:
        return None
    loss = 0.0
    for train, test in split(3, shuffle=True, random_state=seed).split(X, y):
        predicted = tree.fit(X[train], y[train]).predict(X[test])
        losses = (predicted - y[test]) ** 2 if task == "regression" else predicted != y[test]
        loss += float(np.sum(losses)) / len(y)
        if loss > most:
            return None
    if task == "regression":
        return f"R² {1.0 - loss / float(np.var(y)):.3f}"
    return f"it misclassifies {loss:.1%} of the rows"


class Copies(Check):
    """Held-out rows are copies of training rows."""

    code = "copies"

    @classmethod
    def of(cls, columns: list[ColumnValues], y: Array, losses: Array, unit: str) -> Self:
        """Check which held-out rows are copies, and how they affect the error.

        Parameters
        ----------
        columns : list of ColumnValues
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
    def of(cls, columns: list[ColumnValues], n_train: int, units: Array, seed: int = 0) -> Self:
        """Find the column in which rows differ most.

        Parameters
        ----------
        columns : list of ColumnValues
            Columns with the training rows followed by the held-out rows.
        n_train : int
        units : ndarray of int of shape (n_rows,)
            Unit of each row. No unit has both training and held-out rows.
        seed : int, default=0

        Notes
        -----
        Each column is tested by the Kolmogorov-Smirnov test for numbers and by the chi-squared test
        for categories. The smallest p-value, times the number of columns, is compared with half
        the level.
        """
        rng, n = np.random.default_rng(seed), len(units)
        drawn = (rng.permutation(n_train), n_train + rng.permutation(n - n_train))
        rows = np.concatenate([each[:_MOST_ROWS] for each in drawn])
        owners = np.unique(units[rows], return_inverse=True)[1]
        is_new = np.bincount(owners, rows >= n_train) > 0
        taken = [column.take(rows).over_units(owners) for column in columns]
        p_values = _column_shifts(taken, is_new)
        if not columns or p_values.min() * len(columns) > LEVEL / 2.0:
            return cls()
        name = columns[int(p_values.argmin())].name
        told = f"held-out rows are not like the training rows ('{name}' differs most)"
        return cls((f"{told}: scores hold for rows like the held-out ones only",))


def _column_shifts(columns: list[ColumnValues], is_new: Array) -> Array:
    """Return the p-values of the columns that may have the smallest one, and one for the others.

    Among columns of numbers without missing values, only the column of the largest statistic may
    have the smallest p-value.
    """
    p_values, whole = np.ones(len(columns)), list[int]()
    for k, column in enumerate(columns):
        if column.is_ordered and not np.isnan(column.values).any():
            whole.append(k)
        else:
            p_values[k] = _column_shift(column, is_new)
    if whole and 0 < is_new.sum() < len(is_new):
        statistics = np.array([_distance(columns[k].values, is_new) for k in whole])
        # Of those that differ by rounding alone, the first one counts.
        k = whole[int(np.argmax(statistics > statistics.max() - 1e-12))]
        p_values[k] = _column_shift(columns[k], is_new)
    return p_values


def _distance(values: Array, is_new: Array) -> float:
    """Return the largest difference of the distributions of two kinds of rows."""
    order = np.argsort(values)
    steps = np.where(is_new[order], 1.0 / is_new.sum(), -1.0 / (~is_new).sum())
    ends = np.append(np.diff(values[order]) != 0.0, True)  # Equal values are one step.
    return float(np.abs(np.cumsum(steps)[ends]).max())


def _column_shift(column: ColumnValues, is_new: Array) -> float:
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
        # The interval of 95% implies the critical difference at the level of checks.
        half = 0.5 * (found.share.high - found.share.low)
        by_chance = half * float(stats.norm.isf(LEVEL / 2.0) / stats.norm.isf((1 - CONFIDENCE) / 2))
        least_gap = max(least_gap, by_chance)
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
        """Compare the losses of both kinds of rows.

        They are far apart if the 95% intervals do not overlap, and one is 15% larger.

        Parameters
        ----------
        held_out : PredictorScores
        left_out : PredictorScores or None
            Scores of left-out training rows.
        metric : str, default="error"
            The first score of the report, which is compared unless it is that of squared errors.
        """
        if left_out is None:
            return cls()
        both = held_out.scores.keys() & left_out.scores.keys()
        # A few rows decide on the squared error of a response with a heavy tail.
        names = (metric if metric in _COMPARED else "log_rmse", "log_rmse", "rmse", "error")
        name = next(name for name in names if name in both)
        new, own = (_ends(one.scores[name], name) for one in (held_out, left_out))
        (_, less, end), (start, more, _) = sorted((new, own), key=lambda ends: ends[1])
        if more <= 1.15 * less or start <= end:
            return cls()
        style = "amount" if name == "log_rmse" else style_of(name)
        texts = [one.scores[name].told(style)[0] for one in (held_out, left_out)]
        verdict = "held-out rows differ from the rows of the fit"
        if new[1] < own[1]:
            verdict = "held-out rows are easier, or too similar to the rows of the fit"
        what = _COMPARED.get(name, "error")
        told = f"the {what} is {texts[0]} on held-out rows and {texts[1]} on left-out training rows"
        return cls((f"{told}: {verdict}",))


def _ends(found: Estimate, name: str) -> tuple[float, float, float]:
    """Return the interval of a loss with its middle, which is one minus a score that is high."""
    if name in ("balanced_accuracy", "roc_auc"):
        return 1.0 - found.high, 1.0 - found.value, 1.0 - found.low
    return found.low, found.value, found.high


_COMPARED = {
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "area under the ROC curve",
    "log_loss": "log-loss",
    "mae": "mean absolute error",
    "poisson_deviance": "mean Poisson deviance",
}
"""Scores that are compared if they come first, in words."""
