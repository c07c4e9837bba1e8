"""Members of a stack, their terms in its function, and where predictions fall back to the mean."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from mercer._data.resampling import Resampling
from mercer._data.types import Array, Features
from mercer._estimators.stacking.table_views import ViewName
from mercer._gram.expansion import (
    FunctionTerm,
    KernelTerm,
    Term,
    Views,
    of_rows_as_they_are,
)
from mercer._gram.new_rows import known_values, largest_gap
from mercer._gram.tree_terms import TreeTerm
from mercer.kernels import Forest, Kernel
from mercer.kernels._distances import median_distance, scaled_features


class Member(Protocol):
    """A predictor on one kernel, fitted to all rows; a stack combines several."""

    @property
    def view(self) -> ViewName:
        """The view of the table on which the kernel is evaluated."""
        ...

    @property
    def kernel(self) -> Kernel | None:
        """The kernel; None for an estimator on the view itself."""
        ...

    @property
    def adds_rows(self) -> bool:
        """Whether updates can add rows to the sums that determine the member."""
        ...

    def deviations(self, X: Features, Z: Features) -> Array:
        """Return predictions minus the mean; see :meth:`GramMember.deviations`."""
        ...

    def term(self, Z: Features, n_outputs: int) -> tuple[Term, Array]:
        """Return a term for the deviations, and a constant; see :meth:`GramMember.term`."""
        ...

    def left_out(
        self, Z: Features, resampling: Resampling, output: int = 0
    ) -> Callable[[Features], Array]:
        """Return a function that predicts without each sample; see :meth:`GramMember.left_out`."""
        ...


def gram_term(member: Any, Z: Features, n_outputs: int) -> tuple[Term, Array]:
    """Return the deviations of a predictor on a Gram matrix as a term and a constant.

    Parameters
    ----------
    member : GramMember
    Z : ndarray or sparse matrix of shape (n_samples, n_features)
        Training samples in the view of the member.
    n_outputs : int

    Returns
    -------
    term : KernelTerm or FunctionTerm
        A FunctionTerm if decisions are votes of several machines.
    constant : ndarray of shape (n_outputs,)
    """
    n = Z.shape[0]
    if member.kernel is None and (trees := member.predictor.trees()) is not None:
        return TreeTerm(trees, member.view), -member.predictor.level
    linear = None if member.kernel is None else member.predictor.linear(n)
    if linear is None:
        description = type(member.predictor.estimator).__name__
        if member.kernel is not None:
            description = f"votes of machines on {member.kernel.describe()}"
        function = partial(member.deviations, Z=Z)
        votes = FunctionTerm(function, np.eye(n_outputs), description, member.view, member.kernel)
        return votes, np.zeros(n_outputs)
    coefficients, constant = of_rows_as_they_are(member.unit, linear[0])
    term = KernelTerm(member.kernel, Z, coefficients, member.view, np.arange(n))
    return term, constant + linear[1]


_REACH = 3.0
"""Up to this number of widths from the data, predictions are those of the kernels."""


def _typical_in_widths(members: Sequence[Member], weights: Array, training: Views) -> float:
    """Return the root mean square over members of median distances in widths, one if unknown."""
    found, shares = [], []
    for member, weight in zip(members, np.abs(weights), strict=True):
        rows, kernel = training[member.view], member.kernel
        if kernel is None or isinstance(kernel, Forest):
            continue
        relevance = kernel.relevance(rows.shape[1])
        with np.errstate(divide="ignore"):
            widths = np.sqrt(np.mean(kernel.diag(rows)) / relevance)
        if weight > 0.0 and np.isfinite(relevance).all() and np.isfinite(widths).any():
            found.append(median_distance(scaled_features(known_values(rows), widths)))
            shares.append(weight)
    return float(np.sqrt(np.average(np.square(found), weights=shares))) if found else 1.0


def fall_back_of(
    members: Sequence[Member], weights: Array, training: Views, view: str, groups: Array | None
) -> tuple[float, tuple[float, float]]:
    """Return the distances of the fallback for rows far from all training rows.

    Parameters
    ----------
    members : sequence of Member
    weights : ndarray of shape (n_members,)
    training : mapping from names of views to ndarray or sparse matrix
        The training rows.
    view : str
        Name of the view in which distances are measured.
    groups : ndarray of int of shape (n_rows,), or None

    Returns
    -------
    reach : float
    sure : tuple of float
        See :class:`FallBack`.

    Notes
    -----
    Within a few widths of the data, functions in the space of a kernel approach limits of their
    own. If the width exceeds the typical distance between rows, they are nearly polynomials in the
    data, which grow far outside. The width is then replaced by the typical distance.
    """
    rows = known_values(training[view])
    gap, typical = largest_gap(rows, groups), median_distance(rows)
    width = typical / max(_typical_in_widths(members, weights, training), 1.0)
    return max(gap, _REACH * width), (gap, 2.0 * max(gap, width))
