"""Ellipsoids held near a sphere: how firmly, or for how long, judged on held-out samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mercer._criteria import Criterion
from mercer._gram.tiles import Samples, serial_algebra
from mercer._model_selection.held_out import RandomState, clearly_best, held_out_losses
from mercer._search.criterion_search import OptimizedKernel, ellipsoids, optimize_criterion
from mercer._search.width_penalty import STRENGTHS, UNPENALIZED, PenaltyForm, WidthPenalty
from mercer._targets import Target
from mercer.kernels import Kernel

RELATIVE_FORMS: tuple[PenaltyForm, ...] = ("log_widths", "inverse_widths")
"""Forms of the penalty that are tried where none is asked for."""

STOPS = (1, 2, 3, 5, 8, 13, 21, 34)
"""Iterations after the sphere at which an unpenalized search may stop."""

_TRIAL_TOL = 1e-3
"""Relative change of the criterion at which searches on trial stop."""


def candidate_penalties(forms: Sequence[PenaltyForm]) -> list[WidthPenalty]:
    """Penalties to choose from: no ellipsoid at all, then each form from the firmest on.

    Parameters
    ----------
    forms : sequence of {"log_widths", "inverse_widths"}
    """
    tried = [WidthPenalty(strength, form) for form in forms for strength in STRENGTHS]
    return [WidthPenalty(np.inf, forms[0]), *tried]


def ellipsoids_of_forms(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    sphere: OptimizedKernel,
    forms: Sequence[PenaltyForm],
) -> Iterator[OptimizedKernel]:
    """The ellipsoids of :func:`candidate_penalties` but the first, found well enough for a trial.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        With a width per feature; bound to the samples.
    samples : Samples
    target : Target
    sphere : OptimizedKernel
        The best kernel of one width.
    forms : sequence of {"log_widths", "inverse_widths"}

    Yields
    ------
    OptimizedKernel
    """
    for form in forms:
        penalties = [WidthPenalty(strength, form) for strength in STRENGTHS]
        yield from ellipsoids(
            criterion,
            kernel,
            samples,
            target,
            sphere=sphere,
            penalties=penalties,
            tol=_TRIAL_TOL,
        )


@serial_algebra()
def choose_penalty(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    forms: Sequence[PenaltyForm],
    random_state: RandomState,
) -> WidthPenalty:
    """The penalty whose ellipsoids predict held-out samples best.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        With a width per feature; bound to the samples.
    samples : Samples
    target : Target
    forms : sequence of {"log_widths", "inverse_widths"}
    random_state : int, RandomState instance or None

    Returns
    -------
    WidthPenalty
        Of infinite strength, if no ellipsoid is better than the sphere by more than a standard
        error.

    Notes
    -----
    Held-out samples play no part in the kernels they judge: an ellipsoid that fits noise has the
    larger alignment, and loses. One search along each form's penalties serves them all.
    """

    def learn(inside: Samples, part: Target) -> list[Kernel]:
        sphere = best_sphere(criterion, kernel, inside, part)
        found = ellipsoids_of_forms(criterion, kernel, inside, part, sphere=sphere, forms=forms)
        return [sphere.kernel, *(ellipsoid.kernel for ellipsoid in found)]

    losses = held_out_losses(learn, samples, target, random_state)
    return candidate_penalties(forms)[clearly_best(losses)]


@serial_algebra()
def choose_stop(
    criterion: Criterion,
    kernel: Kernel,
    samples: Samples,
    target: Target,
    *,
    random_state: RandomState,
) -> int:
    """The number of iterations whose ellipsoids predict held-out samples best.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        With a width per feature; bound to the samples.
    samples : Samples
    target : Target
    random_state : int, RandomState instance or None

    Returns
    -------
    int
        Zero, if none is better than the sphere by more than a standard error.
    """

    def learn(inside: Samples, part: Target) -> list[Kernel]:
        sphere = best_sphere(criterion, kernel, inside, part)
        found = next(
            ellipsoids(
                criterion,
                kernel,
                inside,
                part,
                sphere=sphere,
                penalties=[UNPENALIZED],
                max_iter=STOPS[-1],
            )
        )
        iterates = found.iterates or (found.kernel.theta,)
        reached = [iterates[min(stop, len(iterates)) - 1] for stop in STOPS]
        return [sphere.kernel, *(kernel.with_theta(theta) for theta in reached)]

    losses = held_out_losses(learn, samples, target, random_state)
    return (0, *STOPS)[clearly_best(losses)]


def best_sphere(
    criterion: Criterion, kernel: Kernel, samples: Samples, target: Target
) -> OptimizedKernel:
    """The best kernel of one width, where an ellipsoid has many.

    Parameters
    ----------
    criterion : Criterion
    kernel : Kernel
        With a width per feature; bound to the samples.
    samples : Samples
    target : Target
    """
    spherical = kernel.structure.isotropic()
    assert spherical is not None
    return optimize_criterion(criterion, spherical, samples, target)
