"""ONNX operators of fitted functions: kernels at centers, trees, and closeness to training rows."""

from collections.abc import Callable

import numpy as np

from mercer._data.types import Array
from mercer._files.deployment.onnx_operators import Operators, Tensor, TensorViews, onnx
from mercer._gram.expansion import FeatureTerm, KernelExpansion, KernelTerm, as_doubles
from mercer._gram.fall_back import FallBack
from mercer._gram.tree_terms import TreeTerm, as_tree_terms
from mercer.kernels import (
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    OnProjection,
    Polynomial,
    Product,
    RationalQuadratic,
    WeightedSum,
)
from mercer.kernels._distances import center_of
from mercer.kernels._stationary import NOTHING_BEYOND
from mercer.kernels._tree_arrays import TreeArrays


def function_values(op: Operators, expansion: KernelExpansion, views: TensorViews) -> Tensor:
    """Return values of a fitted function, shape (n_rows, n_outputs), without the fallback.

    Parameters
    ----------
    op : Operators
    expansion : KernelExpansion
    views : dict of str to str
        Rows in each view.

    Raises
    ------
    TypeError
        If a part of the function has no operators. The message names the part.
    """
    parts = []
    for term in (part for whole in expansion.terms for part in as_tree_terms(whole)):
        if isinstance(term, KernelTerm):
            centers = as_doubles(term.centers)
            for factor, kernel in _summands(term.kernel):
                values = kernel_values(op, kernel, views[term.view], centers)
                coefficients = factor * np.asarray(term.coefficients, dtype=float)
                parts.append(op("MatMul", values, coefficients))
        elif isinstance(term, TreeTerm):
            parts.append(tree_values(op, term.trees, views[term.view]))
        else:
            raise TypeError(
                f"{getattr(term, 'description', term)} has no operators in ONNX. mercer.compress "
                "makes a model of sums over centers."
                if not isinstance(term, FeatureTerm)
                else f"{term.description}, of another library, has no operators in ONNX."
            )
    none = op("MatMul", next(iter(views.values())), _zeros(expansion, views))
    return op("Add", op.total([*parts, none]) if parts else none, expansion.intercept)


def _summands(kernel: Kernel) -> list[tuple[float, Kernel]]:
    """Return the factors and kernels of a sum, which coefficients are multiplied by.

    Runtimes fuse a product by one number with the matrix product that follows it, and may round
    the number to single precision.
    """
    if type(kernel) is not WeightedSum:
        return [(1.0, kernel)]
    pairs = [(weight, part) for weight, part in kernel._terms() if weight]
    inner = [(weight * factor, k) for weight, part in pairs for factor, k in _summands(part)]
    return inner or [(0.0, kernel)]


def _zeros(expansion: KernelExpansion, views: TensorViews) -> Array:
    """Return a matrix that maps rows of the first view to a zero for each output."""
    n_features = next(iter(expansion.training.values())).shape[1]
    return np.zeros((n_features, len(expansion.intercept)))


def kernel_values(op: Operators, kernel: Kernel, X: Tensor, Z: Array) -> Tensor:
    """Return the values of a kernel between rows and centers, shape (n_rows, n_centers).

    Parameters
    ----------
    op : Operators
    kernel : Kernel
        Bound to the table.
    X : str
        Rows.
    Z : ndarray of shape (n_centers, n_features)

    Raises
    ------
    TypeError
        If the kernel has no operators.
    """
    if type(kernel) not in _KERNELS:
        raise TypeError(
            f"The kernel {kernel.describe()} has no operators in ONNX ({type(kernel).__name__})."
        )
    return _KERNELS[type(kernel)](op, kernel, X, Z)


def _scaled_squares(op: Operators, kernel: Kernel, X: Tensor, Z: Array) -> Tensor:
    """Return squared Euclidean distances in units of the widths, computed by inner products."""
    lengths = np.broadcast_to(kernel._scale(), Z.shape[1])
    return squared_distances(op, op("Div", X, lengths), Z / lengths)


def squared_distances(op: Operators, X: Tensor, Z: Array) -> Tensor:
    """Return squared Euclidean distances between rows and centers, shape (n_rows, n_centers)."""
    center = center_of(Z)
    X, Z = op("Sub", X, center), Z - center
    squares = op("ReduceSum", op("Mul", X, X), np.array([1]), keepdims=1)
    found = op("Sub", squares, op("MatMul", X, 2.0 * Z.T))
    return op("Max", op("Add", found, np.einsum("ij,ij->i", Z, Z)), 0.0)


