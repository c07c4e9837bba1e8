"""Objectives of probabilistic kernel learning along a path of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from experiments.objective_values import ObjectiveValues, compare_objectives
from mercer._typing import Array, Features
from mercer.inspection._display import Display, axes
from mercer.probabilistic._likelihoods import Likelihood

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {
    "marginal": "marginal likelihood",
    "variational": "variational bound",
    "map": "joint MAP",
    "mkl_bound": "MKL (tangent)",
}
"""These attributes of `ObjectiveValues` are drawn, each with a label of the legend."""


class ObjectivePathDisplay(Display):
    """The marginal likelihood, its variational bound, joint MAP and MKL along a path of weights.

    The minimum of each curve is subtracted and marked. MKL is convex, the others need not be, and
    the minimum of joint MAP is the sparsest (Nickisch and Seeger 2011, figure 2).

    Parameters
    ----------
    values : list of ObjectiveValues
        One for each point of the path.
    positions : array-like of shape (n_points,), default=None
        Positions of the points on the path; None for equal steps from 0 to 1.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.objective_display import ObjectivePathDisplay
    >>> from mercer.kernels import Gaussian
    >>> from mercer.probabilistic import GaussianLikelihood
    >>> X = np.linspace(0.0, 3.0, 20)[:, None]
    >>> display = ObjectivePathDisplay.from_kernels(
    ...     X,
    ...     np.sin(2 * X).ravel(),
    ...     [Gaussian(0.3), Gaussian(1.0)],
    ...     np.linspace([2.0, 0.0], [0.0, 2.0], 5),
    ...     likelihood=GaussianLikelihood(0.1),
    ... )
    >>> display.ax_.get_xlabel()
    'Position on the path of weights'
    """

    def __init__(self, values: Sequence[ObjectiveValues], positions: Any = None) -> None:
        self.values = list(values)
        if len(self.values) < 2:
            raise ValueError("values must hold the objectives of at least two points of the path.")
        given = np.linspace(0.0, 1.0, len(self.values)) if positions is None else positions
        self.positions: Array = np.asarray(given, dtype=float)
        if self.positions.shape != (len(self.values),):
            raise ValueError("positions must hold one number for each point of the path.")

    @classmethod
    def from_kernels(
        cls,
        X: Features,
        y: Any,
        kernels: Sequence[Any],
        path: Any,
        *,
        likelihood: Likelihood,
        jitter: float = 0.1,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate the objectives along a path of weights, and draw them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels -1 and 1, or responses.
        kernels : sequence of Kernel, name or callable
        path : array-like of shape (n_points, n_kernels)
            Weights; the tangent of MKL equals the log-determinant at the middle point.
        likelihood : GaussianLikelihood, LaplaceLikelihood or LogisticLikelihood
        jitter : float, default=0.1
            White noise in the latent function.
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        ObjectivePathDisplay
        """
        weights = np.asarray(path, dtype=float)
        values = compare_objectives(
            X,
            y,
            kernels,
            weights,
            likelihood=likelihood,
            jitter=jitter,
            tangent_at=weights[len(weights) // 2],
        )
        return cls(values).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the objectives, each with its minimum subtracted.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        ObjectivePathDisplay
        """
        self.ax_ = axes(ax)
        for name, label in _LABELS.items():
            curve = self._curve(name)
            if np.isfinite(curve).all():
                lowest = int(np.argmin(curve))
                (line,) = self.ax_.plot(
                    self.positions, curve - curve[lowest], **{"label": label, **kwargs}
                )
                self.ax_.plot(self.positions[lowest], 0.0, "o", color=line.get_color())
        return self._finished("Objective less its minimum", "Objectives along a path of weights")

    def plot_determinant(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the concave ln|K + e I| and the tangent that replaces it in MKL.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None for a new figure.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        ObjectivePathDisplay
        """
        self.ax_ = axes(ax)
        for name, label, style in (
            ("log_determinant", "log-determinant", "-"),
            ("tangent", "tangent", "--"),
        ):
            options = {"label": label, "linestyle": style, **kwargs}
            self.ax_.plot(self.positions, self._curve(name), **options)
        return self._finished("ln|K + e I|", "Log-determinant and its tangent")

    def _curve(self, name: str) -> Array:
        return np.array([getattr(value, name) for value in self.values])

    def _finished(self, ylabel: str, title: str) -> Self:
        self.ax_.set(xlabel="Position on the path of weights", ylabel=ylabel, title=title)
        self.ax_.legend()
        self.figure_ = self.ax_.figure
        return self
