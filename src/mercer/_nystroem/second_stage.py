"""The second stage of learning: a predictor on Nyström features, from all rows in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mercer._blocks import (
    BlockSource,
    BlockStatistic,
    RowWeights,
    folds_at,
    reduce_blocks,
    weighted,
)
from mercer._gram.tiles import map_tiles
from mercer._model_selection.kernel_prices import RandomState
from mercer._nystroem.array_libraries import is_foreign, like, namespace_of, to_numpy
from mercer._nystroem.calibration import Calibration, calibrate
from mercer._nystroem.centers import Method, choose_centers
from mercer._nystroem.class_sample import ClassSample, SampledRows
from mercer._nystroem.falkon import (
    MOST_DIRECT,
    center_basis,
    ridge_by_conjugate_gradients,
    some_centers,
)
from mercer._nystroem.feature_ridge import LinearFit, RidgeChoice, ridge_on_features
from mercer._nystroem.kernel_columns import KernelColumns
from mercer._nystroem.normal_equations import NormalEquations, n_folds_for
from mercer._nystroem.nystroem_features import nystroem_features
from mercer._nystroem.pass_hooks import NO_HOOKS, PassHooks
from mercer._nystroem.statistic_pair import StatisticPair
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array, Features
from mercer.kernels import Kernel

State = TypeVar("State")

_CALIBRATED_ROWS = 10_000
"""Probabilities are calibrated on at most this many rows, equally many of each class."""


@dataclass(frozen=True)
class NystroemModel:
    """A predictor on a kernel's values at centers; it holds no other rows of the training table.

    Attributes
    ----------
    columns : KernelColumns
    encoding : TargetEncoding
    choice : RidgeChoice
        Ridge regression of standardized responses or class indicators, and its cross-validation.
    calibration : Calibration, default=None
        Of class indicators, to probabilities; None for responses.
    """

    columns: KernelColumns
    encoding: TargetEncoding
    choice: RidgeChoice
    calibration: Calibration | None = None

    def decision_function(self, X: Features) -> Any:
        """Predicted responses or indicators in the target's encoding.

        Parameters
        ----------
        X : ndarray, sparse matrix or array of another library, of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_outputs)
        """
        return linear_predictions(self.columns, self.choice.fit, X)

    def predict(self, X: Features) -> Any:
        """Predicted responses in their own unit, or labels.

        Parameters
        ----------
        X : ndarray, sparse matrix or array of another library, of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_outputs) for several responses
        """
        predicted = self.decision_function(X)
        if self.calibration is not None:
            predicted = self.calibration.probabilities(predicted)
        return self.encoding.decode(predicted)

    def predict_proba(self, X: Features) -> Any:
        """Probabilities of the classes, in their order.

        Parameters
        ----------
        X : ndarray, sparse matrix or array of another library, of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        assert self.calibration is not None
        return self.calibration.probabilities(self.decision_function(X))


def linear_predictions(columns: KernelColumns, fit: LinearFit, X: Features) -> Any:
    """Predictions of rows, tile by tile in threads.

    Parameters
    ----------
    columns : KernelColumns
    fit : LinearFit
    X : ndarray, sparse matrix or array of another library, of shape (n_rows, n_features)

    Returns
    -------
    array of shape (n_rows, n_outputs)

    Notes
    -----
    O(n m d) time for the kernel's values; memory for some tiles of them.
    """
    found = map_tiles(
        lambda rows: fit.predict(columns(X[rows, :])), list(columns.tiles(X.shape[0]))
    )
    if is_foreign(X):
        return namespace_of(X).concat([like(np.empty((0, len(fit.intercept))), X), *found])
    return np.concatenate([np.empty((0, len(fit.intercept))), *found])


def out_of_fold_predictions(model: NystroemModel, X: Features, positions: Array) -> Array:
    """Predict rows by the fits without their folds, in the target's encoding.

    Parameters
    ----------
    model : NystroemModel
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows of the training table.
    positions : ndarray of int of shape (n_rows,)
        Their positions in it.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
    """
    fits = model.choice.fold_fits
    folds = folds_at(NormalEquations.seed, positions, len(fits))
    predictions = np.empty((X.shape[0], model.encoding.n_outputs))
    for fold, fit in enumerate(fits):
        rows = folds == fold
        chosen = model.choice.fit if fit is None else fit
        predictions[rows] = linear_predictions(model.columns, chosen, X[rows])
    return predictions


