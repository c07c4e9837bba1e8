"""Choice of the form of a kernel: isotropic, with one width per feature, or of projections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._greedy.alignment import Growth, learn_families
from mercer._model_selection.feature_metric import choose_metric, kernel_on_features
from mercer._model_selection.held_out import Splits, clearly_best, held_out_losses
from mercer._model_selection.kernel_prices import RandomState
from mercer._search.evidence_search import marginal_likelihood_widths
from mercer._targets import Target
from mercer.kernels import ExponentialPower, Gaussian, Kernel, Laplacian, WeightedSum

Kind = Literal["isotropic sum", "isotropic", "ard", "projection"]

N_ITERATIONS = 3
"""Iterations of gradient outer products, of which held-out samples choose the best."""

_FOLDS = 3
"""Forms are compared in so many folds: more take more time, and rarely choose another."""


@dataclass(frozen=True)
class Form:
    """A form of kernel.

    Attributes
    ----------
    kind : {"isotropic sum", "isotropic", "ard", "projection"}
        `"isotropic sum"`: a sum of isotropic Gaussians (CA-1D). `"isotropic"`: one kernel of one
        width, that of the lowest leave-one-out error. `"ard"`: one width per feature, by marginal
        likelihood. `"projection"`: a matrix that features are multiplied by, by average gradient
        outer products.
    kernel : Kernel or None
        Its family; None for sums.
    """

    kind: Kind
    kernel: Kernel | None = None


_ISOTROPIC_FORMS = [
    Form("isotropic sum"),
    Form("isotropic", Gaussian()),
    Form("isotropic", ExponentialPower()),
]
"""Forms that do not tell features apart."""

FORMS = [
    *_ISOTROPIC_FORMS,
    Form("ard", Gaussian(ard=True)),
    Form("ard", Laplacian(ard=True)),
    Form("projection", Gaussian()),
]
"""The forms that are compared; the first is chosen unless another is clearly better."""


_N_ERRORS = 2.0
"""A form is chosen if it is better by so many standard errors, as the best of several forms may be
better by one even if none is."""


@serial_algebra()
def choose_form(
    samples: Samples,
    target: Target,
    growth: Growth,
    random_state: RandomState,
    splits: Splits | None = None,
) -> Form:
    """The form of kernel that predicts held-out samples best.

    Parameters
    ----------
    samples : Samples
        If they have one feature, only isotropic forms are compared.
    target : Target
    growth : Growth
        How sums of kernels grow.
    random_state : int, RandomState instance or None
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples. None for three folds, or random splits of large tables.

    Returns
    -------
    Form
        The isotropic sum unless another form is better by more than two standard errors.

    Notes
    -----
    Each fold learns a kernel of each form: one isotropic sum, one width by leave-one-out errors for
    two families, two searches of the marginal likelihood, and one metric by gradient outer
    products. Kernels of the last two kinds are learned from the labels of their samples, so that
    their leave-one-out errors would be optimistic.
    """
    forms = FORMS if samples.X.shape[1] > 1 else _ISOTROPIC_FORMS

    def learn(inside: Samples, known: Target) -> list[Kernel]:
        found = _kernels(inside, known, growth, random_state)
        return list(islice(found, len(forms)))

    losses = held_out_losses(learn, samples, target, random_state, n_folds=_FOLDS, splits=splits)
    return forms[clearly_best(losses, _N_ERRORS)]


def _kernels(
    samples: Samples, target: Target, growth: Growth, random_state: RandomState
) -> Iterator[Kernel]:
    """A kernel of each of `FORMS`, in the same order."""
    for form in FORMS:
        if form.kernel is None:
            found = learn_families([Gaussian()], samples, target, growth)
            yield WeightedSum(found.kernels, found.weights)
        elif form.kind == "ard":
            yield marginal_likelihood_widths(
                form.kernel, samples.representative, target.representative.centered
            ).kernel
        else:
            projects = form.kind == "projection"
            choice = choose_metric(
                form.kernel,
                samples.representative,
                target.representative,
                n_iter=N_ITERATIONS if projects else 0,
                diagonal=not projects,
                random_state=random_state,
            )
            yield kernel_on_features(choice.metrics[choice.best])
