"""Coverage of intervals and sets by width, calibration of probabilities, and a display."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._data.types import Array, Features
from mercer._data.validation import check_coverage
from mercer.inspection._columns import quantile_bins
from mercer.inspection._display import BAR_COLOR, Display, axes, last_step
from mercer.inspection._held_out import Predictions, Truth
from mercer.inspection._intervals import Estimate, share

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Bin:
    """A bin of rows with similar interval width, set size, or predicted probability.

    Attributes
    ----------
    value : float
        Mean width, size or probability.
    share : Estimate
        Share of the rows that are covered, or belong to the class.
    count : int
    """

    value: float
    share: Estimate
    count: int


@dataclass(frozen=True)
class Coverage:
    """Coverage of the true values by intervals, or by sets of classes.

    Attributes
    ----------
    asked : float
        The requested probability.
    share : Estimate
        Share of the rows that are covered.
    width : float
        Mean width of the intervals, or mean size of the sets.
    bins : tuple of Bin
        Deciles of the width or sizes of the sets. There is a single bin if nine tenths of the
        widths differ by less than a tenth.
    """

    asked: float
    share: Estimate
    width: float
    bins: tuple[Bin, ...]


def bins_of(values: Array, hits: Array, units: Array) -> tuple[Bin, ...]:
    """Return shares of hits by decile of values, or by value if at most ten values are distinct.

    Parameters
    ----------
    values, hits : ndarray of shape (n_rows,)
    units : ndarray of int of shape (n_rows,)
    """
    distinct, codes = np.unique(values, return_inverse=True)
    codes = quantile_bins(values) if len(distinct) > 10 else codes
    return tuple(
        Bin(
            float(values[rows].mean()),
            share(hits[rows], np.unique(units[rows], return_inverse=True)[1]),
            len(rows),
        )
        for rows in (np.flatnonzero(codes == k) for k in range(int(codes.max()) + 1))
    )


def coverage_of(truth: Truth, regions: Array, asked: float) -> Coverage:
    """Return the coverage of intervals, or of sets of classes.

    Parameters
    ----------
    truth : Truth
    regions : ndarray of shape (n_rows, 2) or (n_rows, n_classes)
        Ends of the intervals, or indicators of the classes that the sets hold.
    asked : float
    """
    if truth.task == "regression":
        low, high = regions.T
        widths, hits = high - low, (low <= truth.y) & (truth.y <= high)
    else:
        widths = regions.sum(axis=1).astype(float)
        hits = regions[np.arange(len(regions)), np.searchsorted(truth.classes, truth.y)]
    hits = hits.astype(float)
    mean, every = float(widths.mean()), share(hits, truth.units)
    bins = bins_of(widths, hits, truth.units)
    if truth.task == "regression" and np.isfinite(mean):
        low, high = np.quantile(widths, [0.05, 0.95])
        bins = (Bin(mean, every, len(widths)),) if high < 1.1 * low else bins
    return Coverage(asked, every, mean, bins)


def calibration_of(truth: Truth, predictions: Predictions) -> tuple[Bin, ...]:
    """Return shares of rows that belong to a class by decile of its predicted probability.

    Parameters
    ----------
    truth : Truth
    predictions : Predictions

    Returns
    -------
    tuple of Bin
        Bins for the second of two classes, or for the most probable of several classes. The tuple
        is empty without probabilities.
    """
    if predictions.probabilities is None:
        return ()
    of = np.full(len(truth.y), 1)
    if len(truth.classes) != 2:
        of = predictions.probabilities.argmax(axis=1)
    own = predictions.probabilities[np.arange(len(of)), of]
    hits = (truth.classes[of] == truth.y).astype(float)
    return bins_of(own, hits, truth.units)


def regions(step: BaseEstimator, X: Features, coverage: float) -> Array:
    """Return the intervals that an estimator predicts, or its sets of the sorted classes.

    Parameters
    ----------
    step : fitted estimator
        Estimator with `predict_interval` or `predict_set`.
    X : array-like of shape (n_rows, n_features)
    coverage : float
    """
    with warnings.catch_warnings():
        # Empty sets and infinite intervals are visible in the result.
        warnings.filterwarnings("ignore", category=UserWarning)
        if hasattr(step, "predict_interval"):
            return np.asarray(step.predict_interval(X, coverage))
        # Grades in words are not in alphabetical order.
        return np.asarray(step.predict_set(X, coverage))[:, np.argsort(step.classes_)]


class CoverageDisplay(Display):
    """Plot that shows whether narrow and wide prediction intervals contain enough responses.

    Intervals of coverage 0.9 should contain nine of ten responses, whether they are narrow or wide.
    The plot has a point for each decile of the width. In the overall share, narrow intervals that
    contain too few responses and wide intervals that contain too many cancel out.

    Parameters
    ----------
    measured : Coverage
        Coverage of the intervals, as in the `coverage` of a report.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelStackingRegressor
    >>> from mercer.inspection import CoverageDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 1.0, (400, 1))
    >>> y = X[:, 0] + (0.1 + X[:, 0]) * rng.normal(size=400)
    >>> model = KernelStackingRegressor(["rbf"]).fit(X[:200], y[:200])
    >>> display = CoverageDisplay.from_estimator(model, X[200:], y[200:])
    >>> len(display.measured.bins), round(display.measured.share.value, 1)
    (10, 0.9)
    """

    def __init__(self, measured: Coverage) -> None:
        self.measured = measured

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Features,
        y: npt.ArrayLike,
        *,
        coverage: float = 0.9,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coverage of the intervals that a regressor predicts.

        Parameters
        ----------
        estimator : fitted regressor with `predict_interval`, Pipeline ending in one, or search
        X : array-like of shape (n_samples, n_features)
            Samples to which the estimator was not fitted.
        y : array-like of shape (n_samples,)
            Responses of the samples.
        coverage : float, default=0.9
            Probability, between zero and one.
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        **kwargs : dict
            Passed to `plot`, and by it to matplotlib.

        Returns
        -------
        CoverageDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If the estimator predicts no intervals.
        ValueError
            If intervals are infinite, because the model has too few training rows.
        """
        check_is_fitted(estimator)
        check_coverage(coverage)
        check_consistent_length(X, y)
        encoded, step = last_step(estimator, X)
        if not hasattr(step, "predict_interval"):
            raise TypeError(f"{type(step).__name__} predicts no intervals.")
        truth = Truth("regression", column_or_1d(y, dtype=float), np.empty(0))
        found = coverage_of(truth, regions(step, encoded, coverage), coverage)
        if not np.isfinite(found.width):
            raise ValueError("Some intervals are infinite: pass a smaller coverage.")
        return cls(found).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the shares, with confidence intervals, against the mean widths.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, a new figure is created.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        CoverageDisplay
        """
        ax = axes(ax)
        bins = self.measured.bins
        widths = [one.value for one in bins]
        shares, low, high = np.array([(b.share.value, b.share.low, b.share.high) for b in bins]).T
        style = {"fmt": "o", "color": BAR_COLOR, "capsize": 3, **kwargs}
        ax.errorbar(widths, shares, yerr=[shares - low, high - shares], **style)
        ax.axhline(self.measured.asked, linestyle=":", color="0.4")
        ax.set(xlabel="Mean width of the intervals", ylabel="Share of responses inside")
        ax.set(title="Coverage by decile of width", ylim=(min(0.48, *low - 0.02), 1.02))
        return self._drawn_on(ax)
