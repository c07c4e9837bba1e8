"""Sums and products of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from mercer._data.arrays import is_foreign, namespace
from mercer._data.types import Array, Features
from mercer.kernels._distances import distances_to, products, squared_distances
from mercer.kernels._kernel import Kernel, ValueTiles, stack_values
from mercer.kernels._radial import Radial, RadialFunction
from mercer.kernels._structure import Distance, InnerProduct, PrecomputedGram, Structure


class Composite(Kernel):
    """A kernel composed of other kernels, its parts, whose parameters are concatenated."""

    def _parts(self) -> Sequence[Kernel]:
        raise NotImplementedError

    def _with_parts(self, parts: list[Kernel]) -> Self:
        raise NotImplementedError

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        """Whether every part can be evaluated on sparse features."""
        return all(part.accepts_sparse for part in self._parts())

    @property
    def accepts_missing(self) -> bool:  # type: ignore[override]
        """Whether any part accepts missing values."""
        return any(part.accepts_missing for part in self._parts())

    @property
    def accepts_array_api(self) -> bool:  # type: ignore[override]
        """Whether every part accepts arrays of other libraries."""
        return all(part.accepts_array_api for part in self._parts())

    def _check_missing(self, X: Features) -> None:
        for part in self._parts():
            part._check_missing(X)

    @property
    def theta(self) -> Array:
        """Log-parameters of all parts, concatenated."""
        return np.concatenate([part.theta for part in self._parts()])

    @property
    def bounds(self) -> list[object]:
        """Bounds of the parts, None for parts without parameters."""
        return [getattr(part, "bounds", None) for part in self._parts()]

    def with_theta(self, theta: Array) -> Self:
        """Return the same composition of the parts with other parameters."""
        theta = np.asarray(theta, dtype=float)
        sizes = [part.theta.size for part in self._parts()]
        if theta.shape != (sum(sizes),):
            raise ValueError(f"theta must have shape {(sum(sizes),)}; got {theta.shape}.")
        split = np.split(theta, np.cumsum(sizes)[:-1])
        return self._with_parts(
            [part.with_theta(t) for part, t in zip(self._parts(), split, strict=True)]
        )

    def width_groups(self) -> list[Array]:
        """Return the positions of the widths of each part that has one width per feature."""
        ends = accumulate((part.theta.size for part in self._parts()), initial=0)
        # The last end has no part.
        pairs = zip(ends, self._parts(), strict=False)
        return [begin + group for begin, part in pairs for group in part.width_groups()]

    def log_bounds(self, X: Features) -> Array:
        """Return the intervals of the parts' log-parameters, concatenated."""
        return np.vstack([part.log_bounds(X) for part in self._parts()])

    def bind(self, X: Features) -> Self:
        """Return the same composition of the parts, adapted to a table."""
        return self._with_parts([part.bind(X) for part in self._parts()])


