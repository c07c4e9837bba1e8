"""Section on the error of each frequency alone: Afkanpour et al. (2013), Figure 1."""

from __future__ import annotations

import numpy as np

from experiments.problems import Array
from experiments.reporting.figures import panels
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, judge
from mercer.datasets import SINE_FREQUENCIES

NEAR = 0.05
"""A frequency within this distance of a true one, or the spacing, is counted as true."""
FAR = 0.3
"""Frequencies further than this from all true ones are others."""
RESOLVED = 0.15
"""Half the frequency resolution of an interval of length 20."""


def scanned(results: Results) -> tuple[Array, Array]:
    """Return all frequencies with a record, ascending, and their mean errors over repeats."""
    rows = results.frame.dropna(subset=["errors"])
    frequencies = np.concatenate([np.asarray(row, dtype=float) for row in rows["frequencies"]])
    errors = np.concatenate([np.asarray(row, dtype=float) for row in rows["errors"]])
    places, which = np.unique(frequencies, return_inverse=True)
    return places, np.bincount(which, errors) / np.bincount(which)


def section(results: Results) -> Section:
    """Write errors against frequencies."""
    frequencies, errors = scanned(results)
    figure, (axes,) = panels(1, width=8.0)
    axes.plot(frequencies, 100.0 * errors, lw=0.8, color="tab:blue")
    for true in SINE_FREQUENCIES:
        axes.axvline(true, color="tab:gray", ls=":", lw=1.0)
    axes.set(xlabel="frequency of a single Dirichlet kernel", ylabel="test error, %")
    return Section(BODY, claims(frequencies, errors), {"sine-scan": figure})


def claims(frequencies: Array, errors: Array) -> list[Claim]:
    """Return the claim that the true frequencies have the lowest errors."""
    distances = np.abs(frequencies[:, None] - np.array(SINE_FREQUENCIES)).min(axis=1)
    spacing = float(np.median(np.diff(frequencies)))
    near = max(NEAR, spacing)
    away = distances > max(FAR, 2.0 * spacing)
    if not away.any():
        return []
    elsewhere = float(errors[away].min())
    place = float(frequencies[away][errors[away].argmin()])
    at = [float(errors[np.abs(frequencies - s) <= near].min(initial=1.0)) for s in SINE_FREQUENCIES]
    first, second, third = SINE_FREQUENCIES
    tones = np.abs([first + i * second + j * third for i in (-1, 1) for j in (-1, 1)])
    nearest = float(tones[np.abs(tones - place).argmin()])
    names = [f"√{s**2:.0f}" for s in SINE_FREQUENCIES]
    found = ", ".join(f"{100 * e:.1f} % at {name}" for name, e in zip(names, at, strict=True))
    return [
        Claim(
            statement="The frequencies that generate the data obtain the lowest errors",
            source="Afkanpour et al. 2013, section 3.1, Figure 1",
            measure=(
                f"the least error within {near:.2g} of each true frequency is below that of every "
                f"frequency more than {max(FAR, 2.0 * spacing):.2g} from all three"
            ),
            result=f"{found}; elsewhere {100 * elsewhere:.1f} % at best, at {place:.2f}",
            judgment=judge([error < elsewhere for error in at]),
            why=WHY
            + TONE.format(place=place, tone=nearest) * bool(abs(nearest - place) <= RESOLVED),
        )
    ]


WHY = """A kernel of one frequency s tells samples apart by the phase of s x alone: it can use one
of the three sines, and the others are noise to it. The sign of the sum holds weaker tones at ±√2 ±
√12 ± √60."""

TONE = " The best frequency elsewhere, {place:.2f}, is near the tone at {tone:.2f}."

BODY = """A thousand frequencies between 0 and 20, one Dirichlet kernel each: 1,000 training and
1,000 validation points, 2,000 test points, C from the paper's grid. The kernel less its constant is
twice the inner product of cos(s x) and sin(s x), so that the machines are linear ones of two
features; those for which libsvm needs more than 20,000 iterations are left out.

![Error of single Dirichlet kernels; dotted: the true ones; the paper's Figure 1](figure:sine-scan)
"""
