"""A card of what a fitted estimator has learned, in HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

_STYLE = (
    "font:13px/1.5 system-ui,sans-serif;border:1px solid #8886;border-radius:6px;"
    "padding:.6em .9em;margin:.5em 0;max-width:46em;overflow-wrap:anywhere"
)


def model_card(estimator: Any, most: int = 8) -> str:
    """What a fitted estimator has learned: its score, kernels and relevance of the features.

    Parameters
    ----------
    estimator : estimator
        With a method `kernel_terms`.
    most : int, default=8
        Maximum numbers of kernels and of features that are listed, those of the largest shares.

    Returns
    -------
    str
        HTML in the colors of its surroundings; empty if the estimator is not fitted.
    """
    try:
        check_is_fitted(estimator)
        terms = estimator.kernel_terms()
    except NotFittedError:
        return ""
    parts = [f"<div>{escape(line)}</div>" for line in _scores(estimator)]
    order = np.argsort(-np.abs(terms.shares), kind="stable")[:most]
    rest = len(terms.shares) - len(order)
    name = "Predictions on" if terms.combines == "predictions" else "Kernel"
    rows = [(terms.labels[k], float(terms.shares[k])) for k in order]
    parts.append(_bars(name, rows, f"and {rest} more" if rest else ""))
    total = float(terms.relevance.sum())
    if total > 0.0 and len(terms.relevance) > 1:
        features = getattr(estimator, "feature_names_in_", None)
        order = np.argsort(-terms.relevance, kind="stable")[:most]
        names = [f"x{z}" if features is None else str(features[z]) for z in order]
        rest = len(terms.relevance) - len(order)
        shares = (terms.relevance[order] / total).tolist()
        rows = list(zip(names, shares, strict=True))
        parts.append(_bars("Relevance", rows, f"and {rest} more" if rest else ""))
    return f'<div class="mercer-card" style="{_STYLE}">{"".join(parts)}</div>'


def _scores(estimator: Any) -> list[str]:
    """Sentences on how well left-out rows were predicted."""
    found = []
    metric = "accuracy" if is_classifier(estimator) else "R²"
    scoring = getattr(estimator, "scoring", None)
    if scoring is not None:
        metric = scoring if isinstance(scoring, str) else "its score"
    if hasattr(estimator, "loo_score_"):
        found.append(f"Left-out rows: {metric} {estimator.loo_score_:.3f}")
    elif hasattr(estimator, "cv_results_"):
        best = float(np.nanmax(estimator.cv_results_["mean_test_score"]))
        found.append(f"Held-out rows, by which the penalty was chosen: {metric} {best:.3f}")
    if hasattr(estimator, "loss_"):
        found.append(f"Compressed: {estimator.loss_}")
    if getattr(estimator, "needs_refit_", None):
        found.append("Rows of updates are predicted worse than left-out rows: fit it anew.")
    return found


def _bars(title: str, rows: list[tuple[str, float]], rest: str) -> str:
    """A table with a bar for each share, whose length is its size."""
    lines = [
        f'<tr><td style="text-align:left">{escape(label)}</td>'
        f'<td style="text-align:right;white-space:nowrap;padding:0 .6em">{share:.1%}</td>'
        '<td style="width:9em"><span role="presentation" style="display:inline-block;height:.7em;'
        f'background:currentColor;opacity:.55;width:{100.0 * min(abs(share), 1.0):.1f}%"></span>'
        "</td></tr>"
        for label, share in rows
    ]
    caption = f'<caption style="text-align:left;font-weight:600">{escape(title)}</caption>'
    more = f'<tr><td colspan="3" style="text-align:left">{escape(rest)}</td></tr>' if rest else ""
    body = "".join([caption, *lines, more])
    return f'<table style="border-collapse:collapse;font:inherit">{body}</table>'
