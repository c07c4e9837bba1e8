"""Figures and tables of the report on what a model predicts of held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    PredictionErrorDisplay,
    RocCurveDisplay,
    precision_recall_fscore_support,
)
from sklearn.pipeline import Pipeline

from mercer._typing import Array
from mercer.inspection._display import BAR_COLOR
from mercer_command import html
from mercer_command.baselines import HeldOutError
from mercer_command.fitting import intervals
from mercer_command.problem import Task
from mercer_command.shown_names import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_MOST_CURVES = 5
"""Curves are drawn of at most this many classes, the most frequent ones."""

_MOST_CLASSES = 20
"""Confusion matrices of more classes than this are not drawn."""

_COVERAGES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
"""Coverages at which intervals are tried."""

_CALIBRATED_ROWS = 20
"""Probabilities are compared with frequencies if there are this many rows at least."""


@dataclass(frozen=True)
class HeldOut:
    """Rows that a model was not fitted to, and its predictions of them.

    Attributes
    ----------
    model : fitted Pipeline
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,)
    task : {"classification", "regression"}
    unit : str
        What a response is measured in.
    """

    model: Pipeline
    X: DataFrame
    y: npt.NDArray[Any]
    task: Task
    unit: str

    @property
    def has_dates(self) -> bool:
        """Whether responses are dates, as days since 1970."""
        return self.task == "regression" and self.model["reader"].target[1] == "date"

    def scores(self) -> tuple[Array, bool] | None:
        """Return the scores of each class, and whether they are probabilities; None if none.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_classes)
        are_probabilities : bool
        """
        if hasattr(self.model, "predict_proba"):
            return self.model.predict_proba(self.X), True
        if not hasattr(self.model, "decision_function"):
            return None
        values = self.model.decision_function(self.X)
        return (np.column_stack([-values, values]) if values.ndim == 1 else values), False


def error_figure(found: list[HeldOutError], label: str, unit: float) -> tuple[str, str]:
    """Draw the errors of several predictors with their confidence intervals, from zero.

    Parameters
    ----------
    found : list of HeldOutError
    label : str
        Of the axis of errors.
    unit : float
        Errors are multiplied by it.
    """

    def draw(ax: Axes) -> None:
        positions = range(len(found))
        errors = unit * np.array([one.error for one in found])
        bounds = unit * np.array([[one.low, one.high] for one in found])
        bounds = np.where(np.isfinite(bounds), bounds, errors[:, None])
        spread = np.abs(bounds - errors[:, None]).T
        colors = [BAR_COLOR, *[html.SOFT] * (len(found) - 1)]
        for position, color in enumerate(colors):
            ax.errorbar(
                errors[position],
                position,
                xerr=spread[:, [position]],
                fmt="o",
                color=color,
                capsize=3,
            )
        ax.set_yticks(positions, [one.name for one in found])
        ax.invert_yaxis()
        ax.set_xlim(left=0)
        ax.grid(axis="x")
        ax.set(xlabel=label, title="Error on held-out rows")

    return html.figure(
        draw, height=2.8
    ), "Errors with 95% confidence intervals; the axis begins at zero."


def held_out_section(rows: HeldOut) -> list[str]:
    """Return tables and figures on the predictions of held-out rows.

    Parameters
    ----------
    rows : HeldOut
    """
    predicted = rows.model.predict(rows.X)
    if rows.task == "regression":
        return [html.figures(_regression_figures(rows, predicted))]
    return [_class_table(rows.y, predicted), html.figures(_class_figures(rows, predicted))]


def _class_table(truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> str:
    classes = np.unique(np.concatenate([truth, predicted]))
    precision, recall, f1, counts = precision_recall_fscore_support(
        truth, predicted, labels=classes, zero_division=np.nan
    )
    cells = [
        [shown(name), *(_percent(value) for value in scores), f"{count:,}"]
        for name, *scores, count in zip(classes, precision, recall, f1, counts, strict=True)
    ]
    header = ["Class", "Precision", "Recall", "F1", "Rows"]
    told = (
        "Precision is the share of the rows predicted as a class that belong to it; recall is the "
        "share of a class's rows that are predicted as it; F1 is their harmonic mean."
    )
    return html.table(header, cells, numeric=range(1, 5)) + html.paragraph(told)


def _percent(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.1%}"


def _class_figures(rows: HeldOut, predicted: npt.NDArray[Any]) -> list[tuple[str, str]]:
    drawn, classes = [], np.unique(np.concatenate([rows.y, predicted]))
    if len(classes) <= _MOST_CLASSES:
        drawn.append(_confusion(rows.y, predicted, classes))
    scores = rows.scores()
    if scores is None or len(np.unique(rows.y)) < 2:
        return drawn
    values, are_probabilities = scores
    curves = _curves(rows, values)
    drawn += [_roc(curves), _precision_recall(curves)]
    if are_probabilities and len(rows.y) >= _CALIBRATED_ROWS:
        drawn.append(_calibration(curves))
    return drawn


def _confusion(
    truth: npt.NDArray[Any], predicted: npt.NDArray[Any], classes: npt.NDArray[Any]
) -> tuple[str, str]:
    def draw(ax: Axes) -> None:
        ConfusionMatrixDisplay.from_predictions(
            truth,
            predicted,
            labels=classes,
            display_labels=[shown(name, longest=20) for name in classes],
            ax=ax,
            cmap="Blues",
            colorbar=False,
            xticks_rotation="horizontal" if len(classes) <= 4 else "vertical",
        )
        ax.set(xlabel="Predicted", ylabel="True", title="Confusion matrix")

    return html.figure(
        draw
    ), "Numbers of held-out rows; those on the diagonal are predicted correctly."


def _curves(rows: HeldOut, scores: Array) -> dict[str, tuple[Array, Array]]:
    """Return for each class whose curves are drawn which rows belong to it, and their scores."""
    classes = rows.model.classes_
    counts = np.array([(rows.y == name).sum() for name in classes])
    if len(classes) == 2:
        return {shown(classes[1], longest=24): (rows.y == classes[1], scores[:, 1])}
    order = [k for k in np.argsort(-counts, kind="stable") if counts[k]][:_MOST_CURVES]
    return {
        shown(classes[k], longest=24): (rows.y == classes[k], scores[:, k]) for k in sorted(order)
    }


def _roc(curves: dict[str, tuple[Array, Array]]) -> tuple[str, str]:
    def draw(ax: Axes) -> None:
        ax.set_prop_cycle(color=html.COLORS)
        for name, (truth, scores) in curves.items():
            RocCurveDisplay.from_predictions(truth, scores, name=name, ax=ax)
        ax.plot([0, 1], [0, 1], linestyle=":", color=html.SOFT)
        ax.set(xlabel="False positive rate", ylabel="True positive rate", title="ROC curve")
        ax.legend(loc="lower right", frameon=False, fontsize=9)

    return html.figure(
        draw
    ), "The dotted line is what random scores give. AUC is the area under a curve."


def _precision_recall(curves: dict[str, tuple[Array, Array]]) -> tuple[str, str]:
    def draw(ax: Axes) -> None:
        ax.set_prop_cycle(color=html.COLORS)
        for name, (truth, scores) in curves.items():
            PrecisionRecallDisplay.from_predictions(truth, scores, name=name, ax=ax)
        ax.set(xlabel="Recall", ylabel="Precision", title="Precision and recall")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.legend(loc="lower left", frameon=False, fontsize=9)

    return html.figure(draw), "Precision and recall at each threshold. AP is the average precision."


def _calibration(curves: dict[str, tuple[Array, Array]]) -> tuple[str, str]:
    def draw(ax: Axes) -> None:
        ax.set_prop_cycle(color=html.COLORS)
        for name, (truth, scores) in curves.items():
            CalibrationDisplay.from_predictions(
                truth,
                np.clip(scores, 0.0, 1.0),
                n_bins=min(10, max(3, len(truth) // 20)),
                strategy="quantile",
                name=name,
                ax=ax,
                ref_line=False,
            )
        ax.plot([0, 1], [0, 1], linestyle=":", color=html.SOFT)
        ax.set(xlabel="Predicted probability", ylabel="Share of rows", title="Calibration")
        ax.legend(loc="upper left", frameon=False, fontsize=9)

    return html.figure(draw), (
        "The share of rows that belong to the class, among rows of similar predicted probability; "
        "on the dotted line, probabilities are exact."
    )


def _regression_figures(rows: HeldOut, predicted: Array) -> list[tuple[str, str]]:
    drawn = [
        _errors(rows, predicted, kind) for kind in ("actual_vs_predicted", "residual_vs_predicted")
    ]
    if hasattr(rows.model[-1], "predict_interval"):
        drawn += [_coverage(rows), _intervals(rows, predicted)]
    return drawn


def _errors(rows: HeldOut, predicted: Array, kind: str) -> tuple[str, str]:
    is_residual = kind == "residual_vs_predicted"

    def draw(ax: Axes) -> None:
        PredictionErrorDisplay.from_predictions(
            rows.y,
            predicted,
            ax=ax,
            kind=kind,
            random_state=0,
            scatter_kwargs={"color": BAR_COLOR, "alpha": 0.55, "s": 18, "linewidths": 0},
            line_kwargs={"color": html.SOFT},
        )
        ax.set_xlabel("Predicted")
        ax.set_ylabel("Residual (true less predicted)" if is_residual else "True")
        ax.set_title("Residuals" if is_residual else "Predicted and true")
        for axis in (ax.xaxis, ax.yaxis)[: 1 if is_residual else 2] if rows.has_dates else ():
            html.label_dates(axis)

    told = "True less predicted responses" if is_residual else "Predictions on the line are exact"
    return html.figure(draw), f"{told}, held-out rows, in {rows.unit}."


def _coverage(rows: HeldOut) -> tuple[str, str]:
    encoded = rows.model[:-1].transform(rows.X)
    covered = []
    for coverage in _COVERAGES:
        low, high = intervals(rows.model[-1], encoded, coverage).T
        covered.append(float(((low <= rows.y) & (rows.y <= high)).mean()))

    def draw(ax: Axes) -> None:
        ax.plot([0.5, 1], [0.5, 1], linestyle=":", color=html.SOFT)
        ax.plot(_COVERAGES, covered, marker="o", color=BAR_COLOR)
        ax.set(xlim=(0.48, 1.0), ylim=(min(0.48, *covered), 1.02), title="Coverage of intervals")
        ax.set(xlabel="Coverage asked for", ylabel="Share of held-out rows inside")
        ax.grid()

    return html.figure(draw), (
        f"The share of {len(rows.y):,} held-out responses that are in their intervals; on the "
        "dotted line, coverage is exact."
    )


def _intervals(rows: HeldOut, predicted: Array) -> tuple[str, str]:
    encoded = rows.model[:-1].transform(rows.X)
    low, high = intervals(rows.model[-1], encoded, 0.9).T
    order = np.argsort(predicted, kind="stable")
    if len(order) > 200:
        order = order[np.linspace(0, len(order) - 1, 200).astype(int)]

    def draw(ax: Axes) -> None:
        places = np.arange(len(order))
        ax.vlines(places, low[order], high[order], color=BAR_COLOR, alpha=0.35, linewidth=1.4)
        inside = (low[order] <= rows.y[order]) & (rows.y[order] <= high[order])
        ax.plot(places[inside], rows.y[order][inside], ".", color=BAR_COLOR, label="inside")
        ax.plot(places[~inside], rows.y[order][~inside], "x", color=html.WARM, label="outside")
        ax.set_xticks([])
        ax.set(xlabel="Held-out rows, sorted by prediction", ylabel="True response")
        ax.set_title("Intervals of 90% coverage")
        ax.legend(frameon=False, fontsize=9)
        if rows.has_dates:
            html.label_dates(ax.yaxis)

    return html.figure(draw), f"Lines are intervals, marks are true responses, in {rows.unit}."
