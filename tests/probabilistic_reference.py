"""Probabilistic kernel learning by its definitions, minimized and integrated generically.

Everything is on the -2 log scale. Nothing here uses the package, and nothing here is meant to be
fast.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class NaiveLogistic:
    """-2 ln p(y | u) and its slope, and its bounds r^2 / gamma - 2 b r + h(gamma), r = u - c.

    `site` returns b and c; `widths` gamma of a free variable t, d gamma / d t, h and its slope.
    """

    def losses(self, y: Matrix, u: Matrix) -> tuple[Matrix, Matrix]:
        return 2.0 * np.logaddexp(0.0, -y * u), -2.0 * y * expit(-y * u)

    def site(self, y: Matrix) -> tuple[Matrix, Matrix]:
        return 0.5 * y, np.zeros_like(y)

    def widths(self, t: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        s = np.exp(t)
        gamma = 2.0 * s / np.tanh(0.5 * s)
        slope = 2.0 / np.tanh(0.5 * s) - s / np.sinh(0.5 * s) ** 2
        h = 2.0 * np.log(2.0 * np.cosh(0.5 * s)) - s**2 / gamma
        return gamma, slope * s, h, (s / gamma) ** 2


@dataclass(frozen=True)
class NaiveLaplace:
    rate: float

    def losses(self, y: Matrix, u: Matrix) -> tuple[Matrix, Matrix]:
        values = 2.0 * self.rate * np.abs(y - u) - 2.0 * np.log(0.5 * self.rate)
        return values, 2.0 * self.rate * np.sign(u - y)

    def site(self, y: Matrix) -> tuple[Matrix, Matrix]:
        return np.zeros_like(y), y

    def widths(self, t: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        gamma, squared = np.exp(t), self.rate**2
        h = squared * gamma - 2.0 * np.log(0.5 * self.rate)
        return gamma, gamma, h, np.full_like(t, squared)


@dataclass(frozen=True)
class NaiveGaussian:
    noise: float

    def losses(self, y: Matrix, u: Matrix) -> tuple[Matrix, Matrix]:
        values = (y - u) ** 2 / self.noise + np.log(2.0 * np.pi * self.noise)
        return values, 2.0 * (u - y) / self.noise

    def site(self, y: Matrix) -> tuple[Matrix, Matrix]:
        return np.zeros_like(y), y

    def widths(self, t: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        zero = np.zeros_like(t)
        h = zero + np.log(2.0 * np.pi * self.noise)
        return zero + self.noise, zero, h, zero


NaiveLikelihood = NaiveLogistic | NaiveLaplace | NaiveGaussian


def root(K: Matrix) -> Matrix:
    """R with R R' = K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _least(function: object, start: Matrix) -> tuple[float, Matrix]:
    """The minimum of a smooth function, polished until BFGS finds nothing more."""
    for _ in range(5):
        found = minimize(
            function, start, jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 5000}
        )
        start = found.x
    return float(found.fun), found.x


def mode(K: Matrix, y: Matrix, likelihood: NaiveLikelihood) -> tuple[float, Matrix]:
    """min_u u'K^-1 u + sum l, and u = R v."""
    R = root(K)
    if isinstance(likelihood, NaiveLaplace):
        return _mode_with_kinks(R, y, likelihood)

    def objective(v: Matrix) -> tuple[float, Matrix]:
        values, slopes = likelihood.losses(y, R @ v)
        return float(v @ v + values.sum()), 2.0 * v + R.T @ slopes

    value, v = _least(objective, np.zeros(len(y)))
    return value, R @ v


def _mode_with_kinks(R: Matrix, y: Matrix, likelihood: NaiveLaplace) -> tuple[float, Matrix]:
    """max_alpha 2 y'alpha - |R'alpha|^2 over |alpha| <= rate; u = K alpha."""
    found = minimize(
        lambda a: (float(np.sum((R.T @ a) ** 2) - 2.0 * y @ a), 2.0 * (R @ (R.T @ a) - y)),
        np.zeros(len(y)),
        jac=True,
        method="SLSQP",
        bounds=[(-likelihood.rate, likelihood.rate)] * len(y),
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    # The dual is flat where it is largest, so that it has more digits than the primal.
    return -float(found.fun + 2.0 * len(y) * np.log(0.5 * likelihood.rate)), R @ (R.T @ found.x)


def mkl(
    K: Matrix,
    y: Matrix,
    likelihood: NaiveLikelihood,
    weights: Matrix,
    *,
    weight_penalty: float,
    norm: float,
) -> float:
    """min_u u'K^-1 u + sum l + weight_penalty sum weights^norm."""
    return mode(K, y, likelihood)[0] + weight_penalty * float(np.sum(weights**norm))


def joint_map(K: Matrix, y: Matrix, likelihood: NaiveLikelihood, jitter: float) -> float:
    """min_u u'K_e^-1 u + sum l + ln|K_e|."""
    K = K + jitter * np.eye(len(y))
    return mode(K, y, likelihood)[0] + float(np.linalg.slogdet(K)[1])


def variational(
    K: Matrix, y: Matrix, likelihood: NaiveLikelihood
) -> tuple[float, Matrix, Matrix, Matrix]:
    """min_{u, gamma} u'K^-1 u + sum bounds + ln|I + S K S|: value, u, gamma, posterior covariance.

    In v and t, where u = R v and gamma = gamma(t).
    """
    R, n = root(K), len(y)
    b, c = likelihood.site(y)

    def objective(x: Matrix) -> tuple[float, Matrix]:
        v, t = x[:n], x[n:]
        r = R @ v - c
        gamma, inner, h, slope = likelihood.widths(t)
        B = np.eye(n) + R.T @ (R / gamma[:, None])
        covariance = R @ np.linalg.solve(B, R.T)
        value = v @ v + np.sum(r**2 / gamma - 2.0 * b * r + h) + np.linalg.slogdet(B)[1]
        in_v = 2.0 * v + R.T @ (2.0 * r / gamma - 2.0 * b)
        in_t = inner * (slope - (r**2 + np.diag(covariance)) / gamma**2)
        return float(value), np.concatenate([in_v, in_t])

    value, x = _least(objective, np.zeros(2 * n))
    gamma = likelihood.widths(x[n:])[0]
    covariance = np.linalg.inv(np.linalg.inv(K) + np.diag(1.0 / gamma))
    return value, R @ x[:n], gamma, covariance


def gaussian_evidence(K: Matrix, y: Matrix, noise: float) -> float:
    """y'C^-1 y + ln|C| + n ln 2 pi with C = K + noise I."""
    C = K + noise * np.eye(len(y))
    constant = len(y) * np.log(2.0 * np.pi)
    return float(y @ np.linalg.solve(C, y) + np.linalg.slogdet(C)[1] + constant)


def laplace_approximation(K: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """-2 ln of the marginal likelihood of labels, and the mode u = K a, by Newton's method."""
    n = len(y)
    u = a = np.zeros(n)
    for _ in range(200):
        W = expit(u) * expit(-u)
        a = np.linalg.solve(np.eye(n) + W[:, None] * K, W * u + y * expit(-y * u))
        u = K @ a
    W = expit(u) * expit(-u)
    sign, log_det = np.linalg.slogdet(np.eye(n) + np.sqrt(np.outer(W, W)) * K)
    assert sign > 0
    return float(u @ a + 2.0 * np.logaddexp(0.0, -y * u).sum() + log_det), u
