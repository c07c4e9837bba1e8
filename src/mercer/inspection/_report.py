"""A report on a fitted model: scores of held-out rows, calibration, coverage, and checks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._data.folds import group_codes
from mercer._typing import Array, Features
from mercer._validation import check_coverage
from mercer.inspection._all_checks import all_checks, coverage_check, left_out_check
from mercer.inspection._baselines import (
    against_constant,
    baselines,
    default_metric,
    prepared,
    with_scores,
)
from mercer.inspection._checks import Check
from mercer.inspection._columns import LossByColumn, columns_of, losses_by_column, not_examined
from mercer.inspection._coverage import (
    Bin,
    Coverage,
    calibration_of,
    coverage_of,
    last_step,
    regions,
)
from mercer.inspection._held_out import (
    Estimate,
    Predictions,
    PredictorScores,
    Task,
    Truth,
    left_out_scores,
    predict,
    scores,
)
from mercer.inspection._report_text import (
    ReportSection,
    constant_warning,
    html,
    markdown,
    report_sections,
)


@dataclass(frozen=True)
class ModelReport:
    """What is known of a fitted model from rows that it was not fitted to.

    In a notebook it is shown as a page of tables.

    Attributes
    ----------
    model : str
        Name of the estimator.
    task : {"classification", "regression"}
    n_classes : int
        Number of classes that the model was fitted to; zero of responses.
    n_rows : int
        Number of held-out rows.
    n_groups : int or None
        Number of their groups; None if rows are independent.
    n_train : int or None
        Number of training rows, where they are known.
    held_out : tuple of PredictorScores
        Of the model and, where training rows are known, of simple predictors; the constant is last.
        Each has a `name` and `scores`, a dictionary of estimates with `value`, `low` and `high`:
        ``error``, ``balanced_accuracy``, ``log_loss`` and ``roc_auc``, or ``rmse``, ``mae``, ``r2``
        of positive responses with a heavy tail ``log_rmse``, and of counts ``poisson_deviance``.
    metric : str
        Name of the score that comes first.
    left_out : PredictorScores or None
        Scores of the model on training rows, by predictions in which their own targets had no part.
        Of two-stage and one-stage classifiers, a penalty or the kernel was chosen on these rows,
        which makes the scores too good; `note` says so.
    stated : dict of str to float
        Scores that the model states of itself, by the name of the attribute.
    beats_constant : bool or None
        Whether the model is better than the constant beyond what chance explains.
    constant_ratio : Estimate or None
        Ratio of the mean squared errors of the model and of the constant, of responses or
        probabilities.
    calibration : tuple of Bin
        Shares of rows that belong to the second of two classes, or to the predicted one of several,
        by decile of its probability: `value`, the mean probability, `share`, an estimate, and
        `count`.
    coverage : Coverage or None
        Of intervals, or of sets of classes: `asked`, `share`, `width` and `bins`, as above.
    losses : tuple of LossByColumn
        Columns by whose values the error differs beyond what chance explains: `column`, `labels`,
        `counts`, `losses` and `p_value`.
    checks : tuple of Check
        `name`, `warnings` and `advice` of each:
        Leakage, copies, shift, groups, identifiers, time order, coverage and left-out score, as far
        as they can be checked. Its `columns` name the column that each warning is about.
    remarks : tuple of str
        What is absent, and why.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from mercer.inspection import report
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = report(Ridge().fit(X[:30], X[:30, 0]), X[30:], X[30:, 0])
    >>> found.model, found.n_rows, found.warnings
    ('Ridge', 30, ())
    >>> print(found.to_markdown()[:37])
    ## Error (RMSE) of 30 held-out rows
    <BLANKLINE>
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
    stated: dict[str, float]
    beats_constant: bool | None
    constant_ratio: Estimate | None
    calibration: tuple[Bin, ...]
    coverage: Coverage | None
    losses: tuple[LossByColumn, ...]
    checks: tuple[Check, ...]
    remarks: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the scores deceptive, one sentence each."""
        constant = [] if self.beats_constant is not False else [constant_warning(self)]
        found = [
            f"{text}; {check.advice}" if check.advice else text
            for check in self.checks
            for text in check.warnings
        ]
        return (*constant, *found)

    def sections(self) -> tuple[ReportSection, ...]:
        """Return the report as titles, tables and sentences.

        Returns
        -------
        tuple of ReportSection
        """
        return report_sections(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as dictionaries, lists, numbers and strings.

        Returns
        -------
        dict of str to object
        """
        return {**asdict(self), "warnings": list(self.warnings)}

    def to_markdown(self) -> str:
        """Return the report as text with tables in Markdown.

        Returns
        -------
        str
        """
        return markdown(self.sections())

    def _repr_html_(self) -> str:
        return html(self.sections())


