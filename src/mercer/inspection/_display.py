"""Base class of displays, access to fitted estimators, and the display of alignments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._blocks.own_encoders import on_numbers
from mercer._data.types import Array
from mercer._search.records import KernelTerms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

BAR_COLOR = "#2f6f9f"
"""Default color of bars and lines in all displays."""


class Display:
    """Base class of displays, which store their data and the axes on which they are drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last call of `plot`.
    figure_ : matplotlib Figure
        The figure that contains the axes.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def _drawn_on(self, ax: Axes) -> Self:
        """Store the axes on which the display was drawn."""
        self.ax_, self.figure_ = ax, ax.figure
        return self


def best_of(estimator: BaseEstimator) -> BaseEstimator:
    """Return the best estimator of a fitted search, or any other estimator unchanged.

    For an estimator that encodes tables itself, alone or as the last step of a pipeline, the result
    is a pipeline whose last steps are its encoder and the estimator of encoded tables.

    Parameters
    ----------
    estimator : fitted estimator, Pipeline, or search over either
    """
    found = getattr(estimator, "best_estimator_", estimator)
    before, last = [], found
    if isinstance(found, Pipeline):
        before, last = found.steps[:-1], found[-1]
        last = getattr(last, "best_estimator_", last)
    step = on_numbers(last)
    if step is last:
        return found
    return Pipeline([*before, *make_pipeline(last.encoder_, step).steps])


def kernel_terms(estimator: BaseEstimator) -> KernelTerms:
    """Return the kernels that a fitted estimator learned, with their weights and shares.

    Parameters
    ----------
    estimator : fitted learner or predictor, Pipeline ending in one, or search over either
        The fitted model.

    Returns
    -------
    KernelTerms
        Kernels, labels, weights, shares and relevance.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If the estimator does not learn a kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import UniformCombination
    >>> from mercer.inspection import kernel_terms
    >>> learner = UniformCombination(["rbf", "linear"]).fit(*load_iris(return_X_y=True))
    >>> terms = kernel_terms(learner)
    >>> terms.labels, terms.shares.round(2)
    (['Gaussian, width 2.36', 'Linear'], array([0.11, 0.89]))
    """
    terms: KernelTerms = learned(estimator).kernel_terms()
    return replace(terms, feature_names=known_names(estimator))


def learned(estimator: BaseEstimator) -> BaseEstimator:
    """Return the estimator that learned the kernel, also from a pipeline or a search."""
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
    """Return the names of the kernel's features, or x0, x1, ... if they are not known."""
    names = known_names(estimator)
    return [f"x{z}" for z in range(learned(estimator).n_features_in_)] if names is None else names


def known_names(estimator: BaseEstimator) -> list[str] | None:
    """Return the names of the kernel's features; None if they are not known."""
    step, estimator = learned(estimator), best_of(estimator)
    if hasattr(step, "feature_names_in_"):
        return [str(name) for name in step.feature_names_in_]
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            return [str(name) for name in estimator[:-1].get_feature_names_out()]
        except (AttributeError, ValueError, NotFittedError):
            pass  # At least one step does not name its outputs.
    return None


def axes(ax: Axes | None) -> Axes:
    """Return the given axes, or the axes of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Drawing needs matplotlib: pip install "mercer[plot]"') from error
    return plt.subplots(layout="constrained")[1]


class AlignmentPathDisplay(Display):
    """Line plot of how well the learned kernel agrees with the target after each step of the fit.

    The measure is the centered alignment, which is between 0 and 1.

    Parameters
    ----------
    alignments : array-like of shape (n_steps,)
        Alignment of the learned kernel on the training set after each step, from 0 to 1.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from mercer.inspection import AlignmentPathDisplay
    >>> display = AlignmentPathDisplay.from_alignments([0.31, 0.42, 0.43])
    >>> display.ax_.get_xlabel(), float(display.ax_.get_ylim()[0])
    ('Step', 0.0)
    """

    def __init__(self, alignments: npt.ArrayLike) -> None:
        self.alignments: Array = np.asarray(alignments, dtype=float)
        if self.alignments.ndim != 1 or not self.alignments.size:
            raise ValueError("alignments must hold one number for each step, and at least one.")

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the alignments after each step of a fitted estimator.

        Parameters
        ----------
        estimator : fitted learner or predictor, Pipeline ending in one, or search over either
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        **kwargs : dict
            Passed to `plot`, which takes `magnified` and passes the others to matplotlib.

        Returns
        -------
        AlignmentPathDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If the estimator has no steps, or if the steps of its `history_` have no alignment, as
            for one-stage estimators, which minimize the objective of their predictor.
        """
        found = learned(estimator)
        if not hasattr(found, "history_"):
            raise ValueError(f"{type(found).__name__} learns no kernel in steps.")
        if not all(hasattr(step, "alignment") for step in found.history_):
            raise ValueError(
                f"The steps of {type(found).__name__} have no alignment: each lowers the objective "
                "of the predictor, which history_ holds."
            )
        return cls([step.alignment for step in found.history_]).plot(ax=ax, **kwargs)

    @classmethod
    def from_alignments(
        cls, alignments: npt.ArrayLike, *, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw given alignments, one for each step.

        Parameters
        ----------
        alignments : array-like of shape (n_steps,)
            Alignment after each step.
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        **kwargs : dict
            Passed to `plot`, which takes `magnified` and passes the others to matplotlib.

        Returns
        -------
        AlignmentPathDisplay

        Raises
        ------
        ValueError
            If `alignments` is empty or not one-dimensional.
        """
        return cls(alignments).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, magnified: bool = False, **kwargs: Any) -> Self:
        """Draw the path, on an axis of alignments that starts at zero.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        magnified : bool, default=False
            Whether the axis spans only the alignments of the path, which its label then states.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        AlignmentPathDisplay
        """
        ax = axes(ax)
        ax.set_autoscaley_on(True)  # This resets limits that were set below for another path.
        steps = np.arange(1, self.alignments.size + 1)
        ax.plot(steps, self.alignments, **{"marker": "o", "color": BAR_COLOR, **kwargs})
        ax.locator_params(axis="x", integer=True, min_n_ticks=1)
        label = "Centered alignment (training)"
        ax.set(xlabel="Step", ylabel=label, title="Alignment with the target")
        if magnified:
            ax.set_ylabel(f"{label},\nmagnified: the axis does not start at 0")
        else:
            ax.set_ylim(bottom=min(0.0, ax.dataLim.ymin))
        return self._drawn_on(ax)
