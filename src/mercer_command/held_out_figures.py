"""Tables and figures of a report on predictions of held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn import metrics
from sklearn.calibration import CalibrationDisplay

from mercer.inspection import CoverageDisplay
from mercer_command.figures import MOST_MARKS, label_dates, plain_numbers
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.output import ACCENT, COLORS, SOFT, WARM, Figure, Part, Section, Table, Text
from mercer_command.predictions import intervals
from mercer_command.table_model import TableModel
from mercer_command.values import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curves: TypeAlias = dict[str, tuple[Array, Array]]
"""For the name of each class, an indicator and a score of each row."""

_BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17), "ncols": 2}
"""Position below the axes for legends that would hide curves."""


def prediction_section(trial: Trial) -> Section:
    """Return tables and figures on the predictions of rows whose targets are known.

    Parameters
    ----------
    trial : Trial
    """
    predicted = trial.model.predict(trial.X)
    found = _responses if trial.task == "regression" else _classes
    return Section(f"Predictions of {trial.rows} rows", found(trial, predicted))


def _classes(trial: Trial, predicted: Array) -> list[Part]:
    y = np.asarray(trial.y)
    classes = np.unique(np.concatenate([y, predicted]))
    precision, recall, f1, counts = metrics.precision_recall_fscore_support(
        y, predicted, labels=classes, zero_division=np.nan
    )
    rows = [
        [shown(name), *("none" if np.isnan(v) else f"{v:.1%}" for v in values), f"{count:,.0f}"]
        for name, *values, count in zip(classes, precision, recall, f1, counts, strict=True)
    ]
    told = (
        "Precision is the share of the rows predicted as a class that belong to it; recall is the "
        "share of a class's rows that are predicted as it; F1 is their harmonic mean."
    )
    header = ["Class", "Precision", "Recall", "F1", "Rows"]
    parts: list[Part] = [Table(header, rows, range(1, 5)), Text(told)]
    if len(classes) <= MOST_MARKS:
        parts.append(_confusion(y, predicted, classes))
    if len(np.unique(y)) > 1:
        parts += _curves(trial.model, trial.X, y)
    return parts


def _confusion(truth: Array, predicted: Array, classes: Array) -> Figure:
    labels = [shown(name, longest=20) for name in classes]

    def draw(ax: Axes) -> None:
        metrics.ConfusionMatrixDisplay.from_predictions(
            truth,
            predicted,
            labels=classes,
            display_labels=labels,
            ax=ax,
            cmap="Blues",
            colorbar=False,
            # There is space for about 30 letters in all labels together.
            xticks_rotation=(
                "horizontal" if len(labels) * max(map(len, labels)) <= 30 else "vertical"
            ),
        )
        ax.set(xlabel="Predicted", ylabel="True", title="Confusion matrix")

    caption = "Numbers of rows; those on the diagonal are predicted correctly."
    return Figure(draw, caption)


def _curves(model: TableModel, X: pd.DataFrame, y: Array) -> list[Part]:
    """Return curves for the rarer of two classes, or for the most frequent of more classes."""
    method = next((m for m in ("predict_proba", "decision_function") if hasattr(model, m)), None)
    if method is None:
        return []
    scores: Array = getattr(model, method)(X)
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    counts = np.array([(y == name).sum() for name in model.classes_])
    order = [k for k in np.argsort(-counts, kind="stable") if counts[k]][: len(COLORS)]
    chosen = sorted(order) if len(counts) > 2 else [0 if counts[0] < counts[1] else 1]
    curves = {
        shown(model.classes_[k], longest=24): (y == model.classes_[k], scores[:, k]) for k in chosen
    }

    drawn: list[Part] = [
        _curve_figure(
            curves, metrics.RocCurveDisplay, "ROC curve",
            ("False positive rate", "True positive rate"),
            "The dotted line is what random scores give. AUC is the area under a curve.",
        ),
        _curve_figure(
            curves, metrics.PrecisionRecallDisplay, "Precision and recall", ("Recall", "Precision"),
            "Precision and recall at each threshold. AP is the average precision.",
        ),
    ]  # fmt: skip
    # With fewer rows, bins are too small to estimate shares.
    if method == "predict_proba" and len(y) >= 20:
        curves = {name: (truth, np.clip(p, 0.0, 1.0)) for name, (truth, p) in curves.items()}
        drawn.append(
            _curve_figure(
                curves,
                CalibrationDisplay,
                "Calibration",
                ("Predicted probability", "Share of rows"),
                "The share of rows that belong to the class, among rows of similar predicted "
                "probability; on the dotted line, probabilities are exact.",
                n_bins=min(10, max(3, len(y) // 20)),
                strategy="quantile",
                ref_line=False,
            )
        )
    return drawn


def _curve_figure(
    curves: Curves,
    display: type[metrics.RocCurveDisplay | metrics.PrecisionRecallDisplay | CalibrationDisplay],
    title: str,
    labels: tuple[str, str],
    caption: str,
    **settings: Any,
) -> Figure:
    """Return a figure with one curve for each class, drawn by a display of scikit-learn."""

    def draw(ax: Axes) -> None:
        ax.set_prop_cycle(color=COLORS)
        for name, (truth, values) in curves.items():
            display.from_predictions(truth, values, name=name, ax=ax, **settings)
        if title != "Precision and recall":
            ax.plot([0, 1], [0, 1], linestyle=":", color=SOFT)
        ax.set(xlabel=labels[0], ylabel=labels[1], title=title)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.legend(frameon=False, fontsize=9, **(_BELOW if len(curves) > 2 else {}))

    return Figure(draw, caption, height=4.4 if len(curves) > 2 else 3.2)


def _responses(trial: Trial, predicted: Array) -> list[Part]:
    drawn: list[Part] = [
        _errors(trial, predicted, kind) for kind in ("actual_vs_predicted", "residual_vs_predicted")
    ]
    if hasattr(trial.model, "predict_interval"):
        usual = intervals(trial.model, trial.model[:-1].transform(trial.X))
        drawn.append(_intervals(trial, predicted, usual))
        found = None if trial.report is None else trial.report.coverage
        are_alike = found is not None and len(found.bins) == 1
        if np.isfinite(usual).all() and not are_alike:
            drawn.append(_coverage_by_width(np.asarray(trial.y), usual))
    return drawn


def _errors(trial: Trial, predicted: Array, kind: str) -> Figure:
    is_residual = kind == "residual_vs_predicted"

    def draw(ax: Axes) -> None:
        metrics.PredictionErrorDisplay.from_predictions(
            trial.y,
            predicted,
            ax=ax,
            kind=kind,
            random_state=0,
            scatter_kwargs={"color": ACCENT, "alpha": 0.55, "s": 18, "linewidths": 0},
            line_kwargs={"color": SOFT},
        )
        if not is_residual:  # Square axes would leave little space.
            both = np.concatenate([np.asarray(trial.y, dtype=float), predicted])
            low, high = float(both.min()), float(both.max())
            beside = 0.04 * ((high - low) or 1.0)
            ends = (low - beside, high + beside)
            ax.set(aspect="auto", xlim=ends, ylim=ends)
        for axis in (ax.xaxis, ax.yaxis):  # scikit-learn puts ticks at the ends of the data.
            plain_numbers(axis)
        ax.set_xlabel("Predicted")
        ax.set_ylabel("Residual (true less predicted)" if is_residual else "True")
        ax.set_title("Residuals" if is_residual else "Predicted and true")
        for axis in (ax.xaxis, ax.yaxis)[: 1 if is_residual else 2] if trial.has_dates else ():
            label_dates(axis)

    told = "True less predicted responses" if is_residual else "Predictions on the line are exact"
    return Figure(draw, f"{told}, {trial.rows} rows, in {trial.unit}.")


def _coverage_by_width(y: Array, bounds: Array) -> Figure:
    def draw(ax: Axes) -> None:
        CoverageDisplay.from_intervals(y, bounds, ax=ax)
        plain_numbers(ax.xaxis)

    return Figure(
        draw,
        "The share of responses in intervals of 90% coverage, by decile of their width, "
        "with 95% confidence intervals.",
    )


def _intervals(trial: Trial, predicted: Array, bounds: Array, most: int = 200) -> Figure:
    def draw(ax: Axes) -> None:
        order = np.argsort(predicted, kind="stable")
        order = order[np.linspace(0, len(order) - 1, min(len(order), most)).astype(int)]
        y, (low, high) = np.asarray(trial.y)[order], bounds[order].T
        places, inside = np.arange(len(order)), (low <= y) & (y <= high)
        ax.vlines(places, low, high, color=ACCENT, alpha=0.35, linewidth=1.4)
        ax.plot(places[inside], y[inside], ".", color=ACCENT, label="inside")
        ax.plot(places[~inside], y[~inside], "x", color=WARM, label="outside")
        ax.set_xticks([])
        ax.set(xlabel="Rows, sorted by prediction", ylabel="True response")
        ax.set_title("Intervals of 90% coverage")
        # Predictions ascend, so that this corner is empty.
        ax.legend(frameon=False, fontsize=9, loc="upper left")
        plain_numbers(ax.yaxis)
        if trial.has_dates:
            label_dates(ax.yaxis)

    return Figure(draw, f"Lines are intervals, marks are true responses, in {trial.unit}.")
