"""Bars: the weights of the kernels and the relevance of the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mercer._typing import Array
from mercer.inspection._display import (
    BAR_COLOR,
    EstimatorDisplay,
    axes,
    feature_names,
    feature_relevance,
    learned_terms,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_LABEL = 36
"""Characters of a bar's label; the rest would leave no room for the bars."""


class KernelWeightsDisplay(EstimatorDisplay):
    """Bars of the weights of a learned kernel, labeled by its base kernels.

    Parameters
    ----------
    labels : sequence of str of shape (n_kernels,)
        What each base kernel is, in a few words.
    weights : array-like of shape (n_kernels,)
        The coefficients of the base kernels, or their shares; dimensionless.
    quantity : str, default="Weight"
        What the bars are: `"Share"` for a learner's `shares_`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    FeatureRelevanceDisplay : What the kernels read.

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
    def _of(cls, estimator: BaseEstimator) -> Self:
        kernels, weights = learned_terms(estimator)
        return cls([kernel.describe() for kernel in kernels], weights)

    def plot(self, ax: Axes | None = None, *, max_kernels: int = 20, **kwargs: Any) -> Self:
        """Draw the bars, the first kernel on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure where None.
        max_kernels : int, default=20
            Where there are more kernels, only those of the largest absolute weight are drawn.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        KernelWeightsDisplay
        """
        shown = np.sort(np.argsort(-np.abs(self.weights), kind="stable")[:max_kernels])
        self.ax_ = _bars([self.labels[k] for k in shown], self.weights[shown], ax, kwargs)
        title = _title(f"{self.quantity}s of the kernels", shown, self.weights)
        self.ax_.set(xlabel=self.quantity, title=title)
        self.figure_ = self.ax_.figure
        return self


class FeatureRelevanceDisplay(EstimatorDisplay):
    r"""Bars of how strongly the learned kernel reads each feature.

    Feature z has relevance :math:`\sum_k w_k / s_{kz}^2`, where kernel k has weight w_k and width
    s_kz along the feature. A kernel with one width reads all its features alike; a linear kernel
    counts one for each of its columns; a kernel of neither sort counts nothing.

    Parameters
    ----------
    features : sequence of str of shape (n_features,)
        Names of the features.
    relevance : array-like of shape (n_features,)
        In units of one over the feature's unit squared: comparable between features on one scale.

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
    def _of(cls, estimator: BaseEstimator) -> Self:
        return cls(feature_names(estimator), feature_relevance(estimator))

    def plot(self, ax: Axes | None = None, *, max_features: int = 20, **kwargs: Any) -> Self:
        """Draw the bars, the most relevant feature on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure where None.
        max_features : int, default=20
            Only the most relevant features are drawn where there are more.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        FeatureRelevanceDisplay
        """
        shown = np.argsort(-self.relevance, kind="stable")[:max_features]
        self.ax_ = _bars([self.features[z] for z in shown], self.relevance[shown], ax, kwargs)
        title = _title("Relevance of the features", shown, self.relevance)
        self.ax_.set(xlabel="Relevance: weighted 1 / width$^2$", title=title)
        self.figure_ = self.ax_.figure
        return self


def _title(title: str, shown: npt.NDArray[np.intp], of: Array) -> str:
    return title if shown.size == of.size else f"{title}, {shown.size} of {of.size}"


def _bars(labels: list[str], lengths: Array, ax: Axes | None, style: dict[str, Any]) -> Axes:
    """Horizontal bars, the first on top."""
    ax = axes(ax)
    positions = np.arange(len(labels))
    ax.barh(positions, lengths, **{"color": BAR_COLOR, "height": 0.7, **style})
    ax.set_yticks(positions, [_short(label) for label in labels])
    # Room for a few bars at least: one alone would fill the picture.
    ax.set_ylim(max(len(labels), 3) - 0.4, -0.6)
    return ax


def _short(label: str) -> str:
    return label if len(label) <= _MAX_LABEL else f"{label[: _MAX_LABEL - 1]}…"
