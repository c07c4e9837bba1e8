"""Minimizers of joint MAP and MKL among all covariance matrices: Nickisch and Seeger (2011)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import sqrtm
from scipy.optimize import minimize

from experiments.experiment import Experiment, Measures
from experiments.problems import Array

SIZES = (2, 4, 8)
"""The numbers of rows of the covariance matrices."""
N_STARTS = 10
N_LINES = 200
"""The number of random pairs of inverses between which convexity is tested."""
PENALTIES = ("map", "mkl")
"""ln|K| of joint MAP, and the trace of K, a penalty of MKL on the sum of weights."""


def second_moment(repeat: int, *, size: int) -> Array:
    """Return the second moment of some latent vectors, which has full rank."""
    generator = np.random.default_rng(repeat)
    mixing = generator.normal(size=(size, size)) / np.sqrt(size)
    latent = generator.normal(size=(4 * size, size)) @ mixing.T
    return np.asarray(latent.T @ latent / len(latent))


def value_and_slopes(S: Array, K: Array, penalty: str) -> tuple[float, Array]:
    """Return tr(S K^-1) plus ln|K| or tr K, and the derivatives in K."""
    inverse = np.linalg.inv(K)
    fit, slopes = float(np.sum(S * inverse)), -inverse @ S @ inverse
    if penalty == "map":
        return fit + float(np.linalg.slogdet(K)[1]), slopes + inverse
    return fit + float(np.trace(K)), slopes + np.eye(len(K))


def descended(S: Array, start: Array, penalty: str) -> tuple[float, Array]:
    """Return the value and the matrix K = L L' at which a descent in L ends."""
    size = len(S)

    def objective(x: Array) -> tuple[float, Array]:
        L = x.reshape(size, size)
        value, slopes = value_and_slopes(S, L @ L.T, penalty)
        return value, (2.0 * slopes @ L).ravel()

    end = minimize(
        objective,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    L = end.x.reshape(size, size)
    return float(end.fun), L @ L.T


def descents(S: Array) -> Measures:
    """Return values of descents from random matrices, and how far the best is from S, or its root.

    Distances are relative, in the Frobenius norm.
    """
    generator = np.random.default_rng(0)
    expected = {"map": S, "mkl": np.real(sqrtm(S))}
    found: dict[str, list[float] | float] = {}
    for penalty in PENALTIES:
        ends = []
        for _ in range(N_STARTS):
            scale = 10.0 ** generator.uniform(-1.0, 1.0)
            ends.append(descended(S, scale * generator.normal(size=S.shape), penalty))
        values = [value for value, _ in ends]
        K = ends[int(np.argmin(values))][1]
        found[f"{penalty}_values"] = values
        apart = np.linalg.norm(K - expected[penalty]) / np.linalg.norm(expected[penalty])
        found[f"{penalty}_distance"] = float(apart)
    return found


def convexity(S: Array) -> Measures:
    """Return how often tr(S A) - ln|A| is above its chord halfway between random matrices A."""
    generator = np.random.default_rng(0)
    size = len(S)

    def random_inverse() -> Array:
        root = 10.0 ** generator.uniform(-1.0, 1.0) * generator.normal(size=(size, size))
        return root @ root.T + 1e-3 * np.eye(size)

    def value(A: Array) -> float:
        return float(np.sum(S * A) - np.linalg.slogdet(A)[1])

    above = 0
    for _ in range(N_LINES):
        ends = random_inverse(), random_inverse()
        chord = 0.5 * (value(ends[0]) + value(ends[1]))
        above += value(0.5 * (ends[0] + ends[1])) > chord + 1e-12 * abs(chord)
    return {"above": above}


def experiment(small: bool) -> Experiment:
    """Declare second moments of three sizes."""
    methods: dict[str, Callable[[Array], Measures]] = {
        "descents": descents,
        "convexity": convexity,
    }
    sizes = SIZES[:2] if small else SIZES
    return Experiment(
        title="Minimizers among all covariance matrices",
        source="Nickisch, Seeger (2011), section 2.2",
        problems={f"{size} x {size}": partial(second_moment, size=size) for size in sizes},
        methods=methods,
    )