def fit_nystroem(
    kernel: Kernel,
    source: BlockSource,
    encoding: TargetEncoding,
    sample: Features,
    *,
    n_components: int = 1000,
    centers: Method = "sample",
    alphas: Array | None = None,
    random_state: RandomState = 0,
    weights: RowWeights | None = None,
    sample_weight: Array | None = None,
    hooks: PassHooks = NO_HOOKS,
) -> NystroemModel:
    """Fit a predictor with a given kernel to all rows of a source, in one pass.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    source : BlockSource
        Rows and targets.
    encoding : TargetEncoding
        Of the target, with all classes that occur.
    sample : ndarray or sparse matrix of shape (n_sampled, n_features)
        A sample of the rows, from which centers are chosen.
    n_components : int, default=1000
        Number of centers.
    centers : {"sample", "cholesky"}, default="sample"
        How centers are chosen.
    alphas : ndarray of shape (n_alphas,), default=None
        Penalties that are compared by cross-validation.
    random_state : int, RandomState instance or None, default=0
        Draws the centers.
    weights : RowWeights, default=None
        Positive weights of all rows; None where all are one.
    sample_weight : ndarray of shape (n_sampled,), default=None
        Those of the sample.
    hooks : PassHooks, default=NO_HOOKS
        What is called with numbers of rows that were done, and the cluster, if there is one.

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
    predicted indicators of 10,000 rows out of fold. Logistic regression on the features predicts no
    better than this, and takes an iteration over all rows some dozens of times.

    O(n m^2 + m^3) time for n rows and m centers; memory for five m x m matrices for each thread, or
    two beyond 2,500 centers. Beyond 5,000 centers, the equations are solved by conjugate gradients,
    in some twenty passes of O(n m d) for d features; see :mod:`mercer._nystroem.falkon`.
    """
    sample = to_numpy(sample) if is_foreign(sample) else sample
    chosen = choose_centers(kernel, sample, n_components, centers, random_state)
    few = chosen if chosen.shape[0] <= MOST_DIRECT else some_centers(chosen)
    features = nystroem_features(kernel, few)
    statistic = NormalEquations(features, encoding, n_folds_for(few.shape[0]))

    def reduced(added: BlockStatistic[State]) -> State:
        return reduce_blocks(
            source, weighted(added, weights), on_rows=hooks.on_rows, client=hooks.client
        )

    rows = None
    if encoding.classes is None:
        sums = reduced(statistic)
    else:
        drawn = _CALIBRATED_ROWS * (1 if few is chosen else statistic.n_folds)
        sums, rows = reduced(
            StatisticPair(statistic, ClassSample(encoding, drawn, statistic.n_folds))
        )
    sums = sums.to_numpy()
    mean_weight = 1.0 if weights is None else weights.mean
    choice = ridge_on_features(sums, features, alphas, mean_weight=mean_weight)
    columns = features.columns
    if few is not chosen:
        basis = center_basis(kernel, chosen, sample, sample_weight)
        columns, start = basis.columns, choice.alpha
        choice = ridge_by_conjugate_gradients(
            reduced, basis, encoding, sums=sums, start=start, alphas=alphas
        )
    if rows is None:
        return NystroemModel(columns, encoding, choice)
    calibration = _calibrated(columns, choice, rows, sums.values.sum(axis=0))
    return NystroemModel(columns, encoding, choice, calibration)


def _calibrated(
    columns: KernelColumns, choice: RidgeChoice, rows: SampledRows, totals: Array
) -> Calibration:
    """Calibration of a sample's indicators, each predicted by the fit without the row's fold."""
    fits = choice.fold_fits if any(choice.fold_fits) else [choice.fit] * len(choice.fold_fits)
    kept, indicators = [], []
    for fold, fit in enumerate(fits):
        held_out = np.flatnonzero(rows.folds == fold)
        if fit is not None and held_out.size:
            assert rows.X is not None
            kept.append(held_out)
            indicators.append(linear_predictions(columns, fit, rows.X[held_out]))
    used = np.concatenate(kept)
    weights = rows.weights[used] / rows.weights[used].mean()
    return calibrate(np.concatenate(indicators), rows.codes[used], totals, weights)
