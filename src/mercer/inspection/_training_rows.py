"""Contributions of training rows to predictions: the summands of a kernel expansion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from mercer._data.notebook import NotebookResult, data_frames
from mercer._data.types import Array, Features, Table
from mercer._data.validation import check_number
from mercer._gram.expansion import KernelTerm, Scale, Views, as_doubles
from mercer.inspection._contributions import output_weights
from mercer.inspection._explained_model import ExplainedModel
from mercer.inspection._explanations.parts import without_output_axis

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class TrainingContributions(NotebookResult):
    """Contributions of training rows to predictions, computed by `training_contributions`.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_known) or (n_rows, n_known, n_outputs)
        Signed product of coefficient and kernel value for each training row or center.
    rest : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Predictions minus the sum of these values. This includes the intercept, parts that are not
        sums over rows, such as votes of machines, and shrinkage far from all training rows.
    positions : ndarray of int of shape (n_known,)
        Positions of the rows in `data`.
    are_centers : bool
        Whether the rows are centers of Nyström features, each of them for many training rows.
    data : data frame or ndarray
        The training table.
    names : list of str
        Names of the columns of `data`.
    output_names : list of str
        Classes, or empty for responses.
    scale : str
        "response", "log response", "log-odds", "logit", "decision value", "latent mean" or
        "log rate".
        Scale of the explained output.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import training_contributions
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> found = training_contributions(model, X[:2], X)
    >>> bool(abs(found.values.sum(axis=1) + found.rest - model.predict(X[:2])).max() < 1e-5)
    True
    >>> list(found.to_frame(0, 3))[:4]
    ['row', 'contribution', 'age', 'sex']
    """

    values: Array
    rest: Array
    positions: Array
    are_centers: bool
    data: Features
    names: list[str]
    output_names: list[str]
    scale: Scale

    def of_output(self, output: str | int | None = None) -> TrainingContributions:
        """Return the contributions to one output; see :meth:`ShapleyValues.of_output`.

        Parameters
        ----------
        output : str or int, default=None
            Class, or position of a response; None if there is only one output.

        Raises
        ------
        ValueError
            If the output does not exist, or if there are several outputs and none is named.
        """
        if self.values.ndim == 2:
            return self
        weights, names, scale = output_weights(
            output, self.output_names, self.values.shape[2], self.scale
        )
        return replace(
            self,
            values=self.values @ weights,
            rest=self.rest @ weights,
            output_names=names,
            scale=scale,
        )

    def to_frame(
        self, row: int = 0, n_largest: int = 10, *, output: str | int | None = None
    ) -> pd.DataFrame:
        """Return the training rows that contribute most to one prediction, as a data frame.

        Parameters
        ----------
        row : int, default=0
            Position of the explained row.
        n_largest : int, default=10
            Maximum number of training rows.
        output : str or int, default=None
            Class, or position of a response; None if there is only one output.

        Returns
        -------
        pandas.DataFrame
            A column "row", or "center" for centers of Nyström features, with positions in the
            training table, a column "contribution", and the columns of the rows. The rows are in
            descending order of absolute contributions.

        Raises
        ------
        IndexError
            If the row does not exist.
        ImportError
            If pandas is not installed.
        """
        pd = data_frames()
        check_number("n_largest", n_largest, whole=True, low=1)
        if not -len(self.values) <= row < len(self.values):
            raise IndexError(f"There is no row {row}: {len(self.values)} rows are explained.")
        amounts = self.of_output(output).values[row]
        largest = np.argsort(-np.abs(amounts), kind="stable")[:n_largest]
        rows = _safe_indexing(self.data, self.positions[largest])
        cells = rows.to_pandas() if hasattr(rows, "to_pandas") else pd.DataFrame(rows)
        cells = cells.set_axis(self.names, axis="columns").reset_index(drop=True)
        kind = "center" if self.are_centers else "row"
        first = pd.DataFrame(
            {kind: self.positions[largest], "contribution": amounts[largest]}, cells.index
        )
        return pd.concat([first, cells], axis="columns")


def training_contributions(
    model: BaseEstimator, X: Table, training: Table
) -> TrainingContributions:
    """Explain predictions by the contribution of each training row.

    A prediction on a kernel k is a constant plus the sum of a_i k(x, x_i) over the training rows
    x_i. A row contributes its coefficient times its kernel value, so that similar rows with large
    coefficients contribute most. For a stack, the contributions of a row in all members are summed.
    With Nyström features, `are_centers` is True, and coefficients belong to centers. Each center
    represents many training rows.

    Parameters
    ----------
    model : estimator, Pipeline or search
        See :func:`shapley_values`.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        Rows to explain.
    training : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        The table to which the model was fitted, whose rows are shown.

    Returns
    -------
    TrainingContributions
        Contributions of each training row, or center, to each prediction.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If no part of the prediction is a sum over training rows, or the model was fitted to Gram
        matrices.
    ValueError
        If `training` lacks rows to which the model was fitted.

    Notes
    -----
    Contributions are the summands of the prediction. They do not show how the prediction would
    change if a row were left out. Contributions to smooth functions are large and cancel: with a
    wide kernel, a slope is the sum of many contributions of distant rows with opposite signs. They
    take O(n_rows n d) time for n training rows and d columns.

    References
    ----------
    G. Kimeldorf, G. Wahba (1971). Some results on Tchebycheffian spline functions. Journal of
    Mathematical Analysis and Applications 33.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import TwoStageClassifier
    >>> from mercer.inspection import training_contributions
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = TwoStageClassifier().fit(X[50:], y[50:])
    >>> found = training_contributions(model, X[50:52], X[50:])
    >>> found.scale, found.are_centers
    ('log-odds', False)
    """
    explained = ExplainedModel.of(model)
    explained.check_table("Contributions of training rows")
    rows, expansion = explained.views(X), explained.expansion
    terms = [term for term in expansion.terms if isinstance(term, KernelTerm)]
    if not terms:
        raise TypeError(
            "No part of the prediction is a sum over training rows. It consists of "
            f"{', '.join(str(getattr(term, 'description', term)) for term in expansion.terms)}."
        )
    are_centers = any(term.rows is None for term in terms)
    found = [_positions_in(explained.views(training), term) for term in terms]
    rest = expansion.of_views(rows)
    n_known = 1 + max(int(positions.max()) for positions in found)
    values = np.zeros((n_known, *rest.shape))
    for term, positions in zip(terms, found, strict=True):
        centers = as_doubles(term.centers)
        gram = term.kernel._shifted(rows[term.view], centers) + term.kernel.offset
        np.add.at(values, positions, gram.T[:, :, None] * term.coefficients[:, None])
        rest -= gram @ term.coefficients
    rest += expansion.shrinkage(rows)
    known = np.unique(np.concatenate(found))
    table = explained.table(training)
    return TrainingContributions(
        without_output_axis(values.swapaxes(0, 1)[:, known]),
        without_output_axis(rest),
        known,
        are_centers,
        table.toarray() if hasattr(table, "toarray") else table,
        explained.names,
        list(expansion.outputs),
        expansion.scale,
    )


def _positions_in(training: Views, term: KernelTerm) -> Array:
    """Return the positions of centers in the training table."""
    first: dict[bytes, int] = {}
    for position, key in enumerate(_keys(training[term.view])):
        first.setdefault(key, position)
    found = [first.get(key, -1) for key in _keys(term.centers)]
    if min(found) < 0:
        raise ValueError(
            "training lacks rows that the model was fitted to: pass the whole table of the fit."
        )
    return np.array(found)


def _keys(rows: Features) -> Sequence[bytes]:
    """Return the exact values of each row as bytes, without the signs of zeros."""
    return [row.tobytes() for row in as_doubles(rows) + 0.0]