def _scaled_powers(op: Operators, kernel: Kernel, X: Tensor, Z: Array, norm: float) -> Tensor:
    """Return sum_j |x_j - z_j|^p in units of the widths, computed column by column.

    Unlike inner products, differences remain exact where rows are close to centers.
    """
    lengths = np.broadcast_to(kernel._scale(), Z.shape[1])
    X, Z = op("Div", X, lengths), Z / lengths
    powers = {1.0: "power = Identity (size)", 2.0: "power = Mul (size, size)"}
    other = f"norm = Constant <value = double {{{float(norm)!r}}}> () power = Pow (size, norm)"
    body = onnx().parser.parse_graph(f"""
        sum_over_columns (double[?, {len(Z)}] before, double[?] x, double[{len(Z)}] z)
            => (double[?, {len(Z)}] after) {{
            one = Constant <value_ints = [1]> ()
            column = Unsqueeze (x, one)
            difference = Sub (column, z)
            size = Abs (difference)
            {powers.get(norm, other)}
            after = Add (before, power)
        }}""")
    # No name outside the loop has this prefix.
    body = onnx().compose.add_prefix_graph(body, "scan_")
    start = op("MatMul", X, np.zeros((Z.shape[1], len(Z))))
    columns = op("Transpose", X, perm=[1, 0])
    return op("Scan", start, columns, np.ascontiguousarray(Z.T), num_scan_inputs=2, body=body)


def _gaussian(op: Operators, kernel: Gaussian, X: Tensor, Z: Array) -> Tensor:
    return op("Exp", op("Neg", _scaled_squares(op, kernel, X, Z)))


def _exponential_power(op: Operators, kernel: ExponentialPower, X: Tensor, Z: Array) -> Tensor:
    powers = _scaled_powers(op, kernel, X, Z, kernel.norm)
    if kernel.power != kernel.norm:
        powers = op("Pow", powers, kernel.power / kernel.norm)
    return op("Exp", op("Neg", powers))


def _matern(op: Operators, kernel: Matern, X: Tensor, Z: Array) -> Tensor:
    a = op("Sqrt", op("Mul", _scaled_powers(op, kernel, X, Z, 2.0), 2.0 * kernel.nu))
    a = op("Min", a, NOTHING_BEYOND)
    decay = op("Exp", op("Neg", a))
    if kernel.nu == 0.5:
        return decay
    growth = op("Add", a, 1.0)
    if kernel.nu == 2.5:
        growth = op("Add", growth, op("Div", op("Mul", a, a), 3.0))
    return op("Mul", growth, decay)


def _rational_quadratic(op: Operators, kernel: RationalQuadratic, X: Tensor, Z: Array) -> Tensor:
    ratio = op("Div", _scaled_squares(op, kernel, X, Z), float(kernel.alpha))
    return op("Exp", op("Mul", op("Log", op("Add", ratio, 1.0)), -float(kernel.alpha)))


def _dirichlet(op: Operators, kernel: Dirichlet, X: Tensor, Z: Array) -> Tensor:
    distance = op("Sqrt", _scaled_powers(op, kernel, X, Z, 2.0))
    # 1 + 2 cos t = 3 - 4 sin^2(t / 2), as the sine has operators in double precision.
    sine = op("Sin", op("Mul", distance, 0.5))
    return op("Sub", 3.0, op("Mul", op("Mul", sine, sine), 4.0))


def _linear(op: Operators, kernel: Linear, X: Tensor, Z: Array) -> Tensor:
    return op("MatMul", X, Z.T)


def _polynomial(op: Operators, kernel: Polynomial, X: Tensor, Z: Array) -> Tensor:
    base = op("Add", op("MatMul", X, float(kernel.gamma) * Z.T), float(kernel.coef0))
    found = base
    for _ in range(kernel.degree - 1):
        found = op("Mul", found, base)
    return found


def _weighted_sum(op: Operators, kernel: WeightedSum, X: Tensor, Z: Array) -> Tensor:
    pairs = [(weight, part) for weight, part in kernel._terms() if weight]
    if not pairs:
        return op("MatMul", X, 0.0 * Z.T)
    # A factor for each center is not fused with a matrix product; see `_summands`.
    factors = [np.full(len(Z), weight) for weight, _ in pairs]
    values = [kernel_values(op, part, X, Z) for _, part in pairs]
    return op.total([op("Mul", *pair) for pair in zip(values, factors, strict=True)])


