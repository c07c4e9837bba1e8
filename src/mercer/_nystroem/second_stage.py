"""The second stage of learning: a predictor on Nyström features, from all rows in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._blocks import folds_at
from mercer._data.folds import sample_rows
from mercer._gram.tiles import map_tiles
from mercer._model_selection.calibration import Calibration, calibrate
from mercer._model_selection.encoded_target import TargetEncoding
from mercer._nystroem.feature_ridge import (
    LinearFit,
    RidgeChoice,
    ridge_on_features,
)
from mercer._nystroem.features import KernelColumns, choose_centers, nystroem_features
from mercer._nystroem.normal_equations import NormalEquations
from mercer._nystroem.training_rows import TrainingRows
from mercer._pass_hooks import current_hooks
from mercer._typing import Array, Features, RandomState
from mercer.kernels import Kernel

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

    def decision_function(self, X: Features) -> Array:
        """Predicted responses or indicators in the target's encoding, shape (n_rows, n_outputs).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        """
        return self._values(self.choice.fit, X)

    def predict(self, X: Features) -> Array:
        """Predicted responses in their own unit, or labels.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_outputs) for several responses
        """
        predicted = self.decision_function(X)
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
        return self.calibration.probabilities(self.decision_function(X))

    def out_of_fold(self, X: Features, positions: Array) -> Array:
        """Predict training rows by the fits without their folds, in the target's encoding.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        positions : ndarray of int of shape (n_rows,)
            Positions of these rows in the training table.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        fits = self.choice.fold_fits
        folds = folds_at(NormalEquations.seed, positions, len(fits))
        predictions = np.empty((X.shape[0], self.encoding.n_outputs))
        for fold, fit in enumerate(fits):
            rows = folds == fold
            predictions[rows] = self._values(fit or self.choice.fit, X[rows])
        return predictions

    def _values(self, fit: LinearFit, X: Features) -> Array:
        """Values of a linear function, tile by tile in threads: O(n m d) for m centers."""
        tiles = list(self.columns.tiles(X.shape[0]))
        found = map_tiles(lambda rows: fit.predict(self.columns(X[rows])), tiles)
        return np.concatenate([np.empty((0, len(fit.intercept))), *found])


def fit_nystroem(
    kernel: Kernel,
    data: TrainingRows,
    encoding: TargetEncoding,
    *,
    n_components: int = 1000,
    alphas: Array | None = None,
    random_state: RandomState = 0,
) -> NystroemModel:
    """Fit a predictor with a given kernel to all rows of a source, in one pass.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    data : TrainingRows
        The source, and a sample of its rows, from which centers are chosen.
    encoding : TargetEncoding
        Of the target, with all classes that occur.
    n_components : int, default=1000
        Number of centers.
    alphas : ndarray of shape (n_alphas,), default=None
        Penalties that are compared by cross-validation.
    random_state : int, RandomState instance or None, default=0
        Draws the centers, and the rows for the calibration.

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
    assert data.source is not None
    features = nystroem_features(kernel, choose_centers(data.X, n_components, random_state))
    statistic, hooks = NormalEquations(features, encoding, data.all_weights), current_hooks()
    sums = data.source.reduce(statistic, on_rows=hooks.on_rows, client=hooks.client)
    choice = ridge_on_features(sums, features, alphas, mean_weight=data.all_weights.mean)
    model = NystroemModel(features.columns, encoding, choice, data.y.ndim == 1)
    if encoding.classes is None:
        return model
    assert data.positions is not None
    codes = encoding.codes_of(data.y)
    rows = sample_rows(len(codes), _CALIBRATED_ROWS, codes, random_state)
    indicators = model.out_of_fold(data.X[rows], data.positions[rows])
    weights = data.weights.take(rows).values
    totals = np.sum([part.values for part in sums], axis=0)
    calibration = calibrate(indicators, codes[rows], totals, weights / weights.mean())
    return replace(model, calibration=calibration)
