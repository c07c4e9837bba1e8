"""Predictors on Nyström features of all rows, and kernels whose widths suit that many rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from mercer._blocks.passes import current_hooks
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.folds import sample_rows
from mercer._data.sample import TargetEncoding
from mercer._gram.tiles import map_tiles
from mercer._model_selection.calibration import Calibration, calibrate
from mercer._model_selection.scoring import PredictionScorer
from mercer._nystroem.feature_ridge import LinearFit, RidgeChoice, ridge_on_features
from mercer._nystroem.features import (
    KernelColumns,
    NormalEquations,
    choose_centers,
    nystroem_features,
)
from mercer._solvers.left_out import descended
from mercer._typing import Array, Features, RandomState
from mercer.kernels import Kernel
from mercer.kernels._composition import Composite
from mercer.kernels._distances import log_interval

_CALIBRATED_ROWS = 10_000
"""Probabilities are calibrated on at most this many rows of the sample."""


@dataclass(frozen=True)
class NystroemModel:
    """A predictor on a kernel's values at centers; it holds no other rows of the training table.

    Attributes
    ----------
    columns : KernelColumns
    encoding : TargetEncoding
    choice : RidgeChoice
        Ridge regression of standardized responses or class indicators, and its cross-validation.
    one_dimensional : bool
        Whether predictions have shape (n_rows,).
    calibration : Calibration, default=None
        Of class indicators, to probabilities; None for responses.
    """

    columns: KernelColumns
    encoding: TargetEncoding
    choice: RidgeChoice
    one_dimensional: bool
    calibration: Calibration | None = None

    def values(self, X: Features) -> Array:
        """Predicted responses or indicators in the target's encoding, shape (n_rows, n_outputs).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        """
        return _values(self.columns, self.choice.fit, X)

    def decision_function(self, X: Features) -> Array:
        """Logarithms of the probabilities of classes, or for two classes of their ratio.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
        """
        logarithms = np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))
        return logarithms[:, 1] - logarithms[:, 0] if logarithms.shape[1] == 2 else logarithms

    def predict(self, X: Features) -> Array:
        """Predicted responses in their own unit, or labels.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_outputs) for several responses
        """
        predicted = self.values(X)
        if self.calibration is not None:
            predicted = self.calibration.probabilities(predicted)
        return self.decode(predicted)

    def decode(self, values: Array) -> Array:
        """Responses in their own unit, or the labels of the largest indicators, shaped like y.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_outputs)
        """
        decoded = self.encoding.decode(values)
        return decoded[:, 0] if self.one_dimensional and decoded.ndim == 2 else decoded

    def predict_proba(self, X: Features) -> Array:
        """Probabilities of the classes, in their order, shape (n_rows, n_classes).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        """
        assert self.calibration is not None
        return self.calibration.probabilities(self.values(X))

    def out_of_fold(self, X: Features, rows: DrawnSample) -> Array:
        """Predict training rows by the fits without their folds, in the target's encoding.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        rows : DrawnSample
            The same rows, which says where they are in the training table.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            The mean over folds, NaN for rows that none holds out.
        """
        fits = [fit or self.choice.fit for fit in self.choice.fold_fits]
        return _out_of_fold(self.columns, fits, X, rows)


def _values(columns: KernelColumns, fit: LinearFit, X: Features) -> Array:
    """Values of a linear function, tile by tile in threads: O(n m d) for m centers."""
    tiles = list(columns.tiles(X.shape[0]))
    found = map_tiles(lambda rows: fit.predict(columns(X[rows])), tiles)
    return np.concatenate([np.empty((0, len(fit.intercept))), *found])


def _out_of_fold(
    columns: KernelColumns, fits: Sequence[LinearFit | None], X: Features, rows: DrawnSample
) -> Array:
    """Mean predictions of rows by the fits without their folds, NaN where there is none."""
    n_values = max(len(fit.intercept) for fit in fits if fit is not None)
    total, counts = np.zeros((X.shape[0], n_values)), np.zeros((X.shape[0], 1))
    for inside, fit in zip(rows.held_out(len(fits)), fits, strict=True):
        if fit is not None:
            total[inside] += _values(columns, fit, X[inside])
            counts[inside] += 1.0
    return total / np.where(counts > 0.0, counts, np.nan)


