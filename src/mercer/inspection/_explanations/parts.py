"""Parts of a fitted function that are products over players, and parts that are not.

A player is a set of columns whose values are exchanged together. Given a partition of the columns
into players, a product of kernels on few columns is a product over players if no factor depends on
columns of two players.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from mercer._data.types import Array
from mercer._gram.expansion import KernelExpansion, KernelTerm, Term, Views, as_doubles
from mercer.kernels._column_products import ColumnProduct, Factor, used_columns


@dataclass(frozen=True)
class CenterPart:
    """A product of kernels, each of one player, times coefficients at centers.

    Attributes
    ----------
    view : str
    players : ndarray of int of shape (n_active,)
    kernels : sequence of sequence of Factor
        Factors of each player.
    centers : ndarray of shape (n_centers, n_features)
    coefficients : ndarray of shape (n_centers, n_outputs)
    """

    view: str
    players: Array
    kernels: Sequence[Sequence[Factor]]
    centers: Array
    coefficients: Array

    def factors(self, X: Array, terms: slice) -> tuple[Array, Array]:
        """Return the factors of some centers on rows of the view.

        Returns
        -------
        shifted : ndarray of shape (n_active, n_rows, n_terms)
            Factors minus their offsets. Differences of these are precise.
        offsets : ndarray of shape (n_active,)
        """
        centers = self.centers[terms]
        shifted = np.empty((len(self.players), len(X), len(centers)))
        offsets = np.empty(len(self.players))
        for k, (first, *others) in enumerate(self.kernels):
            total, offset = first.shifted(X, centers), first.kernel.offset
            for other in others:
                # (s + a)(t + b) - ab = st + bs + at.
                factor, level = other.shifted(X, centers), other.kernel.offset
                total = total * factor + level * total + offset * factor
                offset *= level
            shifted[k], offsets[k] = total, offset
        return shifted, offsets


@dataclass(frozen=True)
class MonomialPart:
    """A polynomial: coefficients times powers of columns.

    Attributes
    ----------
    view : str
    players : ndarray of int of shape (n_active,)
    columns : sequence of ndarray of int
        Columns of each player.
    exponents : ndarray of int of shape (n_monomials, n_features)
    coefficients : ndarray of shape (n_monomials, n_outputs)
    """

    view: str
    players: Array
    columns: Sequence[Array]
    exponents: Array
    coefficients: Array

    def factors(self, X: Array, terms: slice) -> tuple[Array, Array]:
        """Return each player's products of powers in some monomials; see :class:`CenterPart`."""
        exponents = self.exponents[terms]
        found = [
            np.prod(X[:, None, columns] ** exponents[:, columns], axis=2)
            for columns in self.columns
        ]
        return np.stack(found), np.zeros(len(found))


ProductPart: TypeAlias = CenterPart | MonomialPart
"""A sum of coefficients times products of one factor for each player."""


@dataclass(frozen=True)
class OtherProduct:
    """A product of kernels, with at least one kernel on columns of several players.

    Attributes
    ----------
    view : str
    product : ColumnProduct
    centers : ndarray of shape (n_centers, n_features)
    coefficients : ndarray of shape (n_centers, n_outputs)
    """

    view: str
    product: ColumnProduct
    centers: Array
    coefficients: Array

    def __call__(self, X: Array) -> Array:
        """Return the values on rows of the view, shape (n_rows, n_outputs)."""
        values = np.full((len(X), len(self.centers)), self.product.weight)
        for factor, shifted in zip(self.product.factors, self._factors, strict=True):
            values *= shifted(X) + factor.kernel.offset
        return np.asarray(values @ self.coefficients)

    @cached_property
    def _factors(self) -> list[Callable[[Array], Array]]:
        """The factors minus their offsets, as functions of rows."""
        return [factor.shifted_at(self.centers) for factor in self.product.factors]

    @property
    def columns(self) -> Array:
        """Columns on which the product depends."""
        return used_columns([self.product])

    @property
    def description(self) -> str:
        """Description of the kernels on several columns."""
        kernels = [f.kernel.describe() for f in self.product.factors if len(f.columns) > 1]
        return " and ".join(dict.fromkeys(kernels))


