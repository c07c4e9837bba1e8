"""Displays of what estimators learned: weights, relevance, alignments and the Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._blocks.own_encoders import on_numbers
from mercer._data.folds import evenly_spaced
from mercer._data.types import Array, Features
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


def last_step(model: BaseEstimator, X: Features) -> tuple[Features, BaseEstimator]:
    """Return rows as the last step of a model takes them, and this step.

    Parameters
    ----------
    model : fitted estimator, Pipeline, or search over either
    X : array-like of shape (n_rows, n_features)
    """
    model = best_of(model)
    if not isinstance(model, Pipeline):
        return X, model
    return (model[:-1].transform(X) if len(model) > 1 else X), best_of(model[-1])


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
    >>> display = AlignmentPathDisplay([0.31, 0.42, 0.43]).plot()
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
            Passed to `matplotlib.axes.Axes.plot`.

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

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the path, on an axis of alignments that starts at zero.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
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
        ax.set_ylim(bottom=min(0.0, ax.dataLim.ymin))
        return self._drawn_on(ax)


def _draw_bars(ax: Axes, names: list[str], values: Array, shown: Array, style: Any) -> str:
    """Draw bars at the positions `shown`, the first on top, and return their number if not all."""
    # Wrapped labels leave room for the bars.
    labels = ["\n".join(wrap(names[k], 36, max_lines=2, placeholder="…")) for k in shown]
    ax.barh(range(len(labels)), values[shown], **{"color": BAR_COLOR, "height": 0.7, **style})
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(max(len(labels), 3) - 0.4, -0.6)
    return f", {shown.size} of {values.size}" * (shown.size < values.size)


class KernelWeightsDisplay(Display):
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
        ax = axes(ax)
        part = _draw_bars(ax, self.labels, self.shares, shown, kwargs)
        negative = "\n(to the left: negative weights)" if (self.shares[shown] < 0.0).any() else ""
        ax.set(xlabel=self.quantity + negative, title=f"Shares of the kernels{part}")
        return self._drawn_on(ax)


class FeatureRelevanceDisplay(Display):
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
        names = terms.feature_names or [f"x{z}" for z in range(len(terms.relevance))]
        return cls(names, terms.relevance, quantity=quantity).plot(ax=ax, **kwargs)

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
        ax = axes(ax)
        part = _draw_bars(ax, self.features, self.relevance, shown, kwargs)
        ax.set(xlabel=self.quantity, title=f"Relevance of the features{part}")
        return self._drawn_on(ax)


def _values(values: npt.ArrayLike, names: list[str], what: str, of_what: str) -> Array:
    """Return values as an array, or raise an error unless each name has a finite value."""
    found: Array = np.asarray(values, dtype=float)
    if found.shape != (len(names),) or not np.isfinite(found).all():
        raise ValueError(
            f"{what} must be finite, with one entry for each of the {len(names)} {of_what}; "
            f"got shape {found.shape}."
        )
    return found


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
