"""Objectives by their names."""

from __future__ import annotations

from typing import Literal, TypeAlias

from mercer._validation import check_number, check_positive
from mercer.probabilistic._deviance import Deviance
from mercer.probabilistic._likelihoods import GaussianLikelihood, Likelihood
from mercer.probabilistic._objectives import (
    JointMAP,
    LaplaceApproximation,
    Objective,
    PenalizedRisk,
    VariationalBound,
)

ObjectiveName: TypeAlias = Literal["marginal_likelihood", "vb", "laplace", "map", "mkl"]
OBJECTIVES: tuple[ObjectiveName, ...] = ("marginal_likelihood", "vb", "laplace", "map", "mkl")
"""Names of the objectives."""


def as_objective(
    name: ObjectiveName,
    deviance: Deviance,
    *,
    jitter: float = 0.0,
    weight_penalty: float = 1.0,
    norm: float = 1.0,
    learns_noise: bool = False,
) -> Objective:
    """Return the objective of a name.

    Parameters
    ----------
    name : {"marginal_likelihood", "vb", "laplace", "map", "mkl"}
    deviance : Deviance
        A likelihood, unless the name is "mkl".
    jitter : float, default=0.0
        White noise in the latent function, used by "map" only.
    weight_penalty, norm : float, default=1.0
        Used by "mkl" only.
    learns_noise : bool, default=False
        Used by "vb" only.

    Raises
    ------
    ValueError
        If the objective needs another likelihood, or a setting is out of its range.
    """
    check_positive("weight_penalty", weight_penalty)
    check_number("norm", norm, low=1.0)
    check_number("jitter", jitter)
    if name == "mkl":
        return PenalizedRisk(deviance, weight_penalty, norm)
    if not isinstance(deviance, Likelihood):
        raise ValueError(f'A loss that is no likelihood has objective="mkl" only; got {name!r}.')
    if name == "map":
        check_positive("jitter", jitter)
        return JointMAP(deviance, jitter)
    if name == "laplace":
        if not deviance.loss.is_smooth:
            raise ValueError(
                'objective="laplace" expands the likelihood about its mode, and needs one without '
                "kinks."
            )
        return LaplaceApproximation(deviance)
    if name == "vb":
        return VariationalBound(deviance, learns_noise)
    if not isinstance(deviance, GaussianLikelihood):
        raise ValueError(
            'objective="marginal_likelihood" is in closed form for Gaussian noise only: '
            'objective="vb" bounds it for other likelihoods.'
        )
    return JointMAP.marginal_likelihood(deviance.noise, deviance.weights)
