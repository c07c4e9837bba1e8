"""The error of each frequency alone, on the sign of a sum of three sines."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure
from sklearn.svm import SVC

from experiments.c_search import C_GRID
from experiments.experiment import Experiment, Measures
from experiments.problems import Array, Split, sines
from experiments.reporting.figures import panels
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, judged
from mercer.datasets import SINE_FREQUENCIES

HIGHEST = 20.0
N_FREQUENCIES = 1000
N_CHUNKS = 20
# libsvm stops after this many iterations; larger values of C are then not tried.
MAX_ITER = 20_000


def features(X: Array, frequency: float) -> Array:
    """Return features whose inner product is half the Dirichlet kernel without its constant."""
    return np.hstack([np.cos(frequency * X), np.sin(frequency * X)])


def error_of_frequency(split: Split, frequency: float) -> tuple[float, float]:
    """Return the test error with the C of best validation accuracy, and that C."""
    train, valid, test = (
        (features(X, frequency), y) for X, y in (split.train, split.valid, split.test)
    )
    best, error, chosen = -1.0, 1.0, 0.0
    for C in C_GRID:
        machine = SVC(kernel="linear", C=float(C), max_iter=MAX_ITER).fit(*train)
        if machine.n_iter_.max() >= MAX_ITER:
            break
        if (score := machine.score(*valid)) > best:
            best, error, chosen = score, 1.0 - machine.score(*test), float(C)
    return error, chosen


def scan(split: Split, frequencies: Array) -> Measures:
    """Return the errors of some frequencies."""
    found = [error_of_frequency(split, float(frequency)) for frequency in frequencies]
    errors, chosen = zip(*found, strict=True)
    return {"frequencies": frequencies, "errors": errors, "chosen": chosen}


def experiment(small: bool) -> Experiment:
    """Declare the experiment of section 3.1, Figure 1."""
    sizes = (200, 200, 400) if small else (1000, 1000, 2000)
    frequencies = HIGHEST * (np.arange(N_FREQUENCIES) + 0.5) / N_FREQUENCIES
    parts = np.array_split(frequencies[:: 20 if small else 1], 2 if small else N_CHUNKS)
    return Experiment(
        title="Error of single frequencies",
        source="Afkanpour et al. 2013, section 3.1, Figure 1",
        problems={"sine": partial(sines, sizes)},
        methods={
            f"frequencies from {part[0]:.2f}": partial(scan, frequencies=part) for part in parts
        },
        repeats=1,
    )


# A frequency within this distance of a true one, or the spacing, is counted as true.
NEAR = 0.05
# Frequencies further than this from all true ones are others.
FAR = 0.3
# Half the frequency resolution of an interval of length 20.
RESOLVED = 0.15


def scanned(results: Results) -> tuple[Array, Array]:
    """Return all frequencies with a record, ascending, and their mean errors over repeats."""
    rows = results.frame.dropna(subset=["errors"])
    frequencies = np.concatenate([np.asarray(row, dtype=float) for row in rows["frequencies"]])
    errors = np.concatenate([np.asarray(row, dtype=float) for row in rows["errors"]])
    places, which = np.unique(frequencies, return_inverse=True)
    return places, np.bincount(which, errors) / np.bincount(which)


def drawn(results: Results) -> Figure:
    """Draw errors against frequencies."""
    frequencies, errors = scanned(results)
    figure, (axes,) = panels(1, width=8.0)
    axes.plot(frequencies, 100.0 * errors, lw=0.8, color="tab:blue")
    for true in SINE_FREQUENCIES:
        axes.axvline(true, color="tab:gray", ls=":", lw=1.0)
    axes.set(xlabel="frequency of a single Dirichlet kernel", ylabel="test error, %")
    return figure


def lowest(results: Results) -> Claim | None:
    """Return the claim that the true frequencies have the lowest errors."""
    frequencies, errors = scanned(results)
    distances = np.abs(frequencies[:, None] - np.array(SINE_FREQUENCIES)).min(axis=1)
    spacing = float(np.median(np.diff(frequencies)))
    near = max(NEAR, spacing)
    away = distances > max(FAR, 2.0 * spacing)
    if not away.any():
        return None
    elsewhere = float(errors[away].min())
    place = float(frequencies[away][errors[away].argmin()])
    at = [float(errors[np.abs(frequencies - s) <= near].min(initial=1.0)) for s in SINE_FREQUENCIES]
    first, second, third = SINE_FREQUENCIES
    tones = np.abs([first + i * second + j * third for i in (-1, 1) for j in (-1, 1)])
    nearest = float(tones[np.abs(tones - place).argmin()])
    names = [f"√{s**2:.0f}" for s in SINE_FREQUENCIES]
    found = ", ".join(f"{100 * e:.1f} % at {name}" for name, e in zip(names, at, strict=True))
    return judged(
        "The frequencies that generate the data obtain the lowest errors",
        "Afkanpour et al. 2013, section 3.1, Figure 1",
        f"The lowest error at frequencies within {near:.2g} of each true frequency is below the "
        f"error at every frequency that is more than {max(FAR, 2.0 * spacing):.2g} away from all "
        "three",
        [error < elsewhere for error in at],
        f"{found}; the lowest error elsewhere is {100 * elsewhere:.1f} %, at {place:.2f}",
        why=WHY + TONE.format(place=place, tone=nearest) * bool(abs(nearest - place) <= RESOLVED),
    )


WHY = """A kernel with one frequency s tells samples apart only by the phase of s x. Such a kernel
can use one of the three sines; the other two act as noise. The sign of the sum also contains weaker
parts with the frequencies ±√2 ± √12 ± √60."""

TONE = " The best frequency elsewhere, {place:.2f}, is close to one of these, {tone:.2f}."


CLAIMS = (lowest,)
FIGURES = {"sine-scan": drawn}
