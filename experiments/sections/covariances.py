"""Section on minimizers among all covariance matrices: Nickisch and Seeger (2011), section 2.2."""

from __future__ import annotations

import numpy as np

from experiments.definitions.covariances import N_LINES, N_STARTS
from experiments.reporting.formatting import rough
from experiments.reporting.list_measures import stacked
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, judge, table

SOURCE = "Nickisch, Seeger 2011, section 2.2"
CLOSE = 1e-4
"""Matrices closer than this, relatively, are counted as equal, and values closer than its square,
which is the error that it makes in a minimum."""


def section(results: Results) -> Section:
    """Write where descents end, and the claims."""
    rows = []
    for problem in results.problems:
        spreads = [rough(spread(results, problem, name)) for name in ("map", "mkl")]
        distances = [rough(distance(results, problem, name)) for name in ("map", "mkl")]
        rows.append([problem, spreads[0], distances[0], spreads[1], distances[1]])
    header = ["", "MAP: spread", "from S", "MKL: spread", "from the root of S"]
    body = (
        "The parts of joint MAP and of MKL that depend on the covariance matrix K of latent values "
        "u are tr(S K^-1) + ln det K and tr(S K^-1) + tr K, where S = uu', or the mean of uu' over "
        "several vectors, which is not singular. Here K is any positive definite matrix, and not a "
        "sum of given kernels. L-BFGS descends in a factor of K from "
        f"{N_STARTS} random matrices. The spread is the largest relative difference of the values "
        "that are reached, and distances are those of the best K, relative, in the Frobenius "
        f"norm; the worst of all repeats.\n\n{table(header, rows)}"
    )
    return Section(body, claims(results))


def spread(results: Results, problem: str, name: str) -> float:
    """Return the largest relative difference of values that descents reach."""
    values = stacked(results, f"{name}_values", problem, "descents")
    size = np.maximum(np.abs(values).max(axis=1), 1.0)
    return float((np.ptp(values, axis=1) / size).max())


def distance(results: Results, problem: str, name: str) -> float:
    """Return the largest distance of a minimizer from the matrix that is expected."""
    return float(results.values(f"{name}_distance", problem, "descents").max())


def claims(results: Results) -> list[Claim]:
    """Return the claims on invexity, and on the minimizers."""
    problems = results.problems
    above = {p: int(results.values("above", p, "convexity").sum()) for p in problems}
    drawn = sum(len(results.values("above", p, "convexity")) for p in problems) * N_LINES
    spreads = {name: [spread(results, p, name) for p in problems] for name in ("map", "mkl")}
    distances = {name: [distance(results, p, name) for p in problems] for name in ("map", "mkl")}
    invex = Claim(
        "Over all matrices K, ln det K + u'K^-1 u is invex: every stationary point is a global "
        "minimum",
        SOURCE,
        "tr(S A) - ln det A is convex in A = K^-1, at the middle of random pairs, and descents "
        "from random K end in one value; true for each size",
        f"above the chord in {sum(above.values())} of {drawn} pairs; values differ by "
        f"{rough(max(spreads['map']))} at most, relatively",
        judge([*(n == 0 for n in above.values()), *(s <= CLOSE**2 for s in spreads["map"])]),
        "For a single vector u there is no minimum, as ln det K is unbounded from below on "
        "matrices that approach uu'; here S is the mean over several vectors. In weights of given "
        "kernels there can be several stationary points, which is a claim of the section before.",
    )
    minimizers = Claim(
        "Joint MAP is least where K is uu', which is the estimate of a covariance; MKL with the "
        "trace of K where K K is uu', an odd one",
        SOURCE,
        "distance of the best K from S, or from the square root of S; at most "
        f"{rough(CLOSE)} for each size",
        f"MAP {rough(max(distances['map']))}, MKL {rough(max(distances['mkl']))} at most",
        judge([d <= CLOSE for name in distances for d in distances[name]]),
        "The derivatives in K are K^-1 - K^-1 S K^-1 and I - K^-1 S K^-1.",
    )
    return [invex, minimizers]
