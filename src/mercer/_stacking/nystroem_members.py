"""Ridge regression on Nyström features as a member of a stack, for tables of many rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._blocks.numeric_tables import as_numeric
from mercer._model_selection.kernel_prices import RandomState
from mercer._model_selection.leave_one_out import EncodedTarget
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._nystroem.training_rows import TrainingRows
from mercer._nystroem.width_factor import rescaled_kernel
from mercer._stacking.evaluation import Evaluation
from mercer._stacking.table_views import TableViews, ViewName
from mercer._typing import Array, Features
from mercer.kernels import Kernel


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
        """Predictions for new samples less the mean, in the target's encoding.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The member's view of new samples.
        Z : ignored

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        return np.asarray(self.model.decision_function(X) - self.mean)

    def inverse(self, Z: Features) -> None:
        """Nothing that predictions without a sample would need.

        Parameters
        ----------
        Z : ignored
        """

    def left_out_predictions(self, X: Features, Z: Features, inverse: None) -> Array:
        """Predictions of the first output, which hardly depend on any one of many samples.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        Z, inverse : ignored

        Returns
        -------
        ndarray of shape (n_rows, 1)
        """
        return self.deviations(X, Z)[:, :1]

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
        """Return the view of some rows, in double precision.

        Parameters
        ----------
        X : ndarray, sparse matrix or data frame of shape (n_rows, n_columns)
        """
        numbers = as_numeric(X if self.encoder is None else self.encoder.transform(X))
        return self.views.transform(numbers, self.name)


def fit_member(
    found: Evaluation,
    views: TableViews,
    target: EncodedTarget,
    sample: TrainingRows,
    *,
    n_components: int,
    random_state: RandomState,
) -> NystroemMember:
    """Fit ridge regression on the kernel of a candidate to all rows of a source, in one pass.

    Parameters
    ----------
    found : Evaluation
    views : TableViews
    target : EncodedTarget
        Of the sample.
    sample : TrainingRows
        The source, and a sample of its rows in the candidate's view: widths that were learned are
        rescaled on it, and centers are drawn from it.
    n_components : int
        Number of centers.
    random_state : int, RandomState instance or None
        Draws them.
    """
    source = sample.source
    assert source is not None
    encoding = TargetEncoding.of_target(target, one_dimensional=sample.y.ndim == 1)
    kernel = found.kernel
    if found.learns_widths:
        kernel = rescaled_kernel(kernel, sample, encoding, random_state)
    viewed = source.with_encoder(ViewEncoder(source.encoder, views, found.view))
    model = fit_nystroem(
        kernel,
        replace(sample, source=viewed),
        encoding,
        n_components=n_components,
        random_state=random_state,
    )
    return NystroemMember(found.view, kernel, model, target.mean)