@dataclass(frozen=True)
class OtherFunction:
    """A function of all columns.

    Attributes
    ----------
    term : Term
    columns : ndarray of int
    """

    term: Term
    columns: Array

    @property
    def view(self) -> str:
        """Name of the view."""
        return self.term.view

    def __call__(self, X: Array) -> Array:
        """Return the values on rows of the view, shape (n_rows, n_outputs)."""
        return self.term(X)

    @property
    def description(self) -> str:
        """Description of the function."""
        return str(getattr(self.term, "description", type(self.term).__name__))


@dataclass(frozen=True)
class Parts:
    """A fitted function as the sum of its parts, up to a constant.

    Attributes
    ----------
    exact : list of ProductPart
    others : list of (OtherProduct or OtherFunction)
    player_of : ndarray of int of shape (n_features,)
        The player to which each column belongs.
    n_players : int
    n_outputs : int
    """

    exact: list[ProductPart]
    others: list[OtherProduct | OtherFunction]
    player_of: Array
    n_players: int
    n_outputs: int

    @classmethod
    def of(cls, expansion: KernelExpansion, player_of: Array, n_players: int) -> Parts:
        """Return the parts of an expansion for a partition of its columns into players."""
        exact: list[ProductPart] = []
        others: list[OtherProduct | OtherFunction] = []
        n = len(player_of)
        for term in expansion.terms:
            products = term.products(n)
            if products is None or not isinstance(term, KernelTerm):
                others.append(OtherFunction(term, np.arange(n)))
                continue
            separable = [found for found in products if found.is_separable and found.factors]
            if separable:
                exact.append(_monomials(term, separable, player_of))
            for found in products:
                if found.is_separable:
                    continue
                if all(len(set(player_of[list(f.columns)])) == 1 for f in found.factors):
                    exact.append(_centers(term, found, player_of))
                else:
                    centers = as_doubles(term.centers)
                    others.append(OtherProduct(term.view, found, centers, term.coefficients))
        return cls(exact, others, player_of, n_players, len(expansion.intercept))

    @property
    def sampled_players(self) -> Array:
        """Players on which the parts in `others` depend, in ascending order."""
        if not self.others:
            return np.empty(0, dtype=int)
        return np.unique(self.player_of[np.concatenate([part.columns for part in self.others])])

    def of_others(self, views: Views) -> Array:
        """Return the sum of the parts in `others`, shape (n_rows, n_outputs)."""
        total = np.zeros((next(iter(views.values())).shape[0], self.n_outputs))
        for part in self.others:
            total += part(views[part.view])
        return total


def _centers(term: KernelTerm, found: ColumnProduct, player_of: Array) -> CenterPart:
    """Return a product whose factors each depend on one player."""
    factors: dict[int, list[Factor]] = {}
    for factor in found.factors:
        factors.setdefault(int(player_of[factor.columns[0]]), []).append(factor)
    return CenterPart(
        term.view,
        np.array(sorted(factors), dtype=int),
        [factors[player] for player in sorted(factors)],
        as_doubles(term.centers),
        found.weight * term.coefficients,
    )


def _monomials(
    term: KernelTerm, products: Sequence[ColumnProduct], player_of: Array
) -> MonomialPart:
    """Return products of linear kernels on single columns as monomials, summed over centers."""
    centers = as_doubles(term.centers)
    exponents = np.zeros((len(products), len(player_of)), dtype=int)
    coefficients = np.empty((len(products), term.coefficients.shape[1]))
    unit = np.ones((1, len(player_of)))
    for t, found in enumerate(products):
        values = np.full(len(centers), found.weight)
        for factor in found.factors:
            exponents[t, factor.columns[0]] += 1
            values = values * factor.shifted(unit, centers)[0]  # A kernel s x z is s z at x = 1.
        coefficients[t] = values @ term.coefficients
    used = exponents.any(axis=0)
    players = np.unique(player_of[used])
    columns = [np.flatnonzero((player_of == player) & used) for player in players]
    return MonomialPart(term.view, players, columns, exponents, coefficients)


def without_output_axis(values: Array) -> Array:
    """Return values without their last axis if there is a single output."""
    return values[..., 0] if values.shape[-1] == 1 else values
