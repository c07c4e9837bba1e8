"""What the displays share: reading a fitted estimator, and axes to draw on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from mercer.kernels._kernel import Kernel

BAR_COLOR = "#2f6f9f"


class Display:
    """A picture that knows where it was drawn."""

    ax_: Axes
    figure_: Figure | SubFigure


class EstimatorDisplay(Display):
    """A picture of a fitted estimator that needs no samples."""

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw what a fitted estimator learned.

        Parameters
        ----------
        estimator : fitted learner or predictor, Pipeline ending in one, or search over either
        ax : matplotlib Axes, default=None
            Where to draw; a new figure where None.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        The display, drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        """
        return cls._of(estimator).plot(ax=ax, **kwargs)

    @classmethod
    def _of(cls, estimator: BaseEstimator) -> Self:
        raise NotImplementedError

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the picture; sets `ax_` and `figure_`."""
        raise NotImplementedError


def best_of(estimator: BaseEstimator) -> Any:
    """Take the estimator that a fitted search found best; any other as it is."""
    return getattr(estimator, "best_estimator_", estimator)


def learned(estimator: BaseEstimator) -> Any:
    """Find the step that learned the kernel: of a pipeline, the last; of a search, the best."""
    estimator = best_of(estimator)
    step = best_of(estimator[-1]) if isinstance(estimator, Pipeline) else estimator
    check_is_fitted(step, "kernel_")
    return step


def learned_terms(estimator: BaseEstimator) -> tuple[list[Kernel], Array]:
    """Read the base kernels of a fitted estimator, and their weights.

    Parameters
    ----------
    estimator : fitted learner or predictor, Pipeline ending in one, or search over either

    Returns
    -------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
    """
    kernel = learned(estimator).kernel_
    # Products have kernels as well, but only a sum has weights.
    if hasattr(kernel, "weights"):
        return list(kernel.kernels), np.asarray(kernel.weights, dtype=float)
    return [kernel], np.ones(1)


def feature_relevance(estimator: BaseEstimator) -> Array:
    """Sum 1 / width^2 of each feature over the kernels, weighted.

    Parameters
    ----------
    estimator : fitted learner or predictor, Pipeline ending in one, or search over either

    Returns
    -------
    ndarray of shape (n_features,)
    """
    n_features = learned(estimator).n_features_in_
    kernels, weights = learned_terms(estimator)
    relevance = np.zeros(n_features)
    for kernel, weight in zip(kernels, weights, strict=True):
        relevance += weight * kernel.relevance(n_features)
    return relevance


def feature_names(estimator: BaseEstimator) -> list[str]:
    """Name the features that the learned kernel reads, as well as the estimator knows them."""
    step, estimator = learned(estimator), best_of(estimator)
    if hasattr(step, "feature_names_in_"):
        return [str(name) for name in step.feature_names_in_]
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            return [str(name) for name in estimator[:-1].get_feature_names_out()]
        except (AttributeError, ValueError, NotFittedError):
            pass  # a step that does not name its outputs
    return [f"x{z}" for z in range(step.n_features_in_)]


def axes(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Drawing needs matplotlib: pip install "mercer[plot]"') from error
    return plt.subplots(layout="constrained")[1]