@dataclass(eq=False, repr=False)
class WeightedSum(Composite):
    """Weighted sum of kernels, sum_k w_k K_k, such as `Gaussian(2.0) + 0.5 * Linear()`.

    Parameters
    ----------
    kernels : sequence of Kernel
        The summands.
    weights : array-like of shape (n_kernels,)
        The coefficients, which are not part of `theta`. If none of them is negative, the sum is a
        kernel.

    Notes
    -----
    Kernels that depend on the same distance share its computation, and all inner products of
    columns are computed as one product of weighted columns.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, WeightedSum
    >>> WeightedSum([Gaussian(2.0), Linear()], [0.5, 0.5])([[0.0], [2.0]]).round(4)
    array([[0.5   , 0.1839],
           [0.1839, 2.5   ]])
    """

    kernels: Sequence[Kernel]
    weights: Array | Sequence[float]

    @property
    def offset(self) -> float:
        """Weighted sum of the parts' offsets."""
        return float(sum(w * part.offset for w, part in self._terms()))

    def expand(self, X: Features) -> list[Kernel]:
        """Return the sum itself, because its weights are fixed."""
        self._terms()
        return [self]

    @property
    def structure(self) -> Structure:
        """Structure of the formula: a sum of slices of a stack if a part is one; else unknown."""
        if any(isinstance(part.structure, PrecomputedGram) for part in self.kernels):
            return PrecomputedGram(self._from_stack)
        return Structure()

    def relevance(self, n_features: int) -> Array:
        """Return the weighted sum of the relevances of the parts whose weights are not zero."""
        total = np.zeros(n_features)
        for weight, part in self._terms():
            if weight != 0.0:
                total += weight * part.relevance(n_features)
        return total

    def describe(self) -> str:
        """Return the weights and the descriptions of the parts."""
        return " + ".join(f"{w:.3g} x {as_operand(part)}" for w, part in self._terms())

    def _evaluated_on(self, X: Features) -> tuple[Kernel, Features]:
        if len(self.kernels) != 1:
            return self, X
        part, table = self.kernels[0]._evaluated_on(X)
        return WeightedSum([part], self.weights), table

    def _from_stack(self, stack: Array) -> Array:
        total = np.zeros(stack.shape[:2])
        for weight, part in self._terms():
            if weight != 0.0:
                total += weight * stack_values(part, stack)
        return total

    def _terms(self) -> list[tuple[float, Kernel]]:
        weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (len(self.kernels),) or not np.all(np.isfinite(weights)):
            raise ValueError(
                f"weights must be {len(self.kernels)} finite numbers, one for each kernel; "
                f"got an array of shape {weights.shape}."
            )
        return list(zip(weights.tolist(), self.kernels, strict=True))

    def _parts(self) -> Sequence[Kernel]:
        return self.kernels

    def _with_parts(self, parts: list[Kernel]) -> Self:
        return type(self)(parts, self.weights)

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        terms = [(w, part) for w, part in self._terms() if w != 0.0]
        if is_foreign(X):
            zeros = namespace(X).zeros_like(products(X, X if Z is None else Z))
            return sum((w * part._shifted(X, Z) for w, part in terms), zeros)
        scales, dense = inner_product_part(terms, X.shape[1])
        blocks = shifted_blocks([part for _, part in dense], X, Z)
        return _weighted_sum(X, X if Z is None else Z, scales, dense, blocks)

    def _value_tiles(self, X: Features, precision: npt.DTypeLike = np.float32) -> ValueTiles:
        terms = [(w, part) for w, part in self._terms() if w != 0.0]
        groups = radial_groups([part for _, part in terms]).values()
        if not terms or any(len(group) > 1 for group in groups):
            return super()._value_tiles(X, precision)
        parts = [(w, part._value_tiles(X, precision)) for w, part in terms]

        def tile(rows: slice, columns: slice) -> Array:
            first, *others = (w * values(rows, columns) for w, values in parts)
            for values in others:
                first = first + values
            return first

        return tile

    def _shifted_at(self, Z: Features) -> Callable[[Features], Array]:
        if is_foreign(Z):
            return super()._shifted_at(Z)
        terms = [(w, part) for w, part in self._terms() if w != 0.0]
        scales, dense = inner_product_part(terms, Z.shape[1])
        blocks = shifted_blocks_at([part for _, part in dense], Z)
        return lambda X: _weighted_sum(X, Z, scales, dense, blocks(X))

    def _shifted_diag(self, X: Features) -> Array:
        total = np.zeros(X.shape[0])
        for weight, part in self._terms():
            total += weight * part._shifted_diag(X)
        return total

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        value, gradients = 0.0, []
        for weight, part in self._terms():
            part_value, gradient = part._contract(X, P, Z, start)
            value += weight * part_value
            gradients.append(weight * gradient)
        return value, np.concatenate(gradients)


@dataclass(eq=False, repr=False)
class Product(Composite):
    """Elementwise product of kernels, such as `Gaussian(2.0) * Linear()`.

    Parameters
    ----------
    kernels : sequence of Kernel
        At least one.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, Product
    >>> Product([Gaussian(2.0), Linear()])([[1.0], [3.0]]).round(4)
    array([[1.    , 1.1036],
           [1.1036, 9.    ]])
    """

    kernels: Sequence[Kernel]

    @property
    def offset(self) -> float:
        """Product of the parts' offsets."""
        return float(np.prod([part.offset for part in self._parts()]))

    def relevance(self, n_features: int) -> Array:
        """Return the sum of each part's relevance times the other parts' values at distance zero.

        This is the product rule for derivatives. A part whose value at distance zero is not
        constant, such as an inner product, contributes the factor one.
        """
        total, value = np.zeros(n_features), 1.0
        for part in self._parts():
            factor = part.offset or 1.0
            total = factor * total + value * part.relevance(n_features)
            value *= factor
        return total

    def describe(self) -> str:
        """Return the descriptions of the parts."""
        return " x ".join(f"({part.describe()})" for part in self._parts())

    def _parts(self) -> Sequence[Kernel]:
        if len(self.kernels) == 0:
            raise ValueError("Product needs at least one kernel.")
        return self.kernels

    def _with_parts(self, parts: list[Kernel]) -> Self:
        return type(self)(parts)

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        return self._multiplied([part._shifted(X, Z) for part in self._parts()])

    def _shifted_at(self, Z: Features) -> Callable[[Features], Array]:
        values = [part._shifted_at(Z) for part in self._parts()]
        return lambda X: self._multiplied([each(X) for each in values])

    def _shifted_diag(self, X: Features) -> Array:
        return self._multiplied([part._shifted_diag(X) for part in self._parts()])

    def _multiplied(self, shifted: list[Array]) -> Array:
        """Return the product less its offset: (s + a)(t + b) - ab = st + bs + at, offsets a and b.

        A constant is not added and then subtracted, because that would lose precision.
        """
        offsets = [part.offset for part in self._parts()]
        total, offset = shifted[0], offsets[0]
        for other, other_offset in zip(shifted[1:], offsets[1:], strict=True):
            total = total * other + other_offset * total + offset * other
            offset *= other_offset
        return total

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        parts = self._parts()
        grams = [part._shifted(X, Z) + part.offset for part in parts]
        if start is not None:
            rows = np.arange(X.shape[0])
            for part, gram in zip(parts, grams, strict=True):
                gram[rows, start + rows] = part._shifted_diag(X) + part.offset
        before = list(accumulate(grams, np.multiply))
        weighted, gradients = np.array(P, dtype=float), list[Array]()
        for k in reversed(range(len(parts))):
            others = weighted * before[k - 1] if k else weighted
            gradients.append(parts[k]._contract(X, others, Z, start)[1])
            weighted *= grams[k]
        return float(weighted.sum()), np.concatenate(gradients[::-1])