def _product(op: Operators, kernel: Product, X: Tensor, Z: Array) -> Tensor:
    first, *others = (kernel_values(op, part, X, Z) for part in kernel._parts())
    for other in others:
        first = op("Mul", first, other)
    return first


def _on_columns(op: Operators, kernel: OnColumns, X: Tensor, Z: Array) -> Tensor:
    chosen = np.asarray(kernel._known_positions(), dtype=np.int64)
    return kernel_values(op, kernel.kernel, op("Gather", X, chosen, axis=1), Z[:, chosen])


def _on_projection(op: Operators, kernel: OnProjection, X: Tensor, Z: Array) -> Tensor:
    A = kernel._matrix(Z.shape[1])
    return kernel_values(op, kernel.kernel, op("MatMul", X, A), Z @ A)


_KERNELS: dict[type[Kernel], Callable[..., Tensor]] = {
    Dirichlet: _dirichlet,
    ExponentialPower: _exponential_power,
    Gaussian: _gaussian,
    Laplacian: _exponential_power,
    Linear: _linear,
    Matern: _matern,
    OnColumns: _on_columns,
    OnProjection: _on_projection,
    Polynomial: _polynomial,
    Product: _product,
    RationalQuadratic: _rational_quadratic,
    WeightedSum: _weighted_sum,
}
"""Functions that append the operators of a kernel, by its exact type; subclasses may differ."""


def tree_values(op: Operators, trees: TreeArrays, X: Tensor) -> Tensor:
    """Return the mean leaf value over trees, shape (n_rows, n_outputs).

    All trees are descended together, level by level.

    Parameters
    ----------
    op : Operators
    trees : TreeArrays
    X : str
        Rows in double precision.
    """
    first = np.repeat(trees.starts[:-1], np.diff(trees.starts))
    is_leaf = trees.children[:, 0] < 0
    nodes = np.arange(len(first))
    left, right = (np.where(is_leaf, nodes, first + side) for side in trees.children.T)
    feature = np.where(is_leaf, 0, trees.feature).astype(np.int64)
    if trees.is_single:
        X = op.cast(op.cast(X, np.float32))
    n_rows, n_columns = (op("Gather", op("Shape", X), np.array(k)) for k in (0, 1))
    rows = op("Mul", op("Range", np.array(0), n_rows, np.array(1)), n_columns)
    rows, entries = op("Unsqueeze", rows, np.array([1])), op("Reshape", X, np.array([-1]))
    # Broadcasting repeats the roots for each row.
    at = op("Add", op("Mul", rows, np.array(0)), trees.starts[None, :-1].astype(np.int64))
    for _ in range(_depth(left, right, is_leaf, trees.starts[:-1])):
        values = op("Gather", entries, op("Add", rows, op("Gather", feature, at)))
        goes_left = op("LessOrEqual", values, op("Gather", trees.threshold.astype(float), at))
        if trees.allow_nan:
            missing = op("And", op("IsNaN", values), op("Gather", trees.missing_left, at))
            goes_left = op("Or", goes_left, missing)
        sides = (op("Gather", side.astype(np.int64), at) for side in (left, right))
        at = op("Where", goes_left, *sides)
    found = op("Gather", trees.value.astype(float), at)
    return op("ReduceMean", found, np.array([1]), keepdims=0)


def _depth(left: Array, right: Array, is_leaf: Array, roots: Array) -> int:
    """Return the number of levels below the roots."""
    at, depth = np.unique(roots), 0
    while (inner := at[~is_leaf[at]]).size:
        at, depth = np.unique(np.concatenate([left[inner], right[inner]])), depth + 1
    return depth


def closeness(op: Operators, far: FallBack, views: TensorViews) -> Tensor:
    """Return the closeness to training rows, shape (n_rows, 1); see :meth:`FallBack.closeness`."""
    squared = squared_distances(op, views[far.view], as_doubles(far.rows))
    nearest = op("ReduceMin", squared, np.array([1]), keepdims=1)
    falling = op("Div", op("Sub", (2.0 * far.reach) ** 2, nearest), 3.0 * far.reach**2)
    return op("Min", op("Max", falling, 0.0), 1.0)
