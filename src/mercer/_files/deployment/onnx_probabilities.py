"""ONNX operators of probabilities that include the uncertainty of latent functions."""

from functools import reduce

import numpy as np
from scipy.linalg import solve_triangular

from mercer._data.types import Array
from mercer._files.deployment.onnx_functions import kernel_values
from mercer._files.deployment.onnx_operators import Operators, Tensor
from mercer._gram.expansion import as_doubles
from mercer.kernels import Kernel, Linear, OnColumns, OnProjection, Polynomial, Product, WeightedSum
from mercer.probabilistic import BayesianMKLClassifier


def latent_probabilities(
    op: Operators, model: BayesianMKLClassifier, table: Tensor
) -> tuple[Tensor, Tensor]:
    """Return means of the latent functions, and probabilities of the classes.

    Parameters
    ----------
    op : Operators
    model : BayesianMKLClassifier
        Fitted to one label per row of a table.
    table : str

    Returns
    -------
    means : str
        Shape (n_rows, n_problems).
    probabilities : str
        Shape (n_rows, n_classes).
    """
    rows = as_doubles(model.X_fit_[model.rows_])
    across = kernel_values(op, model.kernel_, table, rows)
    means = op("MatMul", across, np.asarray(model.dual_coef_[model.rows_], dtype=float))
    own = diagonal_values(op, model.kernel_, table, rows[:1])
    found = []
    for c, (factor, scale) in enumerate(zip(model.cholesky_, model.scale_, strict=True)):
        half = op("MatMul", across, solve_triangular(factor, np.diag(scale), lower=True).T)
        explained = op("ReduceSum", op("Mul", half, half), np.array([1]), keepdims=1)
        mean = op("Gather", means, np.array([c]), axis=1)
        found.append(mean_of_sigmoid(op, mean, op("Max", op("Sub", own, explained), 0.0)))
    if len(found) == 1:
        return means, op.joined([op("Sub", 1.0, found[0]), found[0]])
    joint = op.joined(found)
    return means, op("Div", joint, op("ReduceSum", joint, np.array([1]), keepdims=1))


def diagonal_values(op: Operators, kernel: Kernel, X: Tensor, some: Array) -> Tensor:
    """Return the kernel of rows with themselves, shape (n_rows, 1).

    Parameters
    ----------
    op : Operators
    kernel : Kernel
        A kernel with operators.
    X : str
        Rows.
    some : ndarray of shape (1, n_features)
        A row.
    """
    match kernel:
        case WeightedSum():
            pairs = [(weight, part) for weight, part in kernel._terms() if weight]
            parts = [op("Mul", diagonal_values(op, part, X, some), w) for w, part in pairs]
            return op.total([op("MatMul", X, np.zeros((some.shape[1], 1))), *parts])
        case Product():
            factors = [diagonal_values(op, part, X, some) for part in kernel._parts()]
            return reduce(lambda one, other: op("Mul", one, other), factors)
        case OnColumns():
            chosen = np.asarray(kernel._known_positions(), dtype=np.int64)
            return diagonal_values(
                op, kernel.kernel, op("Gather", X, chosen, axis=1), some[:, chosen]
            )
        case OnProjection():
            A = kernel._matrix(some.shape[1])
            return diagonal_values(op, kernel.kernel, op("MatMul", X, A), some @ A)
        case Linear() | Polynomial():
            squares = op("ReduceSum", op("Mul", X, X), np.array([1]), keepdims=1)
            if isinstance(kernel, Linear):
                return squares
            base = op("Add", op("Mul", squares, float(kernel.gamma)), float(kernel.coef0))
            return reduce(lambda one, other: op("Mul", one, other), [base] * kernel.degree)
    # All other kernels with operators are stationary.
    none = op("MatMul", X, np.zeros((some.shape[1], 1)))
    return op("Add", none, float(kernel.diag(some)[0]))


def mean_of_sigmoid(op: Operators, mean: Tensor, variance: Tensor) -> Tensor:
    """Return the mean of the sigmoid under Gaussian distributions, to about twelve digits.

    Parameters
    ----------
    op : Operators
    mean, variance : str
        Shape (n_rows, 1).

    Returns
    -------
    str
        Shape (n_rows, 1).

    Notes
    -----
    If the standard deviation d is at most one, the integral is over the Gaussian, by the
    trapezoidal rule. Otherwise, the sigmoid is the sum of the step function, whose mean is the
    normal distribution function at m / d, and of an odd function that decays as exp(-|t|), whose
    mean is an integral over t > 0 by Gauss's rule.
    """
    deviation = op("Sqrt", variance)
    z = np.linspace(-9.0, 9.0, 145)
    normal = np.exp(-0.5 * z**2)
    inner = op("Add", mean, op("Mul", op("Min", deviation, 1.0), z))
    narrow = op("MatMul", op("Sigmoid", inner), (normal / normal.sum())[:, None])
    t, weights = _gauss(60, 38.0)
    at_least_one = op("Max", deviation, 1.0)
    rest = weights / (1.0 + np.exp(t)) / np.sqrt(2.0 * np.pi)
    sides = [
        op("Exp", op("Mul", op("Mul", u, u), -0.5))
        for u in (op("Div", op(sign, mean, t), at_least_one) for sign in ("Sub", "Add"))
    ]
    odd = op("Div", op("MatMul", op("Sub", *sides), rest[:, None]), at_least_one)
    wide = op("Sub", _normal_distribution(op, op("Div", mean, at_least_one)), odd)
    return op("Where", op("LessOrEqual", deviation, 1.0), narrow, wide)


def _normal_distribution(op: Operators, x: Tensor) -> Tensor:
    """Return the standard normal distribution function, which runtimes lack in doubles.

    It is 1 / 2 + x / sqrt(2 pi) times the integral of exp(-(x u)^2 / 2) over u from 0 to 1.
    """
    u, weights = _gauss(24, 1.0)
    x = op("Clip", x, -9.0, 9.0)
    scaled = op("Mul", x, u)
    values = op("Exp", op("Mul", op("Mul", scaled, scaled), -0.5))
    mean = op("MatMul", values, (weights / np.sqrt(2.0 * np.pi))[:, None])
    return op("Add", op("Mul", x, mean), 0.5)


def _gauss(n_points: int, end: float) -> tuple[Array, Array]:
    """Return points and weights of Gauss's rule from zero to an end."""
    points, weights = np.polynomial.legendre.leggauss(n_points)
    return 0.5 * end * (points + 1.0), 0.5 * end * weights
