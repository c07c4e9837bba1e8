"""Predictors for large tables, on Nyström features or on the kernel between all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.folds import evenly_spaced, sample_rows
from mercer._data.sample import Sample
from mercer._data.types import Array, Features, RandomState
from mercer._gram.devices import current_device
from mercer._gram.expansion import THE_TABLE, KernelTerm
from mercer._gram.memory import check_gram_memory
from mercer._gram.tiles import map_tiles
from mercer._model_selection.calibration import Calibration, calibrate
from mercer._model_selection.scoring import PredictionScorer
from mercer._nystroem.all_pairs import ridge_on_all_rows
from mercer._nystroem.feature_ridge import LinearFit, RidgeChoice, ridge_at, ridge_on_features
from mercer._nystroem.features import (
    MANY_VALUES,
    KernelColumns,
    NystroemFeatures,
    center_spectrum,
    choose_centers,
    nystroem_features,
    whitened,
)
from mercer._nystroem.moments import Moments, NormalEquations
from mercer._nystroem.single_precision import SinglePrecision
from mercer.kernels import Kernel

FEW_ROWS = 1000
"""Up to this many rows, fits with all rows as centers use features in double precision, which take
at most a second."""

_SAME_FIT = 1e-2
"""If the sums are over the rows of the model, predictions of a fit to them differ from those of the
model by less than this fraction of the targets' standard deviation, in root mean square. With other
rows, the fraction would be the square root of the degrees of freedom per row."""


@dataclass(frozen=True)
class NystroemModel:
    """A predictor from a kernel's values at centers, which stores no other training rows.

    All rows are centers if the matrix of their kernel values fits into memory.

    Attributes
    ----------
    columns : KernelColumns
    encoding : TargetEncoding
    choice : RidgeChoice
        Ridge regression of standardized responses or class indicators, and its cross-validation.
    one_dimensional : bool
        Whether predictions have shape (n_rows,).
    calibration : Calibration, default=None
        Maps class indicators to probabilities; None for responses.
    held_out : ndarray of shape (n_rows, n_outputs), default=None
        Out-of-fold predictions of all rows of the training table, if all of them are centers; NaN
        for rows that no fold holds out.
    totals : ndarray of shape (n_classes,), default=None
        Total weight of the rows of each class; None for responses.
    """

    columns: KernelColumns
    encoding: TargetEncoding
    choice: RidgeChoice
    one_dimensional: bool
    calibration: Calibration | None = None
    held_out: Array | None = None
    totals: Array | None = None

    def values(self, X: Features) -> Array:
        """Predict responses or indicators in the target's encoding, shape (n_rows, n_outputs).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        """
        return _values(self.columns, self.choice.fit, X)

    def term(self, view: str = THE_TABLE) -> tuple[KernelTerm, Array]:
        """Return the predictions as a term of an expansion, and a constant of shape (n_outputs,).

        Parameters
        ----------
        view : str, default="given"
            Name of the view that the kernel is evaluated on.
        """
        columns, fit = self.columns, self.choice.fit
        term = KernelTerm(columns.kernel, columns.centers, fit.coefficients, view)
        constants = columns.means + columns.kernel.offset
        return term, fit.intercept - constants @ fit.coefficients

    def decision_function(self, X: Features) -> Array:
        """Return logarithms of class probabilities, or of their ratio for two classes.

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
        """Predict responses in their original units, or labels.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_outputs) for several responses
        """
        return self.decode(self.values(X) if self.calibration is None else self.predict_proba(X))

    def decode(self, values: Array) -> Array:
        """Return responses in original units, or labels of the largest indicators, shaped like y.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_outputs)
        """
        decoded = self.encoding.decode(values)
        return decoded[:, 0] if self.one_dimensional and decoded.ndim == 2 else decoded

    def predict_proba(self, X: Features) -> Array:
        """Predict class probabilities, in the order of the classes, shape (n_rows, n_classes).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        """
        assert self.calibration is not None
        return self.calibration.probabilities(self.values(X))

    def out_of_fold(self, X: Features, rows: DrawnSample) -> Array:
        """Predict training rows out of fold, in the target's encoding.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        rows : DrawnSample
            The same rows, with their positions in the training table.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            The mean over folds, or NaN for rows that no fold holds out.
        """
        return self._out_of_fold(X, rows)[0]

    def deviations_out_of_fold(self, X: Features, rows: DrawnSample) -> Array:
        """Return out-of-fold predictions minus the mean targets of their training rows.

        This mean falls as the held-out row's own target rises, so that the target would leak into
        anything learned from predictions that contain the mean.
        """
        values, means = self._out_of_fold(X, rows)
        return values - means

    def indicators_out_of_fold(self, X: Features, rows: DrawnSample) -> Array:
        """Return the out-of-fold deviations plus the class frequencies over all rows."""
        assert self.totals is not None
        return self.totals / self.totals.sum() + self.deviations_out_of_fold(X, rows)

    def _out_of_fold(self, X: Features, rows: DrawnSample) -> tuple[Array, Array]:
        """Return out-of-fold predictions, and the mean targets of their training rows."""
        if self.held_out is None:
            fits = [fit or self.choice.fit for fit in self.choice.fold_fits]
            return _out_of_fold(self.columns, fits, X, rows)
        means = self.choice.held_out_means
        assert means is not None
        return self.held_out[rows.positions], means[rows.positions]


def _values(columns: KernelColumns, fit: LinearFit, X: Features) -> Array:
    """Evaluate a linear function, in threads or on a card, in O(n m d) for m centers."""
    n_rows = X.shape[0]
    device = current_device()
    if device is not None and n_rows * columns.n_centers >= MANY_VALUES:
        return columns.products_on(device, X, fit.coefficients) + fit.intercept
    tiles = list(columns.tiles(n_rows))
    found = map_tiles(lambda rows: fit.predict(columns(X[rows])), tiles)
    return np.concatenate([np.empty((0, len(fit.intercept))), *found])


def _out_of_fold(
    columns: KernelColumns, fits: Sequence[LinearFit | None], X: Features, rows: DrawnSample
) -> tuple[Array, Array]:
    """Return mean out-of-fold predictions, and the mean targets of their training rows.

    Both are NaN for rows that no fold with a fit holds out.
    """
    n_values = max(len(fit.intercept) for fit in fits if fit is not None)
    shape = X.shape[0], n_values
    total, means, counts = np.zeros(shape), np.zeros(shape), np.zeros((X.shape[0], 1))
    for inside, fit in zip(rows.held_out(len(fits)), fits, strict=True):
        if fit is not None:
            total[inside] += _values(columns, fit, X[inside])
            means[inside] += fit.mean
            counts[inside] += 1.0
    counts = np.where(counts > 0.0, counts, np.nan)
    return total / counts, means / counts


def fit_nystroem(
    kernel: Kernel,
    data: DrawnSample,
    encoding: TargetEncoding,
    *,
    n_components: int = 1000,
    alphas: Array | None = None,
    random_state: RandomState = 0,
    scorer: PredictionScorer | None = None,
    max_calibrated: int = 10_000,
    cost: float = 0.0,
) -> NystroemModel:
    """Fit a predictor with a given kernel to all rows of a source, in one pass or two.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    data : DrawnSample
        The source, and a sample of its rows, from which centers are chosen.
    encoding : TargetEncoding
        Encoding of the target, with all classes that occur.
    n_components : int, default=1000
        Number of centers.
    alphas : ndarray of shape (n_alphas,), default=None
        Penalties to compare by cross-validation.
    random_state : int, RandomState instance or None, default=0
        Draws the centers, and the rows for the calibration and the scores.
    scorer : PredictionScorer, default=None
        Scorer of out-of-fold predictions of sampled rows, by which the penalty is chosen.
    max_calibrated : int, default=10000
        Probabilities are calibrated, and penalties scored, on at most this many rows of the sample.
    cost : float, default=0.0
        See :meth:`AllRows.choose`.

    Returns
    -------
    NystroemModel

    Raises
    ------
    ValueError
        If a label is not one of the classes, the kernel has values that are not finite, or a
        parameter is out of range.

    Notes
    -----
    For classes, ridge regression predicts class indicators. Probabilities come from a logistic
    regression on out-of-fold predictions of the indicators of sampled rows. Logistic regression on
    the features does not predict better, and takes dozens of iterations over all rows.

    Fits take O(n m^2 + m^3) time for n rows and m centers, and memory for five m x m matrices for
    each thread, or for two if five exceed scikit-learn's `working_memory`. If there are more than
    a thousand rows and all are centers, the fit uses the kernel between all rows; see
    :func:`ridge_on_all_rows`.

    Sums begin in single precision if its rounding hardly changes predictions. If it turns out to
    matter at the chosen penalty, a second pass is in double precision; see
    :class:`SinglePrecision`.
    """
    codes = None if encoding.classes is None else encoding.codes_of(data.y)
    part = data
    if codes is not None or scorer is not None:
        part = data.take(rows := data.covered)
        codes = None if codes is None else codes[rows]
        part = part.take(sample_rows(len(part), max_calibrated, codes, random_state))
    fit = _Fit(kernel, data, encoding, n_components, alphas, random_state, part, scorer, cost)
    found = fit.on_all_rows if all_rows_are_centers(data, n_components) else fit.on_features
    model, totals = found()
    if encoding.classes is None:
        return model
    model = replace(model, totals=totals)
    indicators = model.indicators_out_of_fold(part.X, part)
    return replace(model, calibration=calibrated(part, encoding, indicators, totals))


def all_rows_are_centers(data: DrawnSample, n_components: int) -> bool:
    """Return whether a fit uses the kernel between all rows, by conjugate gradients.

    Parameters
    ----------
    data : DrawnSample
    n_components : int
        Number of centers.
    """
    return n_components >= len(data) == data.source.count_rows() > FEW_ROWS


@dataclass(frozen=True)
class _Fit:
    """The arguments of :func:`fit_nystroem`, and the rows for calibration and scores.

    Attributes
    ----------
    part : DrawnSample
        Rows for calibration and scores.
    """

    kernel: Kernel
    data: DrawnSample
    encoding: TargetEncoding
    n_components: int
    alphas: Array | None
    random_state: RandomState
    part: DrawnSample
    scorer: PredictionScorer | None
    cost: float

    def on_all_rows(self) -> tuple[NystroemModel, Array]:
        """Fit on the kernel between all rows, and return the model and the totals of targets."""
        data, encoding = self.data, self.encoding
        totals = data.weights.values @ encoding.encode(data.y)

        def scores_of(values: Array, alphas: Array) -> Array:
            return self._scores(values[self.part.positions], alphas, totals)

        columns, choice, held_out = ridge_on_all_rows(
            self.kernel,
            data,
            encoding,
            self.alphas,
            random_state=self.random_state,
            scores_of=None if self.scorer is None else scores_of,
            cost=self.cost,
        )
        model = NystroemModel(columns, encoding, choice, data.y.ndim == 1, held_out=held_out)
        return model, totals

    def on_features(self) -> tuple[NystroemModel, Array]:
        """Fit on Nyström features of all rows, and return the model and the totals of targets."""
        centers = choose_centers(self.data.X, self.n_components, self.random_state)
        spectrum = center_spectrum(self.kernel, centers)
        single = SinglePrecision(spectrum, self.data.all_weights)
        if single.suits(self.alphas):
            found = self._ridge(single.features)
            if single.is_precise(found[0].choice):
                return found
        return self._ridge(whitened(spectrum))

    def _ridge(self, features: NystroemFeatures) -> tuple[NystroemModel, Array]:
        """Fit ridge regression on features, in one pass over all rows."""
        data, encoding, part = self.data, self.encoding, self.part
        statistic = NormalEquations(
            features, encoding, data.all_weights, groups=data.all_groups, listed=data.listed
        )
        sums = data.source.reduce(statistic)
        totals = np.sum([fold.values for fold in sums], axis=0)

        def scores_of(fits: list[LinearFit | None], alphas: Array) -> Array:
            values, means = _out_of_fold(features.columns, fits, part.X, part)
            if encoding.classes is not None:
                values += np.tile(totals / totals.sum(), len(alphas)) - means
            return self._scores(values, alphas, totals)

        choice = ridge_on_features(
            sums,
            features,
            self.alphas,
            mean_weight=data.all_weights.average,
            scores_of=None if self.scorer is None else scores_of,
            listed=data.listed,
        )
        return NystroemModel(features.columns, encoding, choice, data.y.ndim == 1), totals

    def _scores(self, values: Array, alphas: Array, totals: Array) -> Array:
        """Score out-of-fold predictions, which are side by side for all penalties."""
        assert self.scorer is not None
        known = np.isfinite(values).all(axis=1)
        inside = self.part.take(np.flatnonzero(known))
        paths = np.split(values[known], len(alphas), 1)
        found = [_score(self.scorer, inside, self.encoding, path, totals) for path in paths]
        if not np.isfinite(found).any():
            raise ValueError("scoring is not defined on the held-out rows: pass another one.")
        return np.where(np.isfinite(found), found, -np.inf)


def calibrated(
    part: DrawnSample, encoding: TargetEncoding, indicators: Array, totals: Array
) -> Calibration:
    """Calibrate probabilities, given out-of-fold indicators of some rows and the totals of all.

    Parameters
    ----------
    part : DrawnSample
    encoding : TargetEncoding
    indicators : ndarray of shape (n_rows, n_classes)
        See :meth:`NystroemModel.indicators_out_of_fold`.
    totals : ndarray of shape (n_classes,)
    """
    weights = part.weights.values
    return calibrate(indicators, encoding.codes_of(part.y), totals, weights / weights.mean())


def _score(
    scorer: PredictionScorer,
    part: DrawnSample,
    encoding: TargetEncoding,
    values: Array,
    totals: Array,
) -> float:
    """Return the score of out-of-fold predictions, or NaN if the scorer is not defined on them."""
    if encoding.classes is None:
        found = encoding.decode(values).reshape(part.y.shape)
    else:
        found = calibrated(part, encoding, values, totals).probabilities(values)
    try:
        return scorer(part.y, found, part.weights, encoding.classes)
    except ValueError:
        return float(np.nan)


@dataclass(frozen=True)
class RowSums:
    """Sums of products of features and targets over all rows so far.

    Attributes
    ----------
    features : NystroemFeatures
    encoding : TargetEncoding
    sums : Moments
    """

    features: NystroemFeatures
    encoding: TargetEncoding
    sums: Moments

    def plus(self, rows: Sample) -> RowSums:
        """Return the sums with further rows added, in one pass over blocks of these rows."""
        statistic = NormalEquations(self.features, self.encoding, rows.weights)
        parts = block_source(rows.X, rows.y).reduce(statistic)
        return replace(self, sums=self.sums.plus(reduce(Moments.plus, parts)))

    def fitted(self, model: NystroemModel) -> NystroemModel:
        """Return the model fitted to the sums at the same penalty, by an eigendecomposition."""
        fit = ridge_at(self.sums, self.features, model.choice.alpha)
        return replace(model, choice=replace(model.choice, fit=fit))


def row_sums(model: NystroemModel, rows: Sample) -> RowSums:
    """Compute the sums over the rows that a model on Nyström features was fitted to.

    Parameters
    ----------
    model : NystroemModel
    rows : Sample
        All rows of positive weight.

    Raises
    ------
    ValueError
        If the model was fitted to other rows.
    MemoryError
        If the sums do not fit into memory.
    """
    check_gram_memory(model.columns.n_centers, 3, "fit anew, with fewer centers")
    features = nystroem_features(model.columns.kernel, model.columns.centers)
    none = Moments.zero(features.n_summands, model.encoding.n_outputs)
    found = RowSums(features, model.encoding, none).plus(rows)
    some = rows.X[evenly_spaced(len(rows), 200)]
    difference = found.fitted(model).values(some) - model.values(some)
    spread = max(float(model.encoding.encode(rows.y).std()), 1e-12)
    if np.sqrt(np.mean(difference**2)) > _SAME_FIT * spread:
        raise ValueError("The model was not fitted to these rows: pass those that fit was given.")
    return found
