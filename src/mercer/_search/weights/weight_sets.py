"""Convex sets of kernel weights and the steps of their solvers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, norm, solve_triangular
from scipy.optimize import linprog, nnls
from sklearn.utils import check_scalar

from mercer._data.types import Array
from mercer._data.validation import ROUNDING
from mercer._gram.kernel_products import KernelProducts
from mercer.losses._loss import Problems

Path = Callable[[float], Array]
"""The weights after a step, as a function of the step size from 0 to 1."""

LEAST_WEIGHT = float(np.cbrt(np.finfo(float).tiny))
"""Lower bound on weights whose logarithms or negative powers are computed, so that products of
three such weights are normal numbers."""


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of the machines' objective with respect to the weights.

    Attributes
    ----------
    problems : Problems
    K : ndarray of shape (n_samples, n_samples)
        The learned Gram matrix.
    values : ndarray of shape (n_samples, n_problems)
        The machines' predictions.
    products : KernelProducts
        Products of the kernels with the dual variables.
    width : float
        Kinks of the loss are smoothed over predictions within this distance.
    """

    problems: Problems
    K: Array
    values: Array
    products: KernelProducts
    width: float

    def among(self, which: Array) -> Array:
        """Return the Hessian for a subset of the weights, shape (n_which, n_which)."""
        H = np.zeros((which.size, which.size))
        for solved in self._solved(lambda free, j: self.products.block(which, free, j).T):
            H += solved.T @ solved
        return H

    def along(self, direction: Array) -> float:
        """Return the second derivative along a direction, of shape (n_kernels,)."""
        parts = self._solved(lambda free, j: self.products.summed(direction, j)[free, None])
        return sum(float(np.sum(solved**2)) for solved in parts)

    def _solved(self, products: Callable[[Array, int], Array]) -> Iterator[Array]:
        """Iterate over the machines' kernel products, restricted to free dual variables.

        The products are in the metric of the machine's system and orthogonal to the direction of
        the intercept.
        """
        for j, (y, f) in enumerate(zip(self.problems.Y.T, self.values.T, strict=True)):
            curvature = self.problems.loss.conjugate_curvature(y, f, self.width)
            free = np.flatnonzero(np.isfinite(curvature))
            L = _factor(self.K[np.ix_(free, free)] + np.diag(curvature[free]))
            if L is None:
                continue
            solved = solve_triangular(L, products(free, j), lower=True, check_finite=False)
            if self.problems.intercept:
                ones = solve_triangular(L, np.ones(len(L)), lower=True, check_finite=False)
                ones /= np.linalg.norm(ones)
                solved -= np.outer(ones, ones @ solved)
            yield solved


class WeightSet(ABC):
    """A convex set of non-negative weights.

    Attributes
    ----------
    has_interior_point : bool
        Whether :func:`interior_point_weights` can optimize over this set. It can for the simplex,
        where kinks of the objective at the corners slow other methods down.
    """

    has_interior_point: ClassVar[bool] = False

    @abstractmethod
    def start(self, n_kernels: int) -> Array:
        """Return initial weights, shape (n_kernels,)."""

    def is_fixed(self, n_kernels: int) -> bool:
        """Return whether the initial weights are optimal for any objective."""
        return n_kernels == 1

    def support(self, q: Array) -> float:
        """Return the largest <w, q> over the weights w of the set."""
        return float(self.support_point(q) @ q)

    @abstractmethod
    def support_point(self, q: Array) -> Array:
        """Return the weights w that maximize <w, q>, shape (n_kernels,)."""

    def best_combination(self, conjugates: Array, Q: Array) -> Array:
        """Find a convex combination of dual variables with a high lower bound.

        By default, only the last dual variables are used. This is sufficient unless the objective
        has a kink at the optimum, which is frequent at the corners of the simplex.

        Parameters
        ----------
        conjugates : ndarray of shape (n_cuts,)
            Sum of l*(-c_i) for each cut.
        Q : ndarray of shape (n_cuts, n_kernels)
            c'K_k c for each cut. A convex combination of these values is an upper bound on the
            value for the combined dual variables.

        Returns
        -------
        ndarray of shape (n_cuts,)
            Non-negative coefficients that sum to one.
        """
        return np.eye(conjugates.size)[-1]

    @abstractmethod
    def newton(self, weights: Array, q: Array, curvature: Curvature) -> Path:
        """Return the path to the minimum of the second-order model of the objective.

        Parameters
        ----------
        weights, q : ndarray of shape (n_kernels,)
            The weights, and q = c'K_k c, which is -2 times the gradient of the objective.
        curvature : Curvature
        """

    @abstractmethod
    def closed_form(self, weights: Array, q: Array) -> Path:
        """Return the path of the published step, which needs no second derivatives."""