def report(
    model: BaseEstimator,
    X: Features,
    y: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    train: Sequence[Any] | None = None,
    coverage: float = 0.9,
    metric: str | None = None,
    later: bool = False,
    random_state: int = 0,
) -> ModelReport:
    """Test a fitted model on rows that it was not fitted to, and check what could deceive.

    Parameters
    ----------
    model : fitted estimator, Pipeline, or search such as GridSearchCV
        A classifier or regressor of one target.
    X : data frame or array-like of shape (n_samples, n_features)
        Rows that the model was not fitted to, in the order in which they were measured.
    y : array-like of shape (n_samples,)
        Their targets.
    groups : array-like of shape (n_samples,), default=None
        What rows belong to, such as patients. Confidence intervals and tests are then about new
        groups.
    train : (X, y) or (X, y, groups), default=None
        The rows of the fit. Simple predictors are fitted to them, and they are searched for copies
        and for columns that tell the target. Without them, the report has no such parts.
    coverage : float, default=0.9
        That of intervals or sets whose coverage is measured.
    metric : str, default=None
        The score that comes first; see `held_out` of `ModelReport`. By default the share of
        misclassified rows; where a class has three times the rows of another, the area under the
        ROC curve, or the balanced accuracy of more than two classes; the mean absolute error of
        grades, by `KernelOrdinalClassifier`; the root mean squared error; that of the logarithms of
        positive responses with a heavy tail; or the Poisson deviance of counts.
    later : bool, default=False
        Whether the rows are later than all rows of the fit, so that their order does not deceive.
    random_state : int, default=0
        Draws rows for what would take long on all of them.

    Returns
    -------
    ModelReport
        Scores, calibration, coverage, and what the checks found.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If lengths differ, X has other columns than in the fit, y holds missing values or classes
        that the model was not fitted to, groups hold missing names or a single group, or the model
        has no such metric.

    See Also
    --------
    CoverageDisplay : Draws the coverage by decile of width.

    Notes
    -----
    Confidence intervals of 95% are Wilson's for shares, DeLong's for the area under the ROC curve,
    and by the delta method for others, of the logarithm for the root mean squared error. Where
    there are groups, they are from the variance over groups, with Student's quantile for their
    number [1]_.

    A model is better than a constant if Student's interval of the ratio of mean squared errors is
    below one, of probabilities where there are any, or if it ranks two classes better than chance.
    Predictions of labels alone are compared by their balanced accuracy.

    Errors are compared by the Kruskal-Wallis test between deciles or categories of each column, and
    columns are listed at a false discovery rate of 5% [2]_. Each check warns of clean data with a
    probability of 1% at most; leakage and copies are no tests. A column leaks if it predicts the
    target alone with 1% of error, and so do two or three that determine it together; an identifier
    has an intraclass correlation of the target above .1, as have the parts of codes before a
    separator; order shows in the rank correlation of neighboring residuals, and of targets where
    dates or a counter order the rows; shift in a classifier that tells held-out rows from training
    rows.

    The time is that of a prediction, of its intervals, and of the fits of simple predictors.

    References
    ----------
    .. [1] Liang, Zeger (1986). Longitudinal data analysis using generalized linear models.
       Biometrika 73.
    .. [2] Benjamini, Hochberg (1995). Controlling the false discovery rate. JRSS B 57.

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
    """
    check_is_fitted(model)
    check_coverage(coverage)
    transform, step = last_step(model)
    truth, past = with_scores(_truth(model, X, y, groups), _past(model, train), step, metric)
    encoded = transform(X)
    own = predict(model, X, truth.classes)
    compared, better, ratio = _compared(model, (X, truth, own), train, past, random_state)
    own_scores = PredictorScores("model", scores(truth, own))
    metric = _metric(metric, own_scores, truth if past is None else past)
    left_out, inner = left_out_scores(step, past)
    columns = columns_of(X, None if train is None else train[0], prefixes=True)
    covered, remarks = _coverage(step, encoded, truth, coverage)
    remarks += not_examined(columns, train)
    n_train = 0 if past is None else len(past.y)
    new = [column.take(slice(n_train, None)) for column in columns]
    checks = all_checks(columns, (truth, own), (past, inner), later, random_state)
    stated = coverage_check(covered, truth.task), left_out_check(own_scores, left_out)
    return ModelReport(
        model=type(step).__name__,
        task=truth.task,
        n_classes=len(truth.classes),
        n_rows=len(truth.y),
        n_groups=None if truth.groups is None else int(truth.units.max()) + 1,
        n_train=None if past is None else n_train,
        held_out=(own_scores, *compared),
        metric=metric,
        left_out=left_out,
        stated=_stated(model, step),
        beats_constant=better,
        constant_ratio=ratio,
        calibration=calibration_of(truth, own),
        coverage=covered,
        losses=losses_by_column(new, truth.losses(own), truth.units),
        checks=(*checks, *stated),
        remarks=tuple(remarks),
    )


