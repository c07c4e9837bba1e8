"""Objectives by their names."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from mercer._typing import Array
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
    scales: float | Array = 1.0,
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
    scales : float or ndarray of shape (n_kernels,), default=1.0
        Used by "mkl" only: what the kernels were multiplied by. The penalty is that of their
        weights before.
    learns_noise : bool, default=False
        Used by "vb" only.

    Raises
    ------
    ValueError
        If the objective needs another likelihood, a setting is out of its range, or the penalty is
        not a finite number.
    """
    check_positive("weight_penalty", weight_penalty)
    check_number("norm", norm, low=1.0)
    check_number("jitter", jitter)
    if name == "mkl":
        with np.errstate(over="ignore", under="ignore"):
            penalties = np.asarray(weight_penalty * scales**norm)
        if not (np.isfinite(penalties) & (penalties > 0.0)).all():
            raise ValueError(
                f"weights^{norm:g} is not a finite number for kernels of such values: divide the "
                "kernels by their mean diagonals."
            )
        return PenalizedRisk(deviance, penalties, norm)
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
