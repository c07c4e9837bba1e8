"""Report on a fitted model: scores on held-out rows, calibration, coverage and checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Real

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._data.folds import group_codes
from mercer._data.notebook import NotebookResult
from mercer._data.types import Array, Features, PerSample, Table
from mercer._data.validation import check_coverage
from mercer.inspection._all_checks import all_checks, coverage_check, left_out_check
from mercer.inspection._baselines import against_constant, baselines, prepared, with_scores
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
from mercer.inspection._default_metric import default_metric
from mercer.inspection._held_out import (
    Predictions,
    PredictorScores,
    Task,
    Truth,
    left_out_scores,
    predict,
    scores,
)
from mercer.inspection._intervals import Estimate
from mercer.inspection._report_text import (
    ReportSection,
    constant_warning,
    html,
    markdown,
    report_sections,
)


@dataclass(frozen=True, repr=False)
class ModelReport(NotebookResult):
    """Scores of a fitted model and warnings about them, computed by `report`.

    In a notebook, the report is shown as a page of tables.

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
        Scores of predictions of training rows that did not use the targets of these rows. For
        two-stage and one-stage classifiers, a penalty or the kernel was selected on these rows,
        which makes the scores too good; `note` then states this.
    stated : dict of str to float
        Scores that the model itself stores, by the name of the attribute. Negated errors are left
        out.
    beats_constant : bool or None
        Whether the model is significantly better than the constant; None if training rows are
        unknown.
    constant_ratio : Estimate or None
        Ratio of the model's mean error to the constant's, as in `PredictorScores`.
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
        Checks of leakage, copies, shift, groups, identifiers, time order, coverage and left-out
        score. Checks that cannot be made are absent. Each check has `name`, `warnings`, `advice`
        and `columns`, which holds the column to which each warning refers.
    remarks : tuple of str
        Parts that are missing from the report, with the reasons.

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
        """Reasons why the scores may be misleading, one sentence each."""
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

    def to_dict(self) -> dict[str, object]:
        """Return all results as dictionaries, lists, numbers and strings.

        Returns
        -------
        dict of str to object
        """
        return {**asdict(self), "warnings": list(self.warnings)}

    def to_markdown(self) -> str:
        """Return the report as Markdown text with tables.

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
    groups: PerSample = None,
    *,
    train: Sequence[Table] | None = None,
    coverage: float = 0.9,
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
    coverage : float, default=0.9
        Nominal coverage of the intervals or sets whose actual coverage is measured.
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
    Columns leak if they almost determine the target, alone or in pairs or triples. A column is an
    identifier if rows with equal values, or with codes that are equal up to a separator, have
    similar targets, and new values are predicted worse. Order effects are rank correlations of
    neighboring residuals, and of neighboring targets if dates or a counter order the rows. Shift is
    detected by a classifier that distinguishes held-out rows from training rows.

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
    left_out, inner = left_out_scores(step, None if sampled else past)
    columns = columns_of(X, None if train is None else train[0], prefixes=True)
    covered, remarks = _coverage(step, encoded, truth, coverage)
    n_train = 0 if past is None else len(past.y)
    new = [column.take(slice(n_train, None)) for column in columns]
    losses = truth.losses(own), truth.units
    checks = all_checks(columns, (truth, own), (past, inner), later, random_state)
    checks += coverage_check(covered, truth.task), left_out_check(own_scores, left_out, metric)
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
        losses=losses_by_column(new, *losses, are_shares=truth.task == "classification"),
        checks=checks,
        remarks=(*remarks, *not_examined(columns, train)),
    )


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


def _metric(given: str | None, own: PredictorScores, known: Truth) -> str:
    """Return the name of the first score, or raise an error if the model does not have it."""
    if given is not None and given not in own.scores:
        raise ValueError(f"metric must be one of {', '.join(own.scores)}; got {given!r}.")
    kind = "ordinal" if known.is_graded else "count" if known.is_counted else ""
    found = given or default_metric(known.y, known.task, kind)
    return found if found in own.scores else "balanced_accuracy"


def _compared(
    model: BaseEstimator,
    rows: tuple[Features, Truth, Predictions],
    train: Sequence[Table] | None,
    past: Truth | None,
    seed: int,
) -> tuple[list[PredictorScores], bool | None, Estimate | None]:
    """Return scores of simple predictors, and the comparison of the model with the constant."""
    if train is None or past is None:
        return [], None, None
    X, truth, own = rows
    encoded, encoded_X = prepared(model, train[0], past.y, X)
    found, constant = baselines((encoded, past.y), encoded_X, truth, own, seed=seed)
    return found, *against_constant(truth, own, constant)


def _coverage(
    step: BaseEstimator, X: Features, truth: Truth, coverage: float
) -> tuple[Coverage | None, list[str]]:
    """Return the coverage of intervals or sets, and remarks on results that cannot be computed."""
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


def _stated(*models: BaseEstimator) -> dict[str, float]:
    names = ("loo_score_", "best_score_")
    # Negated errors, such as "neg_mean_absolute_error", are not scores that a reader would know.
    known = [m for m in models if not str(getattr(m, "scoring", None)).startswith("neg_")]
    found = {n: getattr(m, n) for m in known for n in names if hasattr(m, n)}
    # Other packages may use these names for attributes that are not scores.
    return {name: float(value) for name, value in found.items() if isinstance(value, Real)}