def _past(model: Any, train: Sequence[Any] | None) -> Truth | None:
    """Targets and groups of the rows of the fit, if these are given."""
    if train is None:
        return None
    if len(train) not in (2, 3):
        raise ValueError(f"train must hold X, y and optionally groups; got {len(train)} entries.")
    return _truth(model, *train)


def _truth(model: Any, X: Features, y: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Truth:
    """Return validated targets and groups of rows."""
    check_consistent_length(X, y)
    task: Task = "classification" if is_classifier(model) else "regression"
    values: Array = column_or_1d(y)
    assert_all_finite(values, input_name="y")
    group_codes(groups, len(values))  # It refuses what names no groups.
    names = None if groups is None else np.asarray(groups)
    if task == "regression":
        return Truth(task, values.astype(float), np.empty(0), names)
    classes = np.asarray(model.classes_)
    if unseen := sorted(set(values.tolist()) - set(classes.tolist()), key=str):
        raise ValueError(f"y contains previously unseen labels: {unseen}")
    return Truth(task, values, classes, names)


def _metric(given: str | None, own: PredictorScores, known: Truth) -> str:
    """Return the name of the first score; refuse one that the model does not have."""
    if given is not None and given not in own.scores:
        raise ValueError(f"metric must be one of {', '.join(own.scores)}; got {given!r}.")
    found = given or default_metric(known)
    return found if found in own.scores else "balanced_accuracy"


def _compared(
    model: Any,
    rows: tuple[Features, Truth, Predictions],
    train: Sequence[Any] | None,
    past: Truth | None,
    seed: int,
) -> tuple[list[PredictorScores], bool | None, Estimate | None]:
    """Return scores of simple predictors, and how the model compares with the constant."""
    if train is None or past is None:
        return [], None, None
    X, truth, own = rows
    encoded, encoded_X = prepared(model, train[0], past.y, X)
    found, constant = baselines((encoded, past.y), encoded_X, truth, seed=seed)
    return found, *against_constant(truth, own, constant)


def _coverage(
    step: Any, X: Features, truth: Truth, coverage: float
) -> tuple[Coverage | None, list[str]]:
    """Return the coverage of intervals or sets, and what is absent and why."""
    name = {"regression": "predict_interval", "classification": "predict_set"}[truth.task]
    remarks = []
    if truth.task == "classification" and not hasattr(step, "predict_proba"):
        remarks.append("There is no calibration, as the model predicts no probabilities")
    if not hasattr(step, name):
        return None, [*remarks, f"There is no coverage, as {type(step).__name__} has no {name}"]
    try:
        return coverage_of(truth, regions(step, X, coverage), coverage), remarks
    except ValueError as error:
        return None, [*remarks, f"There is no coverage: {str(error).rstrip('.')}"]


def _stated(*models: Any) -> dict[str, float]:
    names = ("loo_score_", "best_score_")
    found = {n: getattr(m, n) for m in models for n in names if hasattr(m, n)}
    # Packages have other things by these names.
    return {name: float(value) for name, value in found.items() if isinstance(value, Real)}