class Simplex(WeightSet):
    """Weights whose l1-norm is one. Most weights are zero at the optimum."""

    has_interior_point = True

    def start(self, n_kernels: int) -> Array:
        """Return equal weights; see :meth:`WeightSet.start`."""
        return np.full(n_kernels, 1.0 / n_kernels)

    def support_point(self, q: Array) -> Array:
        """Put all weight on the largest entry; see :meth:`WeightSet.support_point`."""
        weights = np.zeros(q.size)
        weights[int(q.argmax())] = 1.0
        return weights

    def best_combination(self, conjugates: Array, Q: Array) -> Array:
        """Solve a linear program; see :meth:`WeightSet.best_combination`."""
        n = conjugates.size
        scale = float(np.abs(conjugates).max()) or 1.0
        found = linprog(
            np.append(conjugates, 0.5) / scale,
            A_ub=np.column_stack([Q.T, -np.ones(Q.shape[1])]) / scale,
            b_ub=np.zeros(Q.shape[1]),
            A_eq=np.append(np.ones(n), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0.0, None)] * n + [(None, None)],
        )
        return np.eye(n)[-1] if found.x is None else _onto_simplex(found.x[:-1])

    def newton(self, weights: Array, q: Array, curvature: Curvature) -> Path:
        """Solve a quadratic program on a working set; see :meth:`WeightSet.newton`.

        The working set contains the kernels with positive weights or the largest gradients.
        If too many weights are positive, the step goes to equal weights for the latter kernels.
        """
        # At most 200 kernels join the working set, which bounds the size of the quadratic program.
        largest = np.argsort(-q, kind="stable")[:200]
        working = np.union1d(np.flatnonzero(weights), largest)
        target = np.zeros_like(weights)
        if working.size > 1000:
            # The program would be more expensive than a restart from the largest gradients.
            target[largest] = 1.0 / largest.size
            return straight_path(weights, target)
        H = curvature.among(working)
        target[working] = _minimized_on_simplex(H, 0.5 * q[working] + H @ weights[working])
        return straight_path(weights, target)

    def closed_form(self, weights: Array, q: Array) -> Path:
        """Step to normalized w_k sqrt(q_k); see :meth:`WeightSet.closed_form`."""
        norms = weights * np.sqrt(q)
        total = float(norms.sum())
        return straight_path(weights, norms / total if total > 0.0 else weights)


class LpBall(WeightSet):
    """Non-negative weights whose lp-norm is at most one, p > 1.

    Parameters
    ----------
    p : float
        The exponent of the norm, which may be infinite.
    """

    def __init__(self, p: float) -> None:
        self.p = p

    def start(self, n_kernels: int) -> Array:
        """Return equal weights of norm one; see :meth:`WeightSet.start`."""
        return np.full(n_kernels, n_kernels ** (-1.0 / self.p))

    def is_fixed(self, n_kernels: int) -> bool:
        """Return whether the norm is infinite, or there is one kernel; see :class:`WeightSet`."""
        return n_kernels == 1 or bool(np.isinf(self.p))

    def support_point(self, q: Array) -> Array:
        """Return weights proportional to q^(1/(p-1)); see :meth:`WeightSet.support_point`."""
        largest = float(q.max())
        if not largest > 0.0:
            return self.start(q.size)
        powers = (q / largest) ** (1.0 / (self.p - 1.0))
        return np.asarray(powers / np.linalg.norm(powers, ord=self.p))

    def newton(self, weights: Array, q: Array, curvature: Curvature) -> Path:
        """Take a Newton step in log w for the optimality conditions.

        At the optimum, w_k^(p-1) is proportional to q_k.
        """
        if np.isinf(self.p):
            return straight_path(weights, self.start(weights.size))
        used = np.flatnonzero(weights)
        q, H = _bounded_below(q), curvature.among(used)
        return self._along(weights, used, self._newton_direction(weights[used], q[used], H))

    def closed_form(self, weights: Array, q: Array) -> Path:
        """Step to |f_k|^(2/(p+1)) with |f_k|^2 = w_k^2 q_k, scaled to norm one.

        This is equation (24) of Kloft, Brefeld, Sonnenburg, Zien (2011), section 3.3.
        """
        if np.isinf(self.p):
            return straight_path(weights, self.start(weights.size))
        used = np.flatnonzero(weights)
        log_weights = np.log(weights[used])
        step = (2.0 * log_weights + np.log(_bounded_below(q)[used])) / (self.p + 1.0) - log_weights
        return self._along(weights, used, step)

    def _newton_direction(self, weights: Array, q: Array, H: Array) -> Array:
        """Return the step in log w that solves log q - (p - 1) log w = const to first order."""
        p, scaled_q = self.p, 0.5 * weights * q
        system = weights[:, None] * H * weights + (p - 1.0) * np.diag(scaled_q)
        residual = np.log(q) - (p - 1.0) * np.log(weights)
        residual -= (scaled_q @ residual) / scaled_q.sum()
        scale = np.sqrt(np.diag(system))
        try:
            factor = cho_factor(system / np.outer(scale, scale), lower=True, check_finite=False)
        except LinAlgError:
            return residual / (p + 1.0)
        sides = np.column_stack([scaled_q * residual, scaled_q]) / scale[:, None]
        step, by_constant = (cho_solve(factor, sides, check_finite=False) / scale[:, None]).T
        powers = weights**p
        return np.asarray(step - (powers @ step) / (powers @ by_constant) * by_constant)

    def _along(self, weights: Array, used: Array, step: Array) -> Path:
        """Return the path of a step in the logarithms of the used weights; the others are zero."""

        def path(step_size: float) -> Array:
            log_weights = np.log(weights[used]) + step_size * step
            scaled = np.exp(log_weights - log_weights.max(initial=0.0))
            scaled = np.maximum(scaled, LEAST_WEIGHT)
            result = np.zeros_like(weights)
            result[used] = scaled / np.linalg.norm(scaled, ord=self.p)
            return result

        return path


