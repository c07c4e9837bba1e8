"""Minimizers of joint MAP and MKL among all covariance matrices: Nickisch and Seeger (2011)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import sqrtm
from scipy.optimize import minimize

from experiments.experiment import Experiment, Measures
from experiments.problems import Array
from experiments.reporting.results import Results, stacked
from experiments.reporting.section import Finding, claim, rough, table

# The numbers of rows of the covariance matrices.
SIZES = (2, 4, 8)
N_STARTS = 10
# The number of random pairs of inverses between which convexity is tested.
N_LINES = 200
# ln|K| of joint MAP, and the trace of K, a penalty of MKL on the sum of weights.
PENALTIES = ("map", "mkl")


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
    methods: dict[str, Callable[[Array], Measures]] = {"descents": descents, "convexity": convexity}
    sizes = SIZES[:2] if small else SIZES
    return Experiment(
        title="Minimizers among all covariance matrices",
        source="Nickisch, Seeger (2011), section 2.2",
        problems={f"{size} x {size}": partial(second_moment, size=size) for size in sizes},
        methods=methods,
    )


SOURCE = "Nickisch, Seeger 2011, section 2.2"
# Matrices closer than this, relatively, are counted as equal, and values closer than its square,
# which is the error that it makes in a minimum.
CLOSE = 1e-4


def spreads_and_distances(results: Results) -> str:
    """Return where descents end."""
    rows = []
    for problem in results.problems:
        spreads = [rough(spread(results, problem, name)) for name in PENALTIES]
        distances = [rough(distance(results, problem, name)) for name in PENALTIES]
        rows.append([problem, spreads[0], distances[0], spreads[1], distances[1]])
    header = ["", "MAP: spread", "from S", "MKL: spread", "from the root of S"]
    return table(header, rows)


def spread(results: Results, problem: str, name: str) -> float:
    """Return the largest relative difference of values that descents reach."""
    values = stacked(results, f"{name}_values", problem, "descents")
    size = np.maximum(np.abs(values).max(axis=1), 1.0)
    return float((np.ptp(values, axis=1) / size).max())


def distance(results: Results, problem: str, name: str) -> float:
    """Return the largest distance of a minimizer from the matrix that is expected."""
    return float(results.values(f"{name}_distance", problem, "descents").max())


@claim(
    SOURCE,
    "tr(S A) - ln det A is convex in A = K^-1, as tested at the middle of random pairs, and "
    "descents from random K end at the same value, for each size",
)
def invex(results: Results) -> Finding | None:
    """Over all matrices K, ln det K + u'K^-1 u is invex: every stationary point is a global
    minimum.
    """
    above = [results.values("above", problem, "convexity") for problem in results.problems]
    spreads = [spread(results, problem, "map") for problem in results.problems]
    return (
        [*(count.sum() == 0 for count in above), *(s <= CLOSE**2 for s in spreads)],
        f"the value is above the chord for {int(sum(count.sum() for count in above))} of "
        f"{sum(count.size for count in above) * N_LINES} pairs; the relative difference between "
        f"the final values of descents is at most {rough(max(spreads))}",
        "For a single vector u there is no minimum, because ln det K has no lower bound on "
        "matrices that approach uu'. Here, S is the mean of uu' over several vectors. As a "
        "function of the weights of given kernels, the objective can have several stationary "
        "points, which is a claim in [Shapes of the objectives](objectives_in_detail.md).",
    )


@claim(
    SOURCE,
    "The relative distance of the best K from S (joint MAP) or from the square root of S (MKL) is "
    f"at most {rough(CLOSE)}, for each size",
)
def minimizers(results: Results) -> Finding | None:
    """Joint MAP is least where K is uu', which is the estimate of a covariance; MKL with the trace
    of K where K K is uu', an odd one.
    """
    joint, risk = ([distance(results, p, name) for p in results.problems] for name in PENALTIES)
    return (
        [d <= CLOSE for d in (*joint, *risk)],
        f"at most {rough(max(joint))} for joint MAP and {rough(max(risk))} for MKL",
        "The derivatives with respect to K are K^-1 - K^-1 S K^-1 for joint MAP, and "
        "I - K^-1 S K^-1 for MKL.",
    )


CLAIMS = (invex, minimizers)
