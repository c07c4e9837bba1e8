"""Report on a fitted model: scores on held-out rows, calibration, coverage and checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._data.folds import group_codes
from mercer._data.notebook import data_frames
from mercer._data.types import Array, Features, PerSample, Table
from mercer._data.validation import check_choice, check_coverage
from mercer.inspection._baselines import baselines, beats_constant, prepared
from mercer.inspection._checks import (
    Check,
    Copies,
    CoverageGap,
    Leakage,
    LeftOutGap,
    NoBetterThanConstant,
    SharedGroups,
    Shift,
)
from mercer.inspection._columns import (
    ColumnValues,
    LossByColumn,
    columns_of,
    losses_by_column,
)
from mercer.inspection._coverage import Bin, Coverage, calibration_of, coverage_of, regions
from mercer.inspection._display import last_step
from mercer.inspection._held_out import (
    Predictions,
    PredictorScores,
    Task,
    Truth,
    first_score,
    left_out_scores,
    predict,
    scores,
    with_scores,
)
from mercer.inspection._identifiers import Identifiers
from mercer.inspection._intervals import Estimate
from mercer.inspection._time_order import TimeOrder, is_later, orders, target_orders

if TYPE_CHECKING:
    import pandas as pd

Part = Literal["scores", "checks", "losses", "calibration", "coverage"]


@dataclass(frozen=True, repr=False, eq=False)
class ModelReport:
    """Scores of a fitted model and warnings about them, computed by `report`.

    In a notebook, the report is shown as tables; `to_frame` returns each of them.

    Attributes
    ----------
    model : str
        Name of the estimator.
    task : {"classification", "regression"}
    n_classes : int
        Number of classes to which the model was fitted; zero for responses.
    n_rows : int
        Number of held-out rows.
    n_groups : int or None
        Number of groups of the held-out rows; None if rows are independent.
    n_train : int or None
        Number of training rows; None if they are unknown.
    held_out : tuple of PredictorScores
        Scores of the model and, if training rows are known, of simple predictors. The last
        predictor is a constant. Each has a `name` and `scores`, a dictionary of estimates with
        `value`, `low` and `high`. Its keys are ``error``, ``balanced_accuracy``, ``log_loss`` and
        ``roc_auc`` for classes, and ``rmse``, ``mae`` and ``r2`` for responses; also ``mae`` for
        grades, ``log_rmse`` for positive responses with a heavy tail, and ``poisson_deviance`` for
        counts.
    metric : str
        Name of the score that is shown first.
    left_out : PredictorScores or None
        Scores of predictions of training rows that did not use the targets of these rows, as stacks
        and two-stage regressors have them.
    beats_constant : bool or None
        Whether the model is significantly better than the constant; None if training rows are
        unknown.
    constant_ratio : Estimate or None
        Ratio of the model's mean error to the constant's, which is the constant's `ratio`.
    calibration : tuple of Bin
        Shares of rows that belong to the second of two classes, or to the predicted class if there
        are more, by decile of the probability of this class. Each bin has `value`, the mean
        probability, `share`, an estimate, and `count`.
    coverage : Coverage or None
        Coverage of intervals or of sets of classes, with `asked`, `share`, `width` and `bins`. The
        bins have the same attributes as in `calibration`.
    losses : tuple of LossByColumn
        Columns whose bins differ significantly, and by a fifth, in the error, with `column`,
        `labels`, `counts`, `losses` and `p_value`.
    checks : tuple of Check
        Checks of the comparison with a constant, leakage, copies, shift, groups, identifiers, time
        order, coverage and left-out score. Checks that cannot be made are absent. Each has a
        `code`, a `severity`, which is "error" or "warning", `sentences`, one for each finding, the
        `columns` to which these refer, and an `advice`.
    remarks : tuple of str
        Parts that are missing from the report, with the reasons.
    truth : Truth
        The targets `y` of the held-out rows, and their `groups`.
    predictions : Predictions
        The model's `values`, which are labels or responses, and `probabilities` or None.
    regions : ndarray of shape (n_rows, 2) or (n_rows, n_classes), or None
        Prediction intervals, or indicators of the sorted classes in sets; None without coverage.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from mercer.inspection import report
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = report(Ridge().fit(X[:30], X[:30, 0]), X[30:], X[30:, 0])
    >>> found.model, found.n_rows, found.warnings
    ('Ridge', 30, ())
    >>> found.to_frame().columns.get_level_values(0).unique().tolist()
    ['rmse', 'mae', 'r2']
    """

    model: str
    task: Task
    n_classes: int
    n_rows: int
    n_groups: int | None
    n_train: int | None
    held_out: tuple[PredictorScores, ...]
    metric: str
    left_out: PredictorScores | None
    beats_constant: bool | None
    constant_ratio: Estimate | None
    calibration: tuple[Bin, ...]
    coverage: Coverage | None
    losses: tuple[LossByColumn, ...]
    checks: tuple[Check, ...]
    remarks: tuple[str, ...]
    truth: Truth
    predictions: Predictions
    regions: Array | None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons why the scores may be misleading, one sentence each."""
        return tuple(text for check in self.checks for text in check.warnings)

    def to_frame(self, part: Part = "scores") -> pd.DataFrame:
        """Return a part of the report as a data frame.

        Parameters
        ----------
        part : {"scores", "checks", "losses", "calibration", "coverage"}, default="scores"
            Scores of the predictors, the first score in the first columns, with the ends of their
            95% confidence intervals; findings of the checks; losses by column; or the bins of the
            calibration or of the coverage.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        check_choice("part", part, ("scores", "checks", "losses", "calibration", "coverage"))
        if part == "scores":
            return data_frames().DataFrame(self._scores()).T
        rows: list[tuple[Any, ...]]
        if part == "checks":
            names = ["code", "severity", "sentence", "column", "advice"]
            rows = [
                (check.code, check.severity, text, column, check.advice)
                for check in self.checks
                for text, column in zip(check.sentences, check.columns, strict=True)
            ]
        elif part == "losses":
            names = ["column", "values", "rows", "loss", "p_value"]
            rows = [
                (one.column, *each, one.p_value)
                for one in self.losses
                for each in zip(one.labels, one.counts, one.losses, strict=True)
            ]
        else:
            names = ["value", "share", "low", "high", "rows"]
            covered = () if self.coverage is None else self.coverage.bins
            bins = self.calibration if part == "calibration" else covered
            rows = [(b.value, b.share.value, b.share.low, b.share.high, b.count) for b in bins]
        return data_frames().DataFrame(rows, columns=names)

    def _scores(self) -> dict[str, dict[tuple[str, str], float]]:
        """Return scores and ends of their intervals by predictor, the first score first."""
        own, *simple = self.held_out
        shown = [own, *([] if self.left_out is None else [self.left_out]), *simple]
        names = sorted(own.scores, key=lambda name: name != self.metric)
        return {
            one.name: {
                (name, end): getattr(one.scores[name], end)
                for name in names
                if name in one.scores
                for end in ("value", "low", "high")
            }
            for one in shown
        }

    def __repr__(self) -> str:
        value, interval = self.held_out[0].told(self.metric)
        told = f"{self.metric} {value} ({interval}) on {self.n_rows:,} rows"
        return f"ModelReport({self.model}: {told}, {len(self.warnings)} warnings)"

    def _repr_html_(self) -> str:
        """Return the scores, and the warnings; only the first score without pandas."""
        try:
            told = self.to_frame().to_html(float_format="{:.4g}".format)
        except ImportError:
            told = f"<p>{escape(repr(self))}</p>"
        items = "".join(f"<li>{escape(text)}</li>" for text in self.warnings)
        return f"<div>{told}{f'<ul>{items}</ul>' * bool(items)}</div>"


def report(
    model: BaseEstimator,
    X: Features,
    y: npt.ArrayLike,
    groups: PerSample = None,
    *,
    train: Sequence[Table] | None = None,
    coverage: float | None = 0.9,
    metric: str | None = None,
    later: bool = False,
    sampled: bool = False,
    random_state: int = 0,
) -> ModelReport:
    """Evaluate a fitted model on held-out rows, and check whether the scores may be misleading.

    Parameters
    ----------
    model : fitted estimator, Pipeline, or search such as GridSearchCV
        A classifier or regressor with one target.
    X : data frame or array-like of shape (n_samples, n_features)
        Rows to which the model was not fitted, in the order in which they were measured.
    y : array-like of shape (n_samples,)
        Targets of the rows.
    groups : array-like of shape (n_samples,), default=None
        Groups to which the rows belong, such as patients. If given, confidence intervals and tests
        refer to new groups.
    train : (X, y) or (X, y, groups), default=None
        The training rows, which are needed to fit simple predictors for comparison and to search
        for copies and for columns that leak the target.
    coverage : float or None, default=0.9
        Nominal coverage of the intervals or sets whose actual coverage is measured. With None, none
        is measured, which saves the time of predicting them.
    metric : str, default=None
        The score that is shown first; see `held_out` of `ModelReport`. For classes, the default is
        the share of misclassified rows. If one class has at least three times as many rows as
        another, it is the area under the ROC curve for two classes, and the balanced accuracy for
        more. For grades, which `KernelOrdinalClassifier` predicts, it is the mean absolute error.
        For responses, it is the root mean squared error, of logarithms if the responses are
        positive with a heavy tail. For counts, it is the Poisson deviance.
    later : bool, default=False
        Whether the rows are later than all training rows, in which case their order does not make
        the scores misleading.
    sampled : bool, default=False
        Whether `train` holds only some of the rows that the model was fitted to, so that the
        model's predictions for left-out training rows are not of these rows.
    random_state : int, default=0
        Seed with which rows are drawn for computations that would be slow on all rows.

    Returns
    -------
    ModelReport
        Scores, calibration, coverage, and the findings of the checks.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If lengths differ, X has other columns than in the fit, or the model has no such metric.
        Also if y contains missing values or classes to which the model was not fitted, or groups
        contain missing names or only one group.

    See Also
    --------
    CoverageDisplay : Draws the coverage by decile of width.
    default_metric : Chooses the score that is shown first.

    Notes
    -----
    The 95% confidence intervals use Wilson's method for shares and balanced accuracies, and
    Newcombe's for the area under the ROC curve [3]_, which hold for classes of few rows. Those of
    other scores use the delta method; that of a root mean squared error is computed for its
    logarithm. If there are groups, the intervals are based on the variance over groups, with
    Student's quantile [1]_.

    A model is better than a constant if Student's confidence interval of the ratio of their mean
    errors is below one, or if the model ranks two classes better than chance. The errors are those
    of the first score: squared ones, squared ones of logarithms, where the constant is the
    geometric mean, or Poisson deviances. For classifiers, the errors of the probabilities are
    squared, and a rare class may determine the degrees of freedom. Models that predict only labels
    are compared by balanced accuracy.

    The Kruskal-Wallis test compares errors between deciles or categories of each column. A column
    is listed, at a false discovery rate of 5% [2]_, if the largest of the shares of wrong rows, or
    of the median errors, is at least 1.2 times the smallest. Each check warns about clean data with
    a probability of at most 1%, except for leakage and copies, which are not statistical tests.
    A column leaks if it almost determines the target. A column is an identifier if rows with equal
    values, or with codes that are equal up to a separator, have similar targets, and new values are
    predicted worse. Order effects are rank correlations of neighboring residuals, and of
    neighboring targets if dates or a counter order the rows. Shift is detected by tests of each
    column.

    References
    ----------
    .. [1] Liang, Zeger (1986). Longitudinal data analysis using generalized linear models.
       Biometrika 73.
    .. [2] Benjamini, Hochberg (1995). Controlling the false discovery rate. JRSS B 57.
    .. [3] Newcombe (2006). Confidence intervals for an effect size measure based on the
       Mann-Whitney statistic. Part 2. Statistics in Medicine 25.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import KernelStackingRegressor
    >>> from mercer.inspection import report
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelStackingRegressor().fit(X[:150], y[:150])
    >>> found = report(model, X[150:], y[150:], train=(X[:150], y[:150]))
    >>> found.beats_constant, [one.name for one in found.held_out][1:3]
    (True, ['histogram boosting', 'RBF kernel ridge'])
    >>> round(found.coverage.share.value, 1)
    0.9
    >>> [check.code for check in found.checks if check.sentences]
    []
    """
    check_is_fitted(model)
    if coverage is not None:
        check_coverage(coverage)
    encoded, step = last_step(model, X)
    truth, past = with_scores(_truth(model, X, y, groups), _past(model, train), step, metric)
    own = predict(model, X, truth.classes)
    model_scores = PredictorScores("model", scores(truth, own))
    metric = first_score(metric, model_scores, truth if past is None else past)
    simple = list[PredictorScores]()
    if train is not None and past is not None:
        Z, Z_new = prepared(model, train[0], past.y, X)
        simple = baselines((Z, past.y), Z_new, truth, own, seed=random_state)
    ratio = simple[-1].ratio if simple else None
    better = beats_constant(truth, model_scores, ratio) if simple else None
    left_out, inner = left_out_scores(step, None if sampled else past)
    columns = columns_of(X, None if train is None else train[0], prefixes=True)
    found, covered, remarks = _covered((model, X), (step, encoded), truth, coverage)
    checks = [
        *([NoBetterThanConstant.of(bool(better), ratio, metric, truth.task)] if simple else []),
        *_checks(columns, (truth, own), (past, inner), later, random_state),
        CoverageGap.of(covered, truth.task),
        LeftOutGap.of(model_scores, left_out, metric),
    ]
    n_train = None if past is None else len(past.y)
    return ModelReport(
        model=type(step).__name__,
        task=truth.task,
        n_classes=len(truth.classes),
        n_rows=len(truth.y),
        n_groups=None if truth.groups is None else int(truth.units.max()) + 1,
        n_train=n_train,
        held_out=(model_scores, *simple),
        metric=metric,
        left_out=left_out,
        beats_constant=better,
        constant_ratio=ratio,
        calibration=calibration_of(truth, own),
        coverage=covered,
        losses=_losses(columns, truth, own, n_train),
        checks=tuple(checks),
        remarks=(*remarks, *_absent(columns, past)),
        truth=truth,
        predictions=own,
        regions=found,
    )


def _losses(
    columns: list[ColumnValues], truth: Truth, own: Predictions, n_train: int | None
) -> tuple[LossByColumn, ...]:
    """Return the losses of the held-out rows by column."""
    new = [column.take(slice(n_train, None)) for column in columns]
    are_shares = truth.task == "classification"
    return losses_by_column(new, truth.losses(own), truth.units, are_shares=are_shares)


def _absent(columns: list[ColumnValues], past: Truth | None) -> Iterator[str]:
    """Yield remarks on parts of the report that need what is not given."""
    if past is None:
        lacking = "Simple predictors, leakage, copies and shift need the rows of the fit"
        yield f"{lacking}, which are not given"
    if not columns:
        yield "Columns of this table are not examined one by one"


def _checks(
    columns: list[ColumnValues],
    new: tuple[Truth, Predictions],
    past: tuple[Truth | None, Predictions | None],
    later: bool,
    seed: int,
) -> list[Check]:
    """Make the checks of rows and residuals that are possible for the given rows.

    `columns` hold the training rows, if these are known, followed by the held-out rows. `past` are
    the targets of the training rows, and predictions for them that do not depend on these targets.
    """
    (truth, own), (known, inner) = new, past
    ordered = orders(columns, truth, own, "of the held-out rows")
    found, y = list[Check](), truth.y
    if known is not None:
        n_train, y = len(known.y), np.concatenate([known.y, truth.y])
        unit = "mean absolute error" if truth.task == "regression" else "error"
        # The time is known before the target is, and later rows differ in it.
        compared = [c for c in columns if not (later and is_later(c, n_train))]
        rows = [column.take(slice(None, n_train)) for column in compared]
        units = np.r_[known.units, known.units.max() + 1 + truth.units]
        found = [
            Leakage.of(rows, known.y, truth.task, seed=seed),
            Copies.of(columns, y, truth.losses(own), unit),
            Shift.of(compared, n_train, units, seed=seed),
        ]
        if known.groups is not None and truth.groups is not None:
            found.append(SharedGroups.of(truth.groups, known.groups))
        if inner is not None:
            ordered |= orders([], known, inner, "of the training rows")
    if truth.groups is None:
        found.append(Identifiers.of(columns, replace(truth, y=y).numbers))
    if not later:
        found.append(TimeOrder.of(ordered, target_orders(columns, truth)))
    return found


def _past(model: BaseEstimator, train: Sequence[Table] | None) -> Truth | None:
    """Return targets and groups of the training rows if these are given."""
    if train is None:
        return None
    if len(train) not in (2, 3):
        raise ValueError(f"train must hold X, y and optionally groups; got {len(train)} entries.")
    return _truth(model, *train)


def _truth(model: BaseEstimator, X: Features, y: npt.ArrayLike, groups: PerSample = None) -> Truth:
    """Return validated targets and groups of rows."""
    check_consistent_length(X, y)
    task: Task = "classification" if is_classifier(model) else "regression"
    values: Array = column_or_1d(y)
    assert_all_finite(values, input_name="y")
    group_codes(groups, len(values))  # This raises an error for invalid groups.
    names = None if groups is None else np.asarray(groups)
    if task == "regression":
        return Truth(task, values.astype(float), np.empty(0), names)
    # Classifiers of grades in words have them in their own order.
    classes = np.sort(model.classes_)
    if unseen := sorted(set(values.tolist()) - set(classes.tolist()), key=str):
        raise ValueError(f"y contains previously unseen labels: {unseen}")
    return Truth(task, values, classes, names)


def _covered(
    model: tuple[BaseEstimator, Features],
    step: tuple[BaseEstimator, Features],
    truth: Truth,
    coverage: float | None,
) -> tuple[Array | None, Coverage | None, list[str]]:
    """Return intervals or sets and their coverage, and remarks on what cannot be computed.

    They are those of the model if it is a pipeline that predicts them, and else of its last step.
    """
    name, what, remarks = "predict_interval", "intervals", []
    if truth.task == "classification":
        name, what = "predict_set", "sets"
        if not hasattr(step[0], "predict_proba"):
            remarks.append("There is no calibration, as the model predicts no probabilities")
    if coverage is None:
        return None, None, remarks
    if not hasattr(step[0], name):
        told = f"There is no coverage, as the model predicts no {what}"
        return None, None, [*remarks, told]
    try:
        found = regions(*(model if hasattr(model[0], name) else step), coverage)
    except ValueError as error:
        return None, None, [*remarks, f"There is no coverage: {str(error).rstrip('.')}"]
    return found, coverage_of(truth, found, coverage), remarks
