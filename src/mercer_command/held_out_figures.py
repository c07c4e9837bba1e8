"""Table and figures of a report on the predictions of rows whose targets are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import metrics

from mercer.inspection import ModelReport
from mercer_command.figures import MOST_MARKS, label_dates, plain_numbers
from mercer_command.messages import shown
from mercer_command.models import Trial
from mercer_command.output import ACCENT, COLORS, SOFT, WARM, Figure, Part, Section, Table, Text
from mercer_command.values import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17), "ncols": 2}
"""Position below the axes for legends that would hide curves."""

_FEWEST = 20
"""With fewer rows, shares by predicted probability are not drawn."""


def prediction_sections(trial: Trial) -> list[Section]:
    """Return the section on the predictions of a tested model; none without a report.

    Parameters
    ----------
    trial : Trial
    """
    if trial.report is None:
        return []
    found = _responses if trial.task == "regression" else _classes
    return [Section(f"Predictions of {trial.rows} rows", found(trial, trial.report))]


def _classes(trial: Trial, report: ModelReport) -> list[Part]:
    y, predicted = report.truth.y, report.predictions.values
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
        parts += _curves(report)
    if report.calibration and len(y) >= _FEWEST:
        parts.append(_calibration(trial, report))
    return parts


def _confusion(truth: Array, predicted: Array, classes: Array) -> Figure:
    labels = [shown(name, longest=20) for name in classes]
    # There is space for about 30 letters in all labels together.
    is_short = len(labels) * max(map(len, labels)) <= 30

    def draw(ax: Axes) -> None:
        metrics.ConfusionMatrixDisplay.from_predictions(
            truth,
            predicted,
            labels=classes,
            display_labels=labels,
            ax=ax,
            cmap="Blues",
            colorbar=False,
            xticks_rotation="horizontal" if is_short else "vertical",
        )
        ax.set(xlabel="Predicted", ylabel="True", title="Confusion matrix")

    caption = "Numbers of rows; those on the diagonal are predicted correctly."
    return Figure(draw, caption)


def _curves(report: ModelReport) -> list[Part]:
    """Return curves for the rarer of two classes, or for the most frequent of more classes."""
    found, classes, y = report.predictions, report.truth.classes, report.truth.y
    scores = found.decisions if found.probabilities is None else found.probabilities
    if scores is None:
        return []
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    counts = np.array([(y == name).sum() for name in classes])
    order = [k for k in np.argsort(-counts, kind="stable") if counts[k]][: len(COLORS)]
    chosen = sorted(order) if len(counts) > 2 else [0 if counts[0] < counts[1] else 1]

    def drawn(display: Any, title: str, labels: tuple[str, str], caption: str) -> Figure:
        def draw(ax: Axes) -> None:
            ax.set_prop_cycle(color=COLORS)
            for k in chosen:
                name = shown(classes[k], longest=24)
                display.from_predictions(y == classes[k], scores[:, k], name=name, ax=ax)
            if display is metrics.RocCurveDisplay:
                ax.plot([0, 1], [0, 1], linestyle=":", color=SOFT)
            ax.set(xlabel=labels[0], ylabel=labels[1], title=title)
            ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="auto")
            ax.legend(frameon=False, fontsize=9, **(_BELOW if len(chosen) > 2 else {}))

        return Figure(draw, caption, height=4.4 if len(chosen) > 2 else 3.2)

    return [
        drawn(
            metrics.RocCurveDisplay,
            "ROC curve",
            ("False positive rate", "True positive rate"),
            "The dotted line is what random scores give. AUC is the area under a curve.",
        ),
        drawn(
            metrics.PrecisionRecallDisplay,
            "Precision and recall",
            ("Recall", "Precision"),
            "Precision and recall at each threshold. AP is the average precision.",
        ),
    ]


def _calibration(trial: Trial, report: ModelReport) -> Figure:
    of = "the predicted class"
    if report.n_classes == 2:
        of = shown(trial.model.classes_[1], longest=24)

    def draw(ax: Axes) -> None:
        found = np.array(
            [(b.value, b.share.value, b.share.low, b.share.high) for b in report.calibration]
        )
        p, share, low, high = found.T
        spread = np.clip([share - low, high - share], 0.0, None)
        ax.errorbar(p, share, yerr=spread, fmt="o-", color=ACCENT, capsize=3)
        ax.plot([0, 1], [0, 1], linestyle=":", color=SOFT)
        ax.set(xlabel="Predicted probability", ylabel="Share of rows", title="Calibration")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))

    return Figure(
        draw,
        f"The share of rows that belong to {of}, among rows of similar predicted probability, with "
        "95% confidence intervals; on the dotted line, probabilities are exact.",
    )


def _responses(trial: Trial, report: ModelReport) -> list[Part]:
    kinds = ("actual_vs_predicted", "residual_vs_predicted")
    drawn: list[Part] = [_errors(trial, report, kind) for kind in kinds]
    if report.regions is not None:
        drawn.append(_intervals(trial, report, report.regions))
    return drawn


def _errors(trial: Trial, report: ModelReport, kind: Any) -> Figure:
    is_residual = kind == "residual_vs_predicted"
    y, predicted = report.truth.y, report.predictions.values

    def draw(ax: Axes) -> None:
        metrics.PredictionErrorDisplay.from_predictions(
            y,
            predicted,
            ax=ax,
            kind=kind,
            random_state=0,
            scatter_kwargs={"color": ACCENT, "alpha": 0.55, "s": 18, "linewidths": 0},
            line_kwargs={"color": SOFT},
        )
        if not is_residual:  # Square axes would leave little space.
            both = np.concatenate([y, predicted])
            low, high = float(both.min()), float(both.max())
            beside = 0.04 * ((high - low) or 1.0)
            ends = (low - beside, high + beside)
            ax.set(aspect="auto", xlim=ends, ylim=ends)
        ax.set_xlabel("Predicted")
        ax.set_ylabel("Residual (true less predicted)" if is_residual else "True")
        ax.set_title("Residuals" if is_residual else "Predicted and true")
        # scikit-learn puts ticks at the ends of the data.
        label = label_dates if trial.has_dates else plain_numbers
        label(ax.xaxis)
        (plain_numbers if is_residual else label)(ax.yaxis)

    told = "True less predicted responses" if is_residual else "Predictions on the line are exact"
    return Figure(draw, f"{told}, {trial.rows} rows, in {trial.unit}.")


def _intervals(trial: Trial, report: ModelReport, bounds: Array, most: int = 200) -> Figure:
    def draw(ax: Axes) -> None:
        order = np.argsort(report.predictions.values, kind="stable")
        order = order[np.linspace(0, len(order) - 1, min(len(order), most)).astype(int)]
        y, (low, high) = report.truth.y[order], bounds[order].T
        places, inside = np.arange(len(order)), (low <= y) & (y <= high)
        ax.vlines(places, low, high, color=ACCENT, alpha=0.35, linewidth=1.4)
        ax.plot(places[inside], y[inside], ".", color=ACCENT, label="inside")
        ax.plot(places[~inside], y[~inside], "x", color=WARM, label="outside")
        ax.set_xticks([])
        ax.set(xlabel="Rows, sorted by prediction", ylabel="True response")
        ax.set_title("Intervals of 90% coverage")
        # Predictions ascend, so that this corner is empty.
        ax.legend(frameon=False, fontsize=9, loc="upper left")
        (label_dates if trial.has_dates else plain_numbers)(ax.yaxis)

    return Figure(draw, f"Lines are intervals, marks are true responses, in {trial.unit}.")
