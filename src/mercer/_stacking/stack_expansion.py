"""The function that a fitted stack has learned, as a sum over terms of its members."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer._expansion import (
    FunctionTerm,
    KernelExpansion,
    KernelTerm,
    Scale,
    Term,
    Views,
    of_rows_as_they_are,
)
from mercer._fall_back import FallBack
from mercer._stacking.combination import Combination
from mercer._typing import Array, Features


def gram_term(member: Any, Z: Features, n_outputs: int) -> tuple[Term, Array]:
    """The deviations of a predictor on a Gram matrix as a term, and a constant.

    Parameters
    ----------
    member : GramMember
    Z : ndarray or sparse matrix of shape (n_samples, n_features)
        The member's view of the training samples.
    n_outputs : int

    Returns
    -------
    term : KernelTerm or FunctionTerm
        A function where decisions are votes of several machines.
    constant : ndarray of shape (n_outputs,)
    """
    n = Z.shape[0]
    linear = member.predictor.linear(n)
    if linear is None:
        description = f"votes of machines on {member.kernel.describe()}"
        function = partial(member.deviations, Z=Z)
        votes = FunctionTerm(function, np.eye(n_outputs), description, member.view, member.kernel)
        return votes, np.zeros(n_outputs)
    coefficients, constant = of_rows_as_they_are(member.unit, linear[0])
    term = KernelTerm(member.kernel, Z, coefficients, member.view, np.arange(n))
    return term, constant + linear[1]


class StackExpansionMixin:
    """What a stack has learned, as one expansion."""

    _members: Sequence[Any]
    _combination: Combination
    _training: Views
    _reach: float

    def _stack_expansion(self, means: Array, scale: Scale) -> KernelExpansion:
        """The combination of members; of probabilities, the sum whose softmax they are.

        Parameters
        ----------
        means : ndarray of shape (n_outputs,)
            What is predicted without any member, and far from all training rows.
        scale : {"response", "logit"}
        """
        matrices, total = self._combination.linear(means)
        terms, intercept = [], np.array(total, dtype=float)
        for member, matrix in zip(self._members, matrices, strict=True):
            term, constant = member.term(self._training[member.view], len(means))
            terms.append(term.mapped(matrix))
            intercept += constant @ matrix
        far = self._fall_back(means)
        return KernelExpansion(terms, intercept, scale, self._training, self._views_of, (), far)

    def _fall_back(self, means: Array) -> FallBack:
        """What predictions fall back to far from all training rows.

        Parameters
        ----------
        means : ndarray of shape (n_outputs,)
        """
        view = next(iter(self._training))
        return FallBack(view, self._training[view], self._reach, means)

    @property
    def _views_of(self) -> Any:
        """From validated samples to these in each view."""
        raise NotImplementedError