def unit_ball(norm: float) -> WeightSet:
    """Return the set of non-negative weights whose lp-norm is at most one, for p >= 1."""
    check_scalar(norm, "norm", Real)
    if not norm >= 1.0:
        raise ValueError(f"norm must be at least 1; got {norm!r}.")
    return Simplex() if norm == 1.0 else LpBall(float(norm))


class ShiftedBall(WeightSet):
    """Non-negative weights within a Euclidean ball around given weights.

    Parameters
    ----------
    center : ndarray of shape (n_kernels,)
        Non-negative weights.
    radius : float
    """

    def __init__(self, center: Array, radius: float) -> None:
        self.center = center
        self.radius = radius

    def start(self, n_kernels: int) -> Array:
        """Raise all weights of the center equally; see :meth:`WeightSet.start`."""
        return self.center + self.radius / np.sqrt(n_kernels)

    def newton(self, weights: Array, q: Array, curvature: Curvature) -> Path:
        """Step toward the support point, to the minimum of the second-order model on the way."""
        difference = self.support_point(q) - weights
        second_derivative = curvature.along(difference)
        slope = 0.5 * float(q @ difference)
        size = min(1.0, slope / second_derivative) if second_derivative > 0.0 else 1.0
        return straight_path(weights, weights + size * difference)

    def closed_form(self, weights: Array, q: Array) -> Path:
        """Step halfway to the support point (Cortes, Mohri, Rostamizadeh 2009, Figure 1)."""
        return straight_path(weights, 0.5 * (weights + self.support_point(q)))

    def support_point(self, q: Array) -> Array:
        """Return center + radius q / |q|; see :meth:`WeightSet.support_point`."""
        length = float(norm(q))
        return self.center + (self.radius / length if length > 0.0 else 0.0) * q


def _bounded_below(q: Array) -> Array:
    """Bound gradients from below by a fraction of the largest one, so that logarithms exist."""
    largest, least = float(q.max()), float(np.finfo(float).eps) ** 2
    return np.maximum(q, least * largest) if largest > 0.0 else np.ones_like(q)


def _onto_simplex(values: Array) -> Array:
    """Set negative values to zero and scale the others to sum to one."""
    values = np.maximum(values, 0.0)
    return np.asarray(values / values.sum())


def straight_path(weights: Array, target: Array) -> Path:
    """Return the straight path from weights to a target."""
    return lambda step_size: (1.0 - step_size) * weights + step_size * target


def _minimized_on_simplex(H: Array, a: Array) -> Array:
    """Minimize w'Hw - 2 w'a over weights w >= 0 that sum to one.

    With H = R'R and R'b = a, the solution defines the point closest to the origin in the convex
    hull of the columns of R - b1'. Non-negative least squares with the additional row 1'w = 1 finds
    a multiple of the solution. A small fraction of the mean second derivative is added to the
    Hessian, so that duplicated kernels share their weight.
    """
    mean = float(np.trace(H)) / len(H) + float(np.finfo(float).tiny)
    for ridge in (1e-10, 1e-8, 1e-6):
        try:
            L = cholesky(H + ridge * mean * np.eye(len(H)), lower=True, check_finite=False)
            break
        except LinAlgError:
            continue
    else:
        return np.eye(a.size)[int(a.argmax())]
    points = L.T - solve_triangular(L, a, lower=True, check_finite=False)[:, None]
    size = float(np.sqrt(np.einsum("ij,ij->", points, points) / a.size)) or 1.0
    rows = np.vstack([points / size, np.ones(a.size)])
    weights, _ = nnls(rows, np.eye(a.size + 1)[-1], maxiter=30 * a.size + 30)
    return _onto_simplex(weights)


def _factor(system: Array) -> Array | None:
    """Return a Cholesky factor, up to rounding; None if the matrix is empty or not definite."""
    if not system.size:
        return None
    jitter = ROUNDING * float(np.abs(np.diag(system)).max())
    try:
        return np.asarray(
            cholesky(system + jitter * np.eye(len(system)), lower=True, check_finite=False)
        )
    except LinAlgError:
        return None
