"""The display of the learned Gram matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length

from mercer._data.folds import evenly_spaced
from mercer._data.types import Array, Features
from mercer.inspection._display import Display, axes, last_step, learned

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class GramMatrixDisplay(Display):
    """Image of the learned Gram matrix, with the samples ordered by class or by response.

    If the kernel agrees with the target, the image has bright blocks along the diagonal, one for
    each class, or a bright band if the response is continuous.

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        The Gram matrix of samples in any order.
    y : array-like of shape (n_samples,)
        The class or the response of each sample, in the same order.
    discrete : bool, default=None
        Whether `y` holds classes; if None, this is inferred from its values.
    n_samples : int, default=None
        Total number of samples for the title, if the given samples are a subset.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import GramMatrixDisplay
    >>> display = GramMatrixDisplay(np.eye(4), ["b", "a", "b", "a"]).plot()
    >>> display.y.tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(
        self,
        gram: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        discrete: bool | None = None,
        n_samples: int | None = None,
    ) -> None:
        gram, y = np.asarray(gram, dtype=float), _one_column(y)
        if gram.shape != (y.size, y.size):
            raise ValueError(
                f"gram must have shape {(y.size, y.size)}, one row and column for each entry of y; "
                f"got {gram.shape}."
            )
        self.discrete = _holds_classes(y) if discrete is None else discrete
        order = np.argsort(y, kind="stable")
        self.gram: Array = gram[np.ix_(order, order)]
        self.y = y[order]
        self.n_samples = y.size if n_samples is None else n_samples

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Features,
        y: npt.ArrayLike,
        *,
        max_samples: int = 1000,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the Gram matrix of a fitted estimator's learned kernel on some samples.

        Parameters
        ----------
        estimator : fitted learner or predictor, Pipeline ending in one, or search over either
        X : array-like of shape (n_samples, n_features)
            Samples in the form that the estimator takes; if its kernels are precomputed, a stack of
            shape (n_samples, n_samples, n_kernels).
        y : array-like of shape (n_samples,)
            Classes or responses of the samples.
        max_samples : int, default=1000
            Maximum number of samples. If there are more, an evenly spaced subset is drawn, because
            a screen shows no more. This also keeps the Gram matrix small.
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        **kwargs : dict
            Passed to `plot` and by it to matplotlib.

        Returns
        -------
        GramMatrixDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If `X` and `y` differ in length.
        """
        learner, y = learned(estimator), _one_column(y)
        check_consistent_length(X, y)
        X, step = last_step(estimator, X)
        rows = np.argsort(y, kind="stable")[evenly_spaced(y.size, max_samples)]
        discrete = not is_regressor(step) and _holds_classes(y)
        selected = _safe_indexing(X, rows)
        # A stack of Gram matrices has samples as columns as well.
        gram = learner.learned_gram(selected[:, rows] if np.ndim(selected) == 3 else selected)
        display = cls(gram, y[rows], discrete=discrete, n_samples=y.size)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the matrix as an image.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.imshow`. Unless `vmin` and `vmax` are given, the colors
            span the central 98 % of the entries, because the diagonal is often much larger than the
            other entries.

        Returns
        -------
        GramMatrixDisplay
        """
        ax = axes(ax)
        low, high = np.percentile(self.gram, [1, 99])
        style = {"cmap": "viridis", "vmin": low, "vmax": high, "interpolation": "nearest"}
        image = ax.imshow(self.gram, **{**style, **kwargs})
        ax.figure.colorbar(image, ax=ax, label="Kernel", shrink=0.85, extend="both")
        part = f",\n{self.y.size} of {self.n_samples} samples"
        title = "Gram matrix, ordered by " + ("class" if self.discrete else "response")
        ax.set_title(title + (part if self.y.size < self.n_samples else ""))
        if self.discrete:
            self._mark_classes(ax)
        else:
            ticks = [0, self.y.size // 2, self.y.size - 1]
            # Four digits, and no powers of ten.
            labels = [f"{float(f'{self.y[tick]:.4g}'):,.10g}" for tick in ticks]
            ax.set_xticks(ticks, labels)
            ax.set_yticks(ticks, labels)
            ax.set(xlabel="Samples, by rising response", ylabel="Samples, by rising response")
        return self._drawn_on(ax)

    def _mark_classes(self, ax: Axes) -> None:
        """Draw lines between the classes, and name the classes on both axes."""
        classes, counts = np.unique(self.y, return_counts=True)
        ends = np.cumsum(counts)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="white", linewidth=0.8)
            ax.axvline(end - 0.5, color="white", linewidth=0.8)
        centers, labels = ends - counts / 2 - 0.5, [str(name) for name in classes]
        # An axis has room for about 30 letters.
        room = 30.0 * np.diff(centers).min(initial=self.y.size) / self.y.size
        is_crowded = max(map(len, labels)) >= room
        ax.set_xticks(centers, labels, rotation=90 if is_crowded else 0)
        ax.set_yticks(centers, labels)
        ax.set(xlabel="Samples, by class", ylabel="Samples, by class")


def _one_column(y: npt.ArrayLike) -> Array:
    """Return `y` with one dimension, which is the first output if there are several."""
    y = np.asarray(y)
    return y if y.ndim == 1 else y.reshape(y.shape[0], -1)[:, 0]


def _holds_classes(y: Array, most: int = 20) -> bool:
    """Return whether `y` holds classes, and no more than can be labeled legibly."""
    continuous = type_of_target(y).startswith("continuous")
    return not continuous and np.unique(y).size <= most
