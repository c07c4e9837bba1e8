"""ONNX operators of fitted functions: kernels at centers, trees, and closeness to training rows."""

from typing import Any

import numpy as np

from mercer import kernels
from mercer._data.types import Array
from mercer._files.deployment.onnx_tensors import Traced, where
from mercer._gram.expansion import FeatureTerm, KernelExpansion, KernelTerm, as_doubles
from mercer._gram.fall_back import FallBack
from mercer._gram.tree_terms import TreeTerm, as_tree_terms
from mercer.kernels._distances import squared_distances
from mercer.kernels._tree_arrays import TreeArrays

_OF_SQUARES = kernels.Gaussian, kernels.Linear, kernels.Polynomial, kernels.RationalQuadratic
"""Kernels that are smooth in inner products or squared distances."""

_OF_DISTANCES = kernels.Dirichlet, kernels.ExponentialPower, kernels.Laplacian, kernels.Matern
"""Kernels that are not, at distance zero. Their distances are computed column by column, because
differences, unlike inner products, remain exact where rows are close to centers."""


def function_values(expansion: KernelExpansion, views: dict[Any, Traced]) -> Traced:
    """Return values of a fitted function, shape (n_rows, n_outputs), without the fallback.

    Parameters
    ----------
    expansion : KernelExpansion
    views : dict of str to Tensor
        Rows in each view.

    Raises
    ------
    TypeError
        If a part of the function has no operators. The message names the part.
    """
    # A zero for each row, which the values have even if they do not depend on it.
    zero = 0.0 * np.isnan(next(iter(views.values()))[:, :1]).astype(float)
    total: Traced = zero + np.asarray(expansion.intercept, dtype=float)[None, :]
    for term in (part for whole in expansion.terms for part in as_tree_terms(whole)):
        X = views[term.view]
        if isinstance(term, KernelTerm):
            coefficients = np.asarray(term.coefficients, dtype=float)
            values = shifted_values(term.kernel, X, as_doubles(term.centers))
            constant = term.kernel.offset * coefficients.sum(axis=0)
            total = total + (values @ coefficients + constant)
        elif isinstance(term, TreeTerm):
            total = total + tree_values(term.trees, X)
        elif isinstance(term, FeatureTerm):
            raise TypeError(f"{term.description}, of another library, has no operators in ONNX.")
        else:
            raise TypeError(
                f"{getattr(term, 'description', term)} has no operators in ONNX. mercer.compress "
                "makes a model of sums over centers."
            )
    return total


def shifted_values(kernel: kernels.Kernel, X: Traced, Z: Array) -> Any:
    """Return a kernel between rows and centers, less its offset, shape (n_rows, n_centers).

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    X : Tensor
        Rows.
    Z : ndarray of shape (n_centers, n_features)

    Raises
    ------
    TypeError
        If the kernel has no operators. Subclasses may have other formulas.
    """
    kind: Any = type(kernel)
    if kind is kernels.WeightedSum:
        pairs = [(weight, part) for weight, part in kernel._terms() if weight]
        values = (weight * shifted_values(part, X, Z) for weight, part in pairs)
        return sum(values, np.zeros((1, len(Z))))
    if kind is kernels.Product:
        return kernel._multiplied([shifted_values(part, X, Z) for part in kernel._parts()])
    if kind in (kernels.OnColumns, kernels.OnProjection):
        return shifted_values(kernel.kernel, kernel._mapped(X), kernel._mapped(Z))
    if kind in _OF_DISTANCES:
        powers = _powers(kernel._scaled(X), kernel._scaled(Z), kernel.norm)
        return kernel._from_scaled(powers ** (2.0 / kernel.norm))
    if kind in _OF_SQUARES:
        return kernel._shifted(X, Z)
    raise TypeError(
        f"The kernel {kernel.describe()} has no operators in ONNX ({type(kernel).__name__})."
    )


def _powers(X: Traced, Z: Array, norm: float) -> Traced:
    """Return sum_j |x_j - z_j|^p for each pair of rows."""
    sizes = (np.abs(X[:, [column]] - Z[:, column]) for column in range(Z.shape[1]))
    return sum(size**norm for size in sizes)


def tree_values(trees: TreeArrays, X: Traced) -> Traced:
    """Return the mean leaf value over trees, shape (n_rows, n_outputs).

    All trees are descended together, level by level.

    Parameters
    ----------
    trees : TreeArrays
    X : Tensor
        Rows in double precision.
    """
    roots, n_outputs = trees.starts[:-1].astype(np.int64), trees.value.shape[1]
    first = np.repeat(roots, np.diff(trees.starts))
    is_leaf, nodes = trees.children[:, 0] < 0, np.arange(len(first))
    left, right = (np.where(is_leaf, nodes, first + side) for side in trees.children.T)
    feature = np.where(is_leaf, 0, trees.feature).astype(np.int64)
    if trees.is_single:
        X = X.astype(np.float32).astype(float)

    def at_nodes(values: Array) -> Traced:
        shape = (*at.shape, *values.shape[1:])
        return X.graph.add("Gather", values, at, shape=shape, dtype=values.dtype)

    # Broadcasting repeats the roots for each row.
    at = np.isnan(X[:, :1]).astype(np.int64) * 0 + roots[None, :]
    for _ in range(_depth(left, right, is_leaf, roots)):
        values = X.graph.add("GatherElements", X, at_nodes(feature), axis=1, shape=at.shape)
        goes_left = values <= at_nodes(trees.threshold.astype(float))
        if trees.allow_nan:
            goes_left = goes_left | (np.isnan(values) & at_nodes(trees.missing_left))
        left_node, right_node = (at_nodes(side.astype(np.int64)) for side in (left, right))
        at = where(goes_left, left_node, right_node)
    found = at_nodes(trees.value.astype(float))
    return X.graph.add("ReduceMean", found, [1], keepdims=0, shape=(1, n_outputs))


def _depth(left: Array, right: Array, is_leaf: Array, roots: Array) -> int:
    """Return the number of levels below the roots."""
    at, depth = np.unique(roots), 0
    while (inner := at[~is_leaf[at]]).size:
        at, depth = np.unique(np.concatenate([left[inner], right[inner]])), depth + 1
    return depth


def closeness(far: FallBack, views: dict[Any, Traced]) -> Traced:
    """Return the closeness to training rows, shape (n_rows, 1); see :meth:`FallBack.closeness`."""
    squared: Any = squared_distances(views[far.view], as_doubles(far.rows))
    return far.closeness_at(squared.reduced("ReduceMin", keepdims=0))
