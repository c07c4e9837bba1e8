"""Bar plots of the weights of kernels and of the relevance of features."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mercer._data.types import Array
from mercer.inspection._display import BAR_COLOR, Display, axes, feature_names, kernel_terms

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _BarsDisplay(Display):
    """Horizontal bars with names, of which the first is on top."""

    def _draw(
        self, names: list[str], values: Array, shown: Array, title: str, ax: Axes | None, style: Any
    ) -> Self:
        """Draw the bars at the positions `shown`, whose number the title states unless all are."""
        ax = axes(ax)
        # Wrapped labels leave room for the bars.
        labels = ["\n".join(wrap(names[k], 36, max_lines=2, placeholder="…")) for k in shown]
        positions = np.arange(len(labels))
        ax.barh(positions, values[shown], **{"color": BAR_COLOR, "height": 0.7, **style})
        ax.set_yticks(positions, labels)
        ax.set_ylim(max(len(labels), 3) - 0.4, -0.6)
        part = f", {shown.size} of {values.size}" * (shown.size < values.size)
        ax.set(title=title + part)
        return self._drawn_on(ax)


class KernelWeightsDisplay(_BarsDisplay):
    """Bar plot of the share that each kernel has in a learned sum of kernels.

    A share is the fraction that the kernel contributes to the trace of the learned Gram matrix. The
    weights themselves depend on the scale of the base kernels, so that a large weight may have
    little effect.

    Parameters
    ----------
    labels : sequence of str of shape (n_kernels,)
        A short description of each base kernel.
    shares : array-like of shape (n_kernels,)
        The share of each base kernel, negative for a negative weight; the magnitudes sum to one.
    quantity : str, default="Share of the learned kernel's trace"
        Label of the axis, which names the total to which the shares refer.

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
    "Share of the learned kernel's trace"
    """

    def __init__(
        self,
        labels: Sequence[str],
        shares: npt.ArrayLike,
        *,
        quantity: str = "Share of the learned kernel's trace",
    ) -> None:
        self.labels = list(labels)
        self.quantity = quantity
        self.shares = _values(shares, self.labels, "shares", "labels")

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the shares of a fitted estimator's kernels.

        Parameters
        ----------
        estimator : fitted learner or predictor, Pipeline ending in one, or search over either
            For a stack, the candidates that it kept are drawn, with their shares of the sum of its
            weights.
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
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
        terms = kernel_terms(estimator)
        total = {"kernels": "learned kernel's trace", "predictions": "stack's weights"}
        quantity = f"Share of the {total[terms.combines]}"
        return cls(terms.labels, terms.shares, quantity=quantity).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, max_kernels: int = 20, **kwargs: Any) -> Self:
        """Draw the bars, with the first kernel on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        max_kernels : int, default=20
            Maximum number of bars. The kernels with the largest absolute shares are drawn.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        KernelWeightsDisplay
        """
        shown = np.sort(np.argsort(-np.abs(self.shares), kind="stable")[:max_kernels])
        self._draw(self.labels, self.shares, shown, "Shares of the kernels", ax, kwargs)
        negative = "\n(to the left: negative weights)" if (self.shares[shown] < 0.0).any() else ""
        self.ax_.set(xlabel=self.quantity + negative)
        return self


class FeatureRelevanceDisplay(_BarsDisplay):
    r"""Bar plot of how strongly the learned kernel depends on each feature.

    Feature z has relevance :math:`\sum_k w_k / s_{kz}^2`, where kernel k has weight w_k and width
    s_kz along the feature. A kernel with a single width has this width along all its features, and
    a linear kernel counts one for each of its columns. The relevance of products, sums and
    projections is computed from their parts. Features of a kernel without a known formula have
    relevance NaN and no bar, and the title states how many features are drawn. For a stack, the
    relevances of each kernel sum to one, and so do the relevances that are drawn.

    Parameters
    ----------
    features : sequence of str of shape (n_features,)
        Names of the features.
    relevance : array-like of shape (n_features,)
        Relevance in units of 1 / (unit of the feature)^2, such as `kernel.relevance(n_features)`;
        NaN if unknown. Only features with the same unit can be compared.
    quantity : str, default="Relevance: weighted 1 / width$^2$"
        Label of the axis, which names the measure of relevance.

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

    def __init__(
        self,
        features: Sequence[str],
        relevance: npt.ArrayLike,
        *,
        quantity: str = "Relevance: weighted 1 / width$^2$",
    ) -> None:
        self.features = list(features)
        self.quantity = quantity
        self.relevance: Array = np.array(relevance, dtype=float)
        known = np.where(np.isnan(self.relevance), 0.0, self.relevance)
        _values(known, self.features, "relevance", "features")

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the relevance of the features of a fitted estimator.

        Parameters
        ----------
        estimator : fitted learner or predictor, Pipeline ending in one, or search over either
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        **kwargs : dict
            Passed to `plot`, such as `max_features`.

        Returns
        -------
        FeatureRelevanceDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If no feature has a known relevance, for example with callables and precomputed
            matrices, or if all relevances are zero.
        """
        terms = kernel_terms(estimator)
        if not np.nan_to_num(terms.relevance).any():
            why = "its weights are zero"
            if np.isnan(terms.relevance).any():
                why = "its formula, or that of one of its parts, is not known"
            raise ValueError(
                f"The learned kernel has no widths that relevance could be read off: {why}. "
                "sklearn.inspection.permutation_importance needs no formula."
            )
        unit = {
            "kernels": "weighted 1 / width$^2$",
            "predictions": "share of the sum over the features",
        }
        quantity = f"Relevance: {unit[terms.combines]}"
        display = cls(feature_names(estimator), terms.relevance, quantity=quantity)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, max_features: int = 20, **kwargs: Any) -> Self:
        """Draw the bars, with the most relevant feature on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        max_features : int, default=20
            Maximum number of bars. The most relevant features are drawn.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        FeatureRelevanceDisplay
        """
        known = np.flatnonzero(~np.isnan(self.relevance))
        shown = known[np.argsort(-self.relevance[known], kind="stable")][:max_features]
        self._draw(self.features, self.relevance, shown, "Relevance of the features", ax, kwargs)
        self.ax_.set(xlabel=self.quantity)
        return self


def _values(values: npt.ArrayLike, names: list[str], what: str, of_what: str) -> Array:
    """Return values as an array, or raise an error unless each name has a finite value."""
    found: Array = np.asarray(values, dtype=float)
    if found.shape != (len(names),) or not np.isfinite(found).all():
        raise ValueError(
            f"{what} must be finite, with one entry for each of the {len(names)} {of_what}; "
            f"got shape {found.shape}."
        )
    return found
