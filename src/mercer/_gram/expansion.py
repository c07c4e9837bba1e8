"""Fitted functions as sums of terms, such as a kernel times coefficients at centers, in a view."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from mercer._data.encoded_targets import TargetEncoding
from mercer._data.notebook import NotebookResult
from mercer._data.types import Array, Features, own_fields
from mercer._data.weights import as_weights
from mercer._gram.dense import UnitScale
from mercer._gram.fall_back import FallBack
from mercer.kernels import Kernel
from mercer.kernels._column_products import ColumnProduct, column_products

Views: TypeAlias = dict[Any, Features]
"""Rows of a table in each view, by the names of the views."""

Scale: TypeAlias = Literal[
    "response", "decision value", "log-odds", "logit", "latent mean", "log rate", "log response"
]
"""The quantity that an expansion evaluates to."""

THE_TABLE = "given"
"""Name of the view that is the table itself."""


class Term(Protocol):
    """A part of a fitted function.

    Attributes
    ----------
    view : str
        Name of the view on which it is evaluated. Each column of a view is a function of the same
        column of the table, and in the view "gaps" of the column that marks its missing values.
    """

    @property
    def view(self) -> str:
        """Name of the view."""
        ...

    def __call__(self, X: Features) -> Array:
        """Return the values on rows of the view, shape (n_rows, n_outputs)."""
        ...

    def mapped(self, matrix: Array) -> Self:
        """Return the part with outputs multiplied by a matrix, (n_outputs, n_new_outputs)."""
        ...

    def products(self, n_features: int) -> list[ColumnProduct] | None:
        """Return the kernel as a sum of products over columns; None if no kernel is known."""
        ...


@dataclass(frozen=True)
class KernelTerm:
    """A kernel times coefficients at centers, sum_i c_i k(x, z_i).

    Attributes
    ----------
    kernel : Kernel
        The kernel, bound to the table.
    centers : ndarray or sparse matrix of shape (n_centers, n_features)
        The centers, in the view.
    coefficients : ndarray of shape (n_centers, n_outputs)
    view : str, default="given"
    rows : ndarray of int of shape (n_centers,), default=None
        Positions of the centers among the training rows of the model; None if the centers represent
        other rows, as with Nyström features.
    """

    kernel: Kernel
    centers: Features
    coefficients: Array
    view: str = THE_TABLE
    rows: Array | None = None

    def __call__(self, X: Features) -> Array:
        """Return the values on rows of the view, shape (n_rows, n_outputs)."""
        values = self._values(as_doubles(X))
        # If the offset were added to the values, wide kernels would lose precision.
        constant = self.kernel.offset * self.coefficients.sum(axis=0)
        return np.asarray(values @ self.coefficients + constant)

    @cached_property
    def _values(self) -> Callable[[Features], Array]:
        """The function from rows to their kernel with the centers, minus the kernel's offset."""
        return self.kernel._shifted_at(as_doubles(self.centers))

    __getstate__ = own_fields

    def mapped(self, matrix: Array) -> KernelTerm:
        """Return the term with its outputs multiplied by a matrix."""
        return replace(self, coefficients=self.coefficients @ matrix)

    def products(self, n_features: int) -> list[ColumnProduct]:
        """Return the kernel as a sum of products over columns."""
        return column_products(self.kernel, n_features)


@dataclass(frozen=True)
class FunctionTerm:
    """A part of a prediction that is not a sum over centers, such as votes of several machines.

    Attributes
    ----------
    function : callable
        Function from rows of the view to values of shape (n_rows, n_inner).
    matrix : ndarray of shape (n_inner, n_outputs)
        Matrix by which these values are multiplied.
    description : str
    view : str, default="given"
    kernel : Kernel, default=None
        The kernel between rows and training rows on which the term depends; None if there is none.
    """

    function: Callable[[Features], Array]
    matrix: Array
    description: str
    view: str = THE_TABLE
    kernel: Kernel | None = None

    def __call__(self, X: Features) -> Array:
        """Return the values on rows of the view, shape (n_rows, n_outputs)."""
        found = self.function(X)
        return np.asarray(found.reshape(len(found), -1) @ self.matrix)

    def mapped(self, matrix: Array) -> FunctionTerm:
        """Return the term with its outputs multiplied by a matrix."""
        return replace(self, matrix=self.matrix @ matrix)

    def products(self, n_features: int) -> None:
        """Return None, because the function is not known to be a kernel."""


@dataclass(frozen=True)
class Sources:
    """The Gram matrices on which a fitted function depends.

    Attributes
    ----------
    names : tuple of str
    of_columns : ndarray of int of shape (n_features,)
        The source of each column of the view. The view is computed from the Gram matrices.
    """

    names: tuple[str, ...]
    of_columns: Array


@dataclass(frozen=True)
class FeatureTerm:
    """A linear function of a kernel's own features, such as indicators of leaves.

    Attributes
    ----------
    kernel : Forest
        Kernel with leaves.
    coefficients : ndarray of shape (n_kernel_features, n_outputs)
    view : str, default="given"
    """

    kernel: Kernel
    coefficients: Array
    view: str = THE_TABLE

    @property
    def description(self) -> str:
        """Description of the kernel."""
        return str(self.kernel.describe())

    def __call__(self, X: Features) -> Array:
        """Return the values on rows of the view, shape (n_rows, n_outputs)."""
        features = self.kernel.as_features(self.kernel._applied(X))
        return np.asarray(features @ self.coefficients)

    def mapped(self, matrix: Array) -> FeatureTerm:
        """Return the term with its outputs multiplied by a matrix."""
        return replace(self, coefficients=self.coefficients @ matrix)

    def products(self, n_features: int) -> None:
        """Return None, because the kernel is not a sum of products over columns."""


