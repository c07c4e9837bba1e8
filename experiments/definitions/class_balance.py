"""Alignment with and without centering: Cortes et al. (2010), section 2.2 and Figure 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from experiments.c_search import Grams, best_machine
from experiments.experiment import Experiment, Measures, Method
from experiments.problems import Array, Part, Split, scaled, three_parts, whole
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.metrics import alignment, centered_alignment

TWO_POINTS = "two points"
BALANCES: Array = np.linspace(0.02, 0.98, 25)
"""The fractions of points that have the label -1."""

NATURAL = ("banana", "image", "splice", "waveform", "german", "diabetes_pima", "spambase")
THINNED = ("banana", "image", "splice", "waveform", "spambase")
RARE = ", one in ten"
"""The end of the names of problems where one sample in ten is positive."""

C_GRID: Array = 10.0 ** np.arange(-2, 4.5, 0.5)


@dataclass(frozen=True)
class TwoPoints:
    """Samples at (-1, 0) and (1, 0), labeled by their first coordinate."""

    n_samples: int
    seed: int


def with_share(name: str, share: float | None, seed: int) -> Part:
    """Return a set, from which random positives are left out until they are a given fraction."""
    X, y = whole(name)
    if share is None:
        return X, y
    order = np.random.default_rng(seed).permutation(len(y))
    positive, negative = order[y[order] > 0], order[y[order] <= 0]
    kept = int(share / (1.0 - share) * len(negative))
    chosen = np.concatenate([negative, positive[:kept]])
    return X[chosen], y[chosen]


def real(repeat: int, *, name: str, share: float | None, sizes: tuple[int, int, int]) -> Split:
    """Return three parts of a set, with standardized features."""
    return scaled(three_parts(*with_share(name, share, repeat), sizes, repeat))


def both_alignments(data: TwoPoints) -> Measures:
    """Return both alignments on samples, for each balance of the classes."""
    generator = np.random.default_rng(data.seed)
    found: dict[str, list[float]] = {"share": [], "centered": [], "uncentered": []}
    for balance in BALANCES:
        y = np.where(generator.uniform(size=data.n_samples) < balance, -1, 1)
        K = np.outer(y, y) + 1.0
        found["share"].append(float(np.mean(y < 0)))
        found["centered"].append(centered_alignment(K, y))
        found["uncentered"].append(alignment(K, y))
    return found


def widths(X: Array) -> dict[str, Callable[..., Array]]:
    """Return Gaussian kernels with widths from an eighth of the data's scale to 64 times it."""
    scale = np.sqrt(X.shape[1])
    return {f"{power}": Gaussian(scale * 2.0**power) for power in range(-3, 7)}


def kinds(X: Array) -> dict[str, Callable[..., Array]]:
    """Return linear kernels with constants, polynomials, and Gaussians of three widths.

    A constant c is in units of the linear kernel's mean diagonal.
    """
    d = X.shape[1]
    kernels: dict[str, Callable[..., Array]] = {
        f"linear + {c:g}": _plus(c * d) for c in (0.0, 1.0, 10.0)
    }
    kernels |= {
        f"degree {degree} + {c:g}": Polynomial(degree, gamma=1.0 / d, coef0=c)
        for degree in (2, 3)
        for c in (0.0, 1.0, 10.0)
    }
    return kernels | {f"width {s:g}": Gaussian(s * np.sqrt(d)) for s in (0.5, 2.0, 8.0)}


def _plus(constant: float) -> Callable[..., Array]:
    """Return the linear kernel plus a constant."""
    linear = Linear()

    def kernel(X: Array, Z: Array | None = None) -> Array:
        return np.asarray(linear(X, Z)) + constant

    return kernel


def performance(
    data: Split, *, kernels: Callable[[Array], Mapping[str, Callable[..., Array]]]
) -> Measures:
    """Return the errors of a machine with each kernel, and both alignments, on test data."""
    found: dict[str, list[float]] = {
        "error": [],
        "balanced_error": [],
        "centered": [],
        "uncentered": [],
    }
    X, y = data.test
    for kernel in kernels(data.train[0]).values():
        grams = Grams.of(kernel, data)
        wrong = best_machine(grams, data, C_GRID).predict(grams.test) != y
        found["error"].append(float(wrong.mean()))
        found["balanced_error"].append(float(np.mean([wrong[y == c].mean() for c in (-1, 1)])))
        K = kernel(X)
        found["centered"].append(centered_alignment(K, y))
        found["uncentered"].append(alignment(K, y))
    return {**found, "positive": float(np.mean(y > 0))}


def experiment(small: bool) -> Experiment:
    """Declare the two-point example, and seven binary sets as they are and with few positives."""
    sizes = (60, 40, 100) if small else (300, 200, 500)
    natural, thinned = (("banana", "german"), ("banana",)) if small else (NATURAL, THINNED)
    sets = {name: partial(real, name=name, share=None, sizes=sizes) for name in natural}
    sets |= {name + RARE: partial(real, name=name, share=0.1, sizes=sizes) for name in thinned}
    methods: dict[str, Method] = {
        "both alignments": both_alignments,
        "widths": partial(performance, kernels=widths),
        "kinds": partial(performance, kernels=kinds),
    }
    limits = {(name, "both alignments"): 0 for name in sets}
    limits |= {(TWO_POINTS, method): 0 for method in ("widths", "kinds")}
    return Experiment(
        title="Centering in the definition of alignment",
        source="Cortes, Mohri, Rostamizadeh (2010), section 2.2, Figure 1",
        problems={TWO_POINTS: partial(TwoPoints, 500), **sets},
        methods=methods,
        limits=limits,
    )
