"""The alignment along the search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mercer._typing import Array
from mercer.inspection._display import BAR_COLOR, EstimatorDisplay, axes, learned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_TICKS = 10
"""Every step has a tick up to so many; matplotlib would put ticks between few steps."""


class AlignmentPathDisplay(EstimatorDisplay):
    """Centered alignment with the target against the number of steps of the search.

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
    >>> AlignmentPathDisplay([0.31, 0.42, 0.43]).plot().ax_.get_xlabel()
    'Step'
    """

    def __init__(self, alignments: npt.ArrayLike) -> None:
        self.alignments: Array = np.asarray(alignments, dtype=float)
        if self.alignments.ndim != 1 or not self.alignments.size:
            raise ValueError("alignments must hold one number for each step, and at least one.")

    @classmethod
    def _of(cls, estimator: BaseEstimator) -> Self:
        found = learned(estimator)
        if not all(hasattr(step, "alignment") for step in found.history_):
            raise ValueError(
                f"The steps of {type(found).__name__} have no alignment: they lower the machines' "
                "objective, which history_ has for each."
            )
        return cls([step.alignment for step in found.history_])

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure where None.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        AlignmentPathDisplay
        """
        self.ax_ = axes(ax)
        steps = np.arange(1, self.alignments.size + 1)
        self.ax_.plot(steps, self.alignments, **{"marker": "o", "color": BAR_COLOR, **kwargs})
        if steps.size <= _MAX_TICKS:
            self.ax_.set_xticks(steps)
        else:
            self.ax_.locator_params(axis="x", integer=True)
        self.ax_.set(
            xlabel="Step", ylabel="Centered alignment (training)", title="Alignment with the target"
        )
        self.figure_ = self.ax_.figure
        return self
