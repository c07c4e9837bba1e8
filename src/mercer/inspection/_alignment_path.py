"""The display of the alignment after each step of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mercer._typing import Array
from mercer.inspection._display import BAR_COLOR, Display, axes, learned

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AlignmentPathDisplay(Display):
    """Line of the centered alignment with the target after each step of the fit.

    Parameters
    ----------
    alignments : array-like of shape (n_steps,)
        Alignment of the learned kernel after each step, on the training set; from 0 to 1.

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
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : fitted learner or predictor, Pipeline ending in one, or search over either
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        **kwargs : dict
            Passed to `plot`, such as `magnified`, and by it to matplotlib.

        Returns
        -------
        AlignmentPathDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If the steps of the estimator's `history_` have no alignment, as those of one-stage
            estimators, which lower the objective of their predictor; or if there are no steps.
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
        """Draw a path of alignments that are known.

        Parameters
        ----------
        alignments : array-like of shape (n_steps,)
            Alignment after each step.
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        **kwargs : dict
            Passed to `plot`, such as `magnified`, and by it to matplotlib.

        Returns
        -------
        AlignmentPathDisplay

        Raises
        ------
        ValueError
            If `alignments` is not one-dimensional, or empty.
        """
        return cls(alignments).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, magnified: bool = False, **kwargs: Any) -> Self:
        """Draw the path, on an axis of alignments that starts at zero.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; those of a new figure where None.
        magnified : bool, default=False
            Whether the axis spans the alignments of the path alone, which its label then says.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        AlignmentPathDisplay
        """
        ax = axes(ax)
        ax.set_autoscaley_on(True)  # The limits set below for another path end here.
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