@dataclass(frozen=True, repr=False)
class KernelExpansion(NotebookResult):
    """Fitted function, written as an intercept plus a sum of terms with kernels.

    Attributes
    ----------
    terms : sequence of KernelTerm, FeatureTerm or FunctionTerm
    intercept : ndarray of shape (n_outputs,)
    scale : str
        "response", "log response", "log-odds", "logit", "decision value", "latent mean" or "log
        rate". The quantity that the function returns: a response, a decision value, the log-odds of
        a class, scores of the classes ("logit"), whose softmax gives their probabilities, the mean
        of the latent function, or the logarithm of the expected count.
    training : dict of str to (ndarray or sparse matrix)
        Training rows that the model keeps, in each view; with Nyström features, the centers or a
        sample. A view is the table, or a transformation of it on which some kernels are evaluated.
    views_of : callable, default=None
        Function from validated rows to their views; None if the table is the only view.
    outputs : tuple of str, default=()
        Names of the outputs; class labels if the function returns scores of classes.
    fall_back : FallBack, default=None
        Fallback of the model for rows far from all training rows.
    sources : Sources, default=None
        The Gram matrices on which the function depends, in place of the columns of a table.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor
    >>> X, y = make_friedman1(50, random_state=0)
    >>> model = TwoStageRegressor(alpha=1.0).fit(X, y)
    >>> expansion = model.kernel_expansion()
    >>> expansion.scale, [term.coefficients.shape for term in expansion.terms]
    ('response', [(50, 1)])
    >>> bool(abs(expansion(X)[:, 0] - model.predict(X)).max() < 1e-9)
    True
    """

    terms: Sequence[Term]
    intercept: Array
    scale: Scale
    training: Views
    views_of: Callable[[Features], Views] | None = None
    outputs: tuple[str, ...] = ()
    fall_back: FallBack | None = None
    sources: Sources | None = None

    def views(self, X: Features) -> Views:
        """Return the rows of a validated table in each view, as dense arrays of double precision.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        """
        found = {THE_TABLE: X} if self.views_of is None else self.views_of(X)
        return {name: as_doubles(view) for name, view in found.items()}

    def __call__(self, X: Features) -> Array:
        """Return the values of the function, shape (n_rows, n_outputs).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            Validated rows.
        """
        return self.of_views(self.views(X))

    def of_views(self, views: Views) -> Array:
        """Return the values of the function on rows in each view, shape (n_rows, n_outputs)."""
        n_rows = next(iter(views.values())).shape[0]
        total = np.tile(np.asarray(self.intercept, dtype=float), (n_rows, 1))
        for term in self.terms:
            total += term(views[term.view])
        return total

    def shrinkage(self, views: Views) -> Array:
        """Return the correction of the function for rows far from all training rows.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        n_rows = next(iter(views.values())).shape[0]
        found = np.zeros((n_rows, len(self.intercept)))
        if self.fall_back is None:
            return found
        closeness = self.fall_back.closeness(views)
        far = np.flatnonzero(closeness[:, 0] < 1.0)
        if far.size:
            values = self.of_views({name: view[far] for name, view in views.items()})
            found[far] = self.fall_back.change(values, self.scale, closeness[far])
        return found

    def predicted(self, views: Views) -> Array:
        """Return the values of the function plus the shrinkage, which give the predictions.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        return self.of_views(views) + self.shrinkage(views)

    def decoded(self, encoding: TargetEncoding) -> KernelExpansion:
        """Return the function in the unit of the responses."""
        offset, size, far = encoding.offset, np.diag(encoding.scale), self.fall_back
        if far is not None:
            far = replace(far, level=offset + encoding.scale * far.level)
        return replace(
            self,
            terms=[term.mapped(size) for term in self.terms],
            intercept=offset + self.intercept @ size,
            fall_back=far,
        )


def as_doubles(X: Features) -> Array:
    """Return a table as a dense array of double precision."""
    dense = X.toarray() if sp.issparse(X) else X
    return np.asarray(dense, dtype=np.float64)


def class_expansion(
    expansion: KernelExpansion, classes: Iterable[Hashable], scale: Scale = "logit"
) -> KernelExpansion:
    """Return an expansion with one score per class, or their difference for two classes.

    Parameters
    ----------
    expansion : KernelExpansion
        Expansion with an output for each class. The probabilities are the softmax of the outputs.
    classes : iterable
    scale : {"logit", "decision value", "latent mean", "log rate"}, default="logit"
        Scale for more than two classes.

    Returns
    -------
    KernelExpansion
        For two classes, the log-odds of the second.
    """
    names = tuple(str(label) for label in classes)
    if len(names) != 2:
        return replace(expansion, outputs=names, scale=scale)
    difference = np.array([[-1.0], [1.0]])
    return replace(
        expansion,
        terms=[term.mapped(difference) for term in expansion.terms],
        intercept=expansion.intercept @ difference,
        outputs=names[1:],
        scale="log-odds",
    )


def of_rows_as_they_are(unit: UnitScale, coefficients: Array) -> tuple[Array, Array]:
    """Express a linear function of centered, scaled kernel values in terms of the raw values.

    Parameters
    ----------
    unit : UnitScale
    coefficients : ndarray of shape (n_samples, n_outputs)
        c; the function is ``unit.apply(rows) @ c``.

    Returns
    -------
    coefficients : ndarray of shape (n_samples, n_outputs)
        The coefficients of each output sum to zero, so that constants may be added to the kernel.
    constant : ndarray of shape (n_outputs,)
        The function is ``rows @ coefficients + constant``.
    """
    weights = as_weights(unit.weights, len(unit.means))
    total = coefficients.sum(axis=0)
    found = (coefficients - np.outer(weights.values, total) / weights.total) / unit.scale
    return found, -unit.means @ found
