"""Displays of bars: the weights of the kernels, and the relevance of the features."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mercer._typing import Array
from mercer.inspection._display import (
    BAR_COLOR,
    Display,
    axes,
    feature_names,
    feature_relevance,
    labeled_weights,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_LABEL = 36
"""Lines of labels have at most this number of characters, to leave space for the bars."""
_MAX_LINES = 2
"""Labels of bars are cut after this number of lines."""
_MIN_BARS = 3
"""The axes are as high as for this number of bars at least: a single bar would fill them."""


class KernelWeightsDisplay(Display):
    """Bars of the weights of a learned kernel, labeled by its base kernels.

    Parameters
    ----------
    labels : sequence of str of shape (n_kernels,)
        A short description of each base kernel.
    weights : array-like of shape (n_kernels,)
        The coefficients of the base kernels, or their shares.
    quantity : str, default="Weight"
        The name of the weights on the axis: `"Share"` for a learner's `shares_`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    FeatureRelevanceDisplay : Shows which features the kernels depend on.

    Examples
    --------
    >>> from mercer.inspection import KernelWeightsDisplay
    >>> display = KernelWeightsDisplay(["Gaussian, width 1", "Gaussian, width 4"], [0.7, 0.3])
    >>> display.plot().ax_.get_xlabel()
    'Weight'
    """

    def __init__(
        self, labels: Sequence[str], weights: npt.ArrayLike, *, quantity: str = "Weight"
    ) -> None:
        self.labels = list(labels)
        self.quantity = quantity
        self.weights: Array = np.asarray(weights, dtype=float)
        if self.weights.shape != (len(self.labels),):
            raise ValueError(
                f"weights must have one entry for each of the {len(self.labels)} labels; "
                f"got shape {self.weights.shape}."
            )

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the weights of a fitted estimator.

        Parameters
        ----------
        estimator : fitted learner or predictor, Pipeline ending in one, or search over either
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        **kwargs : dict
            Passed to `plot`, such as `max_kernels`.

        Returns
        -------
        KernelWeightsDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        """
        labels, weights = labeled_weights(estimator)
        return cls(labels, weights).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, max_kernels: int = 20, **kwargs: Any) -> Self:
        """Draw the bars, the first kernel on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_kernels : int, default=20
            Maximum number of bars: those of the largest absolute weights are drawn.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        KernelWeightsDisplay
        """
        shown = np.sort(np.argsort(-np.abs(self.weights), kind="stable")[:max_kernels])
        ax = _bars([self.labels[k] for k in shown], self.weights[shown], ax, kwargs)
        title = _title(f"{self.quantity}s of the kernels", shown, self.weights)
        ax.set(xlabel=self.quantity, title=title)
        return self._drawn_on(ax)


class FeatureRelevanceDisplay(Display):
    r"""Bars of how strongly the learned kernel depends on each feature.

    Feature z has relevance :math:`\sum_k w_k / s_{kz}^2`, where kernel k has weight w_k and width
    s_kz along the feature. An isotropic kernel has the same width along all its features; a linear
    kernel counts one for each of its columns; a kernel of neither kind counts zero.

    Parameters
    ----------
    features : sequence of str of shape (n_features,)
        Names of the features.
    relevance : array-like of shape (n_features,)
        In units of 1 / (unit of the feature)^2, so that only features in the same unit can be
        compared.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from mercer.inspection import FeatureRelevanceDisplay
    >>> display = FeatureRelevanceDisplay(["age", "height"], [0.1, 0.8]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['height', 'age']
    """

    def __init__(self, features: Sequence[str], relevance: npt.ArrayLike) -> None:
        self.features = list(features)
        self.relevance: Array = np.asarray(relevance, dtype=float)
        if self.relevance.shape != (len(self.features),):
            raise ValueError(
                f"relevance must have one entry for each of the {len(self.features)} features; "
                f"got shape {self.relevance.shape}."
            )

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the relevance of the features of a fitted estimator.

        Parameters
        ----------
        estimator : fitted learner or predictor, Pipeline ending in one, or search over either
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        **kwargs : dict
            Passed to `plot`, such as `max_features`.

        Returns
        -------
        FeatureRelevanceDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        """
        relevance = feature_relevance(estimator)
        return cls(feature_names(estimator), relevance).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, max_features: int = 20, **kwargs: Any) -> Self:
        """Draw the bars, the most relevant feature on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        max_features : int, default=20
            Maximum number of bars: those of the most relevant features are drawn.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        FeatureRelevanceDisplay
        """
        shown = np.argsort(-self.relevance, kind="stable")[:max_features]
        ax = _bars([self.features[z] for z in shown], self.relevance[shown], ax, kwargs)
        title = _title("Relevance of the features", shown, self.relevance)
        ax.set(xlabel="Relevance: weighted 1 / width$^2$", title=title)
        return self._drawn_on(ax)


def _title(title: str, shown: npt.NDArray[np.intp], values: Array) -> str:
    """Add to a title how many of the values are shown, if not all are."""
    return title if shown.size == values.size else f"{title}, {shown.size} of {values.size}"


def _bars(labels: list[str], lengths: Array, ax: Axes | None, style: dict[str, Any]) -> Axes:
    """Draw horizontal bars, the first on top."""
    ax = axes(ax)
    positions = np.arange(len(labels))
    ax.barh(positions, lengths, **{"color": BAR_COLOR, "height": 0.7, **style})
    ax.set_yticks(positions, [_short(label) for label in labels])
    ax.set_ylim(max(len(labels), _MIN_BARS) - 0.4, -0.6)
    return ax


def _short(label: str) -> str:
    """Break a long label, and cut a very long one."""
    return "\n".join(wrap(label, _MAX_LABEL, max_lines=_MAX_LINES, placeholder="…"))
