"""Ridge regression with an intercept by conjugate gradients, on sparse features."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from mercer._data.types import Array


def ridge_on_sparse_features(
    Z: sp.csr_matrix,
    targets: Array,
    alphas: Array,
    weights: Array | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
) -> tuple[Array, Array]:
    """Return coefficients of the features, and intercepts, at several penalties.

    Coefficients B and intercepts c minimize sum_i w_i |y_i - c - B'z_i|^2 + alpha |B|^2.

    Parameters
    ----------
    Z : csr_matrix of shape (n_samples, n_features)
    targets : ndarray of shape (n_samples, n_outputs)
    alphas : ndarray of shape (n_alphas,)
        Penalties, positive.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples, positive; ones if None.
    tol : float, default=1e-3
        Tolerance of the norm of the preconditioned gradient, relative to its value at zero.
    max_iter : int, default=200
        Maximum number of iterations. Fits that are stopped by this limit are regularized more.

    Returns
    -------
    coefficients : ndarray of shape (n_alphas, n_features, n_outputs)
    intercepts : ndarray of shape (n_alphas, n_outputs)

    Notes
    -----
    An iteration takes two products with the sparse matrix for each penalty and output. The features
    are centered implicitly, and the preconditioner is the diagonal.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> Z = sp.csr_matrix([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> y = np.array([[1.0], [1.0], [3.0], [3.0]])
    >>> coefficients, intercepts = ridge_on_sparse_features(Z, y, np.array([2.0]))
    >>> (Z @ coefficients[0] + intercepts[0]).round(6).ravel()
    array([1.5, 1.5, 2.5, 2.5])
    """
    w = np.ones(Z.shape[0]) if weights is None else weights
    w = np.asarray(w, dtype=float)
    total = w.sum()
    means, mean = Z.T @ w / total, w @ targets / total
    weighted = Z.multiply(w[:, None]).tocsr()
    transposed = weighted.T.tocsr()
    squares = np.asarray(weighted.multiply(Z).sum(axis=0)).ravel() - total * means**2

    def product(directions: Array) -> Array:
        # The weighted sum of centered products is zero, so that centering once is enough.
        return np.asarray(transposed @ (Z @ directions - means @ directions))

    cross = transposed @ (targets - mean)
    coefficients = ridge_on_products(product, squares, cross, alphas, tol=tol, max_iter=max_iter)
    return coefficients, mean - means @ coefficients


def ridge_on_products(
    product: Callable[[Array], Array],
    squares: Array,
    cross: Array,
    alphas: Array,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
) -> Array:
    """Return coefficients at several penalties from products of features.

    Parameters
    ----------
    product : callable
        Maps directions of shape (n_features, n_directions) to their products with G, the matrix of
        sums of products of centered features.
    squares : ndarray of shape (n_features,)
        The diagonal of G, up to rounding.
    cross : ndarray of shape (n_features, n_outputs)
        Sums of products of centered features and targets.
    alphas : ndarray of shape (n_alphas,)
        Penalties, positive.
    tol, max_iter : see :func:`ridge_on_sparse_features`

    Returns
    -------
    ndarray of shape (n_alphas, n_features, n_outputs)
        Solutions of (G + alpha I) B = C.
    """
    n_features, n_outputs = cross.shape
    shifts = np.repeat(np.asarray(alphas, dtype=float), n_outputs)
    inverse = 1.0 / (np.maximum(squares, 0.0)[:, None] + shifts)
    residual = np.tile(cross, (1, len(alphas)))
    solution, conditioned = np.zeros_like(residual), inverse * residual
    direction, power = conditioned, np.einsum("ij,ij->j", residual, conditioned)
    limit = tol**2 * power
    active = np.flatnonzero(power > limit)
    for _ in range(max_iter):
        if not active.size:
            break
        own = direction[:, active]
        image = product(own) + shifts[active] * own
        step = power[active] / np.einsum("ij,ij->j", own, image)
        solution[:, active] += step * own
        residual[:, active] -= step * image
        conditioned = inverse[:, active] * residual[:, active]
        before = power[active]
        power[active] = np.einsum("ij,ij->j", residual[:, active], conditioned)
        direction[:, active] = conditioned + power[active] / before * own
        active = active[power[active] > limit[active]]
    return solution.reshape(n_features, len(alphas), n_outputs).transpose(1, 0, 2)
