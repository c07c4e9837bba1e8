"""Base class of the displays, and functions that read fitted estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._kernel_terms import KernelTerms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

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


def kernel_terms(estimator: BaseEstimator) -> KernelTerms:
    """Return the kernels that a fitted estimator learned, with their weights and shares.

    Parameters
    ----------
    estimator : fitted learner or predictor, Pipeline ending in one, or search over either
        The model to read.

    Returns
    -------
    KernelTerms
        Kernels, labels, weights, shares and relevance.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If it learns no kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import UniformCombination
    >>> from mercer.inspection import kernel_terms
    >>> learner = UniformCombination(["rbf", "linear"]).fit(*load_iris(return_X_y=True))
    >>> terms = kernel_terms(learner)
    >>> terms.labels, terms.shares.round(2)
    (['Gaussian, width 1', 'Linear'], array([0.15, 0.85]))
    """
    terms: KernelTerms = learned(estimator).kernel_terms()
    return terms


def learned(estimator: BaseEstimator) -> Any:
    """Return the estimator that learned the kernel: a pipeline's last step, a search's best."""
    estimator = best_of(estimator)
    step = best_of(estimator[-1]) if isinstance(estimator, Pipeline) else estimator
    check_is_fitted(step)
    if not hasattr(step, "kernel_terms"):
        raise TypeError(
            f"{type(step).__name__} has learned no kernel: this display takes a fitted estimator "
            "of mercer, a Pipeline that ends in one, or a search over either."
        )
    return step


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
