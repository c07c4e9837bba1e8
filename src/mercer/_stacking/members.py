"""Members of a stack: what is fitted to all training samples on the kernel of a candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.svm import SVC

from mercer._blocks.numeric_tables import as_numeric
from mercer._gram.dense import UnitScale, unit_gram, unit_rows
from mercer._model_selection.encoded_target import EncodedTarget
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer._nystroem.training_rows import TrainingRows
from mercer._nystroem.width_factor import rescaled_kernel
from mercer._solvers.ridge import Ridge, left_out_fits
from mercer._solvers.svm import class_decisions
from mercer._stacking.table_views import TableViews, ViewName
from mercer._typing import Array, Features, RandomState
from mercer.kernels import Kernel


@dataclass(frozen=True)
class ScaledMachine:
    """A support vector machine, whose decision values are scaled to deviations of indicators.

    Attributes
    ----------
    machine : SVC
    slope : float
    center : ndarray of shape (n_classes,)
        Deviations are ``slope * (decisions - center)``.
    """

    machine: SVC
    slope: float
    center: Array

    def deviations(self, rows: Array) -> Array:
        """Predicted class indicators less their means, from the kernel with training samples."""
        decisions = class_decisions(self.machine, rows, self.center.size)
        return np.asarray(self.slope * (decisions - self.center))


@dataclass(frozen=True)
class GramMember:
    """A predictor on a Gram matrix, fitted to all training samples.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
        The view of the table that the kernel is evaluated on.
    kernel : Kernel
    unit : UnitScale
        Centering and scale of the training samples' Gram matrix.
    predictor : Ridge or ScaledMachine
    """

    view: ViewName
    kernel: Kernel
    unit: UnitScale
    predictor: Ridge | ScaledMachine

    def deviations(self, X: Features, Z: Features) -> Array:
        """Predictions for new samples less the mean, in the target's encoding.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The member's view of new samples.
        Z : ndarray or sparse matrix of shape (n_samples, n_features)
            Its view of the training samples.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        return self.predictor.deviations(unit_rows(self.kernel, self.unit, X, Z))

    def left_out(self, Z: Features) -> Callable[[Features], Array]:
        """Predictions of the first output by ridge regressions without each training sample.

        Parameters
        ----------
        Z : ndarray or sparse matrix of shape (n_samples, n_features)
            The member's view of the training samples.

        Returns
        -------
        callable
            From the view of new samples to predictions of shape (n_rows, n_samples), less the mean.
        """
        assert isinstance(self.predictor, Ridge)
        gram, _ = unit_gram(self.kernel, Z, self.unit.weights)
        fits = left_out_fits(gram, self.predictor, self.unit.weights)
        return lambda X: fits.predict(unit_rows(self.kernel, self.unit, X, Z))


@dataclass(frozen=True)
class NystroemMember:
    """Ridge regression on Nyström features, fitted to all rows.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
        The view of the table that the kernel is evaluated on.
    kernel : Kernel
    model : NystroemModel
    mean : ndarray of shape (n_outputs,)
        Of the target.
    """

    view: ViewName
    kernel: Kernel
    model: NystroemModel
    mean: Array

    def deviations(self, X: Features, Z: Features) -> Array:
        """Predictions for new samples less the mean; see :meth:`GramMember.deviations`."""
        return np.asarray(self.model.decision_function(X) - self.mean)

    def left_out(self, Z: Features) -> Callable[[Features], Array]:
        """Predictions of the first output, which hardly depend on any one of many samples."""
        return lambda X: self.deviations(X, Z)[:, :1]

    def deviations_in_folds(self, X: Features, positions: Array) -> Array:
        """Predictions for rows by the fits without their folds, less the mean.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The member's view of rows of the training table.
        positions : ndarray of int of shape (n_rows,)
            Their positions in the training table.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        return np.asarray(self.model.out_of_fold(X, positions) - self.mean)


@dataclass(frozen=True)
class ViewEncoder:
    """A transformer from rows of a source to one view of them.

    Attributes
    ----------
    encoder : transformer or None
        Turns rows into numbers; None if they are numbers.
    views : TableViews
    name : {"given", "scaled", "quantiles"}
    """

    encoder: Any
    views: TableViews
    name: ViewName

    def transform(self, X: Any) -> Features:
        """Return the view of some rows, in double precision."""
        numbers = as_numeric(X if self.encoder is None else self.encoder.transform(X))
        return self.views.transform(numbers, self.name)


def nystroem_member(
    kernel: Kernel,
    view: ViewName,
    views: TableViews,
    target: EncodedTarget,
    sample: TrainingRows,
    *,
    rescale: bool,
    n_components: int,
    random_state: RandomState,
) -> NystroemMember:
    """Fit ridge regression on a kernel to all rows of a source, in one pass.

    Parameters
    ----------
    kernel : Kernel
    view : {"given", "scaled", "quantiles"}
    views : TableViews
    target : EncodedTarget
        Of the sample.
    sample : TrainingRows
        The source, and a sample of its rows in the kernel's view: widths are rescaled on it, and
        centers are drawn from it.
    rescale : bool
        Whether widths were learned, so that more rows may change them.
    n_components : int
        Number of centers.
    random_state : int, RandomState instance or None
        Draws them.
    """
    source = sample.source
    assert source is not None
    encoding = target.encoding
    if rescale:
        kernel = rescaled_kernel(kernel, sample, encoding, random_state)
    viewed = source.with_encoder(ViewEncoder(source.encoder, views, view))
    model = fit_nystroem(
        kernel,
        replace(sample, source=viewed),
        encoding,
        n_components=n_components,
        random_state=random_state,
    )
    return NystroemMember(view, kernel, model, target.mean)