def as_operand(kernel: Kernel) -> str:
    """Return a kernel's description, in parentheses if the kernel is a sum or a product."""
    text = kernel.describe()
    return f"({text})" if isinstance(kernel, WeightedSum | Product) else text


def shifted_blocks(
    kernels: Sequence[Kernel], X: Features, Z: Features | None
) -> Iterator[tuple[int, Array]]:
    """Yield each kernel's index and Gram matrix less its offset; shared distances are reused."""
    grouped = set()
    for distance, group in radial_groups(kernels).items():
        chosen = slice(None) if distance.columns is None else list(distance.columns)
        others = None if Z is None else Z[:, chosen]
        squared = squared_distances(X[:, chosen], others, norm=distance.norm)
        for position, function in group:
            grouped.add(position)
            yield position, function.from_squared(squared)
    for position, kernel in enumerate(kernels):
        if position not in grouped:
            yield position, kernel._shifted(X, Z)


def shifted_blocks_at(
    kernels: Sequence[Kernel], Z: Features
) -> Callable[[Features], Iterator[tuple[int, Array]]]:
    """Return :func:`shifted_blocks` as a function of X; terms in `Z` are computed once."""
    groups = [
        (
            slice(None) if distance.columns is None else list(distance.columns),
            distance.norm,
            group,
        )
        for distance, group in radial_groups(kernels).items()
    ]
    shared = [
        (chosen, distances_to(Z[:, chosen], norm), group)
        for chosen, norm, group in groups
        if len(group) > 1
    ]
    grouped = {position for _, _, group in shared for position, _ in group}
    others = [
        (position, kernel._shifted_at(Z))
        for position, kernel in enumerate(kernels)
        if position not in grouped
    ]

    def blocks(X: Features) -> Iterator[tuple[int, Array]]:
        for chosen, squared_to, group in shared:
            squared = squared_to(X[:, chosen])
            yield from ((position, each.from_squared(squared)) for position, each in group)
        yield from ((position, values(X)) for position, values in others)

    return blocks


def inner_product_part(
    terms: Sequence[tuple[float, Kernel]], n_features: int
) -> tuple[Array, list[tuple[float, Kernel]]]:
    """Return the factors of features in the sum of inner products, and all other terms."""
    others, scales = [], np.zeros(n_features)
    for weight, part in terms:
        structure = part.structure
        if isinstance(structure, InnerProduct):
            scales[structure.positions(n_features)] += weight
        else:
            others.append((weight, part))
    return scales, others


def _weighted_sum(
    X: Features,
    Z: Features,
    scales: Array,
    terms: Sequence[tuple[float, Kernel]],
    blocks: Iterator[tuple[int, Array]],
) -> Array:
    """Return an inner product with scaled features plus weighted blocks of other terms."""
    total: Array | None = None
    if scales.any():
        weighted = X.multiply(scales).tocsr() if sp.issparse(X) else X * scales
        total = products(weighted, Z)
    for index, block in blocks:
        np.multiply(block, terms[index][0], out=block)
        total = block if total is None else np.add(total, block, out=total)
    return np.zeros((X.shape[0], Z.shape[0])) if total is None else total


def radial_groups(kernels: Sequence[Kernel]) -> dict[Distance, list[tuple[int, Radial]]]:
    """Group the indices and functions of bound kernels by the distance that they depend on.

    Kernels that are not functions of a distance are omitted.
    """
    groups: dict[Distance, list[tuple[int, Radial]]] = {}
    for position, kernel in enumerate(kernels):
        structure = kernel.structure
        if isinstance(structure, RadialFunction):
            groups.setdefault(structure.distance, []).append((position, structure.function))
    return groups


def inner_product_columns(kernels: Sequence[Kernel], n_features: int) -> list[Array] | None:
    """Return the columns of each bound kernel's inner product; None if one is no inner product."""
    structures = [kernel.structure for kernel in kernels]
    products = [s.positions(n_features) for s in structures if isinstance(s, InnerProduct)]
    return products if len(products) == len(structures) else None


def trace_shares(weights: Array, traces: Array) -> Array:
    """Return the share of each kernel in the trace of a weighted sum.

    The shares sum to one, or are all zero.

    Parameters
    ----------
    weights : ndarray of shape (n_kernels,)
        Only their absolute values matter.
    traces : ndarray of shape (n_kernels,)
        Traces of the kernels' Gram matrices; negative traces, which are rounding errors, count as
        zero.
    """
    parts = np.abs(weights) * np.maximum(traces, 0.0)
    return parts / parts.sum() if parts.any() else parts
