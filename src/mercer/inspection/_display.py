"""Base class of the displays, and functions that read fitted estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._gram.moments import trace_shares
from mercer._stacking.combined_gram import combined_gram
from mercer._stacking.kernel_stacking import KernelStacking
from mercer._typing import Array, Features

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from mercer.kernels._kernel import Kernel

BAR_COLOR = "#2f6f9f"
"""All displays draw bars and lines in this color unless they are told otherwise."""


class Display:
    """Base class of displays, which store what they draw and where they drew it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on, once `plot` has been called.
    figure_ : matplotlib Figure
        Their figure.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def _drawn_on(self, ax: Axes) -> Self:
        """Store the axes that were drawn on."""
        self.ax_, self.figure_ = ax, ax.figure
        return self


def best_of(estimator: BaseEstimator) -> Any:
    """Return the estimator that a fitted search found best; any other estimator unchanged."""
    return getattr(estimator, "best_estimator_", estimator)


def learned(estimator: BaseEstimator) -> Any:
    """Return the estimator that learned the kernel: a pipeline's last step, a search's best."""
    estimator = best_of(estimator)
    step = best_of(estimator[-1]) if isinstance(estimator, Pipeline) else estimator
    if isinstance(step, KernelStacking):
        check_is_fitted(step, "candidates_")
        return step
    if not hasattr(step, "kernel_"):
        check_is_fitted(step)
        raise TypeError(
            f"{type(step).__name__} has learned no kernel: this display takes a fitted estimator "
            "of mercer, a Pipeline that ends in one, or a search over either."
        )
    return step


def learned_gram(estimator: BaseEstimator, X: Features) -> Array:
    """Return the learned kernel between samples, shape (n_samples, n_samples).

    Parameters
    ----------
    estimator : fitted learner or predictor, or search over one
    X : array-like of shape (n_samples, n_features)
        Samples as the estimator itself takes them, not as the pipeline does that it ends.
    """
    step = learned(estimator)
    gram = combined_gram(step, X) if isinstance(step, KernelStacking) else step.kernel_(X)
    return np.asarray(gram)


def is_stack(estimator: BaseEstimator) -> bool:
    """Tell whether a fitted estimator combines predictions of kernels, rather than kernels."""
    return isinstance(learned(estimator), KernelStacking)


def labeled_shares(estimator: BaseEstimator) -> tuple[list[str], Array]:
    """Return descriptions of the kernels of a fitted estimator, and their shares.

    Parameters
    ----------
    estimator : fitted learner or predictor, Pipeline ending in one, or search over either

    Returns
    -------
    labels : list of str
    shares : ndarray of shape (n_kernels,)
        Parts of the learned kernel's trace, negative for negative weights. Of a stack, parts of the
        sum of its weights, for the candidates that it kept, the largest first.
    """
    step = learned(estimator)
    if isinstance(step, KernelStacking):
        kept = sorted((c for c in step.candidates_ if c.weight), key=lambda c: -c.weight)
        weights = np.array([c.weight for c in kept])
        return [c.description for c in kept], trace_shares(weights, np.ones(weights.size))
    kernels, weights = learned_terms(step)
    return [kernel.describe() for kernel in kernels], np.sign(weights) * kernel_shares(step)


def kernel_shares(estimator: BaseEstimator) -> Array:
    """Return each kernel's part of the learned kernel's trace, in the order of `learned_terms`.

    Parameters
    ----------
    estimator : fitted learner or predictor other than a stack, or Pipeline or search over one

    Returns
    -------
    ndarray of shape (n_kernels,)
        One for an estimator that was given its only kernel.
    """
    step = learned(estimator)
    return np.asarray(getattr(getattr(step, "learner_", step), "shares_", np.ones(1)))


def learned_terms(estimator: BaseEstimator) -> tuple[list[Kernel], Array]:
    """Return the base kernels of a fitted estimator, and their weights.

    Parameters
    ----------
    estimator : fitted learner or predictor, Pipeline ending in one, or search over either

    Returns
    -------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
    """
    step = learned(estimator)
    if isinstance(step, KernelStacking):
        return list(step.kernels_), np.asarray(step.weights_, dtype=float)
    kernel = step.kernel_
    # Products have `kernels` as well, but only sums have `weights`, which may be scaled.
    if hasattr(kernel, "weights"):
        return list(kernel.kernels), np.asarray(step.weights_, dtype=float)
    return [kernel], np.ones(1)


def feature_relevance(estimator: BaseEstimator) -> Array:
    """Return the weighted sum over the kernels of each feature's 1 / width^2.

    Of a stack, in which each kernel's relevances have a sum of one, so have theirs. Zeros where no
    kernel's formula is known.

    Parameters
    ----------
    estimator : fitted learner or predictor, Pipeline ending in one, or search over either

    Returns
    -------
    ndarray of shape (n_features,)
    """
    step = learned(estimator)
    n_features = step.n_features_in_
    if isinstance(step, KernelStacking):
        known = any(kernel.relevance(n_features).any() for kernel in step.kernels_)
        return np.asarray(step.relevance_) if known else np.zeros(n_features)
    kernels, weights = learned_terms(estimator)
    relevance = np.zeros(n_features)
    for kernel, weight in zip(kernels, weights, strict=True):
        relevance += weight * kernel.relevance(n_features)
    return relevance


def feature_names(estimator: BaseEstimator) -> list[str]:
    """Return the names of the learned kernel's features, x0, x1, ... where they are not known."""
    step, estimator = learned(estimator), best_of(estimator)
    if hasattr(step, "feature_names_in_"):
        return [str(name) for name in step.feature_names_in_]
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            return [str(name) for name in estimator[:-1].get_feature_names_out()]
        except (AttributeError, ValueError, NotFittedError):
            pass  # Some step does not name its outputs.
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
