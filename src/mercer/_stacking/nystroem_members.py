"""Ridge regression on Nyström features as a member of a stack, for tables of many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._blocks.numeric_tables import as_numeric
from mercer._model_selection.kernel_prices import RandomState
from mercer._nystroem.pass_hooks import NO_HOOKS, PassHooks
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem, out_of_fold_predictions
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
    """

    view: ViewName
    kernel: Kernel
    model: NystroemModel

    def predict(self, X: Features, Z: Features) -> Array:
        """Predict new samples, in the target's encoding, shape (n_rows, n_outputs).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The member's view of new samples.
        Z : ignored
        """
        return self.model.decision_function(X)

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
        return self.predict(X, Z)[:, :1]

    def out_of_fold(self, X: Features, positions: Array) -> Array:
        """Predict rows by the fits without their folds, shape (n_rows, n_outputs).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The member's view of rows of the training table.
        positions : ndarray of int of shape (n_rows,)
            Their positions in the training table.
        """
        return out_of_fold_predictions(self.model, X, positions)


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
    encoding: TargetEncoding,
    sample: TrainingRows,
    *,
    n_components: int,
    random_state: RandomState,
    hooks: PassHooks = NO_HOOKS,
) -> NystroemMember:
    """Fit ridge regression on the kernel of a candidate to all rows of a source, in one pass.

    Parameters
    ----------
    found : Evaluation
    views : TableViews
    encoding : TargetEncoding
    sample : TrainingRows
        The source, and a sample of its rows in the candidate's view: the widths of the kernel are
        rescaled on it, and centers are drawn from it.
    n_components : int
        Number of centers.
    random_state : int, RandomState instance or None
        Draws them.
    hooks : PassHooks, default=NO_HOOKS
    """
    source = sample.source
    assert source is not None
    kernel = rescaled_kernel(found.kernel, sample, encoding, random_state)
    model = fit_nystroem(
        kernel,
        source.with_encoder(ViewEncoder(source.encoder, views, found.view)),
        encoding,
        sample.X,
        n_components=n_components,
        random_state=random_state,
        weights=sample.all_weights,
        sample_weight=sample.weights,
        hooks=hooks,
    )
    return NystroemMember(found.view, kernel, model)