def fit_nystroem(
    kernel: Kernel,
    data: DrawnSample,
    encoding: TargetEncoding,
    *,
    n_components: int = 1000,
    alphas: Array | None = None,
    random_state: RandomState = 0,
    scorer: PredictionScorer | None = None,
) -> NystroemModel:
    """Fit a predictor with a given kernel to all rows of a source, in one pass.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    data : DrawnSample
        The source, and a sample of its rows, from which centers are chosen.
    encoding : TargetEncoding
        Of the target, with all classes that occur.
    n_components : int, default=1000
        Number of centers.
    alphas : ndarray of shape (n_alphas,), default=None
        Penalties that are compared by cross-validation.
    random_state : int, RandomState instance or None, default=0
        Draws the centers, and the rows for the calibration and the scores.
    scorer : PredictionScorer, default=None
        Chooses among the penalties by the predictions of sampled rows out of fold.

    Returns
    -------
    NystroemModel

    Raises
    ------
    ValueError
        If a label is none of the classes, the kernel has values that are not finite, or a
        parameter is out of range.

    Notes
    -----
    Class indicators are regressed, and probabilities are those of a logistic regression on the
    predicted indicators of sampled rows out of fold. Logistic regression on the features predicts
    no better than this, and takes an iteration over all rows some dozens of times.

    O(n m^2 + m^3) time for n rows and m centers; memory for five m x m matrices for each thread, or
    two where five exceed scikit-learn's `working_memory`.
    """
    features = nystroem_features(kernel, choose_centers(data.X, n_components, random_state))
    statistic = NormalEquations(
        features, encoding, data.all_weights, groups=data.all_groups, listed=data.listed
    )
    hooks = current_hooks()
    sums = data.source.reduce(statistic, on_rows=hooks.on_rows, client=hooks.client)
    codes = None if encoding.classes is None else encoding.codes_of(data.y)
    part = data
    if codes is not None or scorer is not None:
        part = data.take(rows := data.covered)
        codes = None if codes is None else codes[rows]
        part = part.take(sample_rows(len(part), _CALIBRATED_ROWS, codes, random_state))
    totals = np.sum([fold.values for fold in sums], axis=0)

    def scores_of(fits: list[LinearFit | None], alphas: Array) -> Array:
        assert scorer is not None
        values = _out_of_fold(features.columns, fits, part.X, part)
        known = np.isfinite(values).all(axis=1)
        inside, paths = part.take(np.flatnonzero(known)), np.split(values[known], len(alphas), 1)
        found = np.array([_score(scorer, inside, encoding, path, totals) for path in paths])
        if not np.isfinite(found).any():
            raise ValueError("scoring is not defined on the held-out rows: pass another one.")
        return np.where(np.isfinite(found), found, -np.inf)

    choice = ridge_on_features(
        sums,
        features,
        alphas,
        mean_weight=data.all_weights.average,
        scores_of=None if scorer is None else scores_of,
        listed=data.listed,
    )
    model = NystroemModel(features.columns, encoding, choice, data.y.ndim == 1)
    if encoding.classes is None:
        return model
    indicators = model.out_of_fold(part.X, part)
    return replace(model, calibration=_calibrated(part, encoding, indicators, totals))


def _calibrated(
    part: DrawnSample, encoding: TargetEncoding, indicators: Array, totals: Array
) -> Calibration:
    """Probabilities from indicators of some rows out of fold, and the totals of all rows."""
    weights = part.weights.values
    return calibrate(indicators, encoding.codes_of(part.y), totals, weights / weights.mean())


def _score(
    scorer: PredictionScorer,
    part: DrawnSample,
    encoding: TargetEncoding,
    values: Array,
    totals: Array,
) -> float:
    """The score of values predicted out of fold, NaN where the scorer is not defined on them."""
    if encoding.classes is None:
        found = encoding.decode(values).reshape(part.y.shape)
    else:
        found = _calibrated(part, encoding, values, totals).probabilities(values)
    try:
        return scorer(part.y, found, part.weights, encoding.classes)
    except ValueError:
        return float(np.nan)


def with_width_factor(kernel: Kernel, log_factor: float) -> Kernel:
    """The kernel with all its widths multiplied by a factor.

    Parameters
    ----------
    kernel : Kernel
        Parts without a width, such as linear kernels, stay as they are. No width leaves bounds
        that are given as numbers.
    log_factor : float
        Logarithm of the factor.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> with_width_factor(Gaussian(2.0), float(np.log(3.0))).bandwidth
    6.0
    """
    if isinstance(kernel, Composite):
        parts = [with_width_factor(part, log_factor) for part in kernel._parts()]
        return kernel._with_parts(parts)
    theta, widths = np.array(kernel.theta, dtype=float), slice(kernel.structure.n_widths)
    interval = log_interval(getattr(kernel, "bounds", "data")) if theta[widths].size else None
    low, high = (-np.inf, np.inf) if interval is None else interval
    low, high = np.minimum(low, theta[widths]), np.maximum(high, theta[widths])
    theta[widths] = np.clip(theta[widths] + log_factor, low, high)
    return kernel.with_theta(theta)


def rescaled_kernel(
    kernel: Kernel,
    data: DrawnSample,
    encoding: TargetEncoding,
    random_state: RandomState,
    *,
    max_rows: int = 10_000,
    n_components: int = 500,
) -> Kernel:
    """The kernel with the width factor of least cross-validated error.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table, learned from fewer rows.
    data : DrawnSample
    encoding : TargetEncoding
    random_state : int, RandomState instance or None
        Draws rows and centers.
    max_rows : int, default=10_000
        Factors are compared on at most this many of the samples.
    n_components : int, default=500
        Number of centers, with which a factor takes less than a second.

    Returns
    -------
    Kernel
        The same, if it has no width or one is the best factor.

    Notes
    -----
    The best kernel is narrower for more rows, while ratios of widths, which show how relevant
    features are, change less. Factors are powers of the square root of two between 1/8 and 8. They
    are tried from one on in the direction in which errors of ridge regression on Nyström features
    fall, in five folds (benchmarks/large_tables.py).
    """

    def widened(step: int) -> Kernel:
        return with_width_factor(kernel, step * float(np.log(2.0) / 2.0))

    if widened(0) == widened(1) == widened(-1):
        return kernel
    codes = None if encoding.classes is None else encoding.codes_of(data.y)
    rows = sample_rows(len(data.y), max_rows, codes, random_state)
    part = data.take(rows)
    source = block_source(part.X, part.y)
    listed = None if part.listed is None else part.listed.take(part.positions)
    centers = choose_centers(part.X, n_components, random_state)

    @cache
    def loss(step: int) -> float:
        features = nystroem_features(widened(step), centers)
        statistic = NormalEquations(
            features, encoding, part.weights, groups=part.groups, listed=listed
        )
        sums, weight = source.reduce(statistic), part.weights.average
        found = ridge_on_features(sums, features, mean_weight=weight, listed=listed)
        return float(found.losses.min())

    best = descended(loss, 0, (-6, 6))
    return kernel if best == 0 else widened(best)
