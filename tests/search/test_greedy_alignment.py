"""The greedy loop of continuous alignment, on a registry of data sets."""

import numpy as np
import pytest
from ard_cases import table
from numpy.testing import assert_allclose
from reference import alignf, center, centered_alignment, target_kernel
from sklearn import datasets

from mercer import ContinuousAlignment
from mercer._gram.samples import Samples
from mercer._search.greedy_alignment import Growth, learn_families
from mercer._search.targets import as_target
from mercer.kernels import Dirichlet, Gaussian, Kernel, Laplacian, Linear, Matern, OnColumns

CLASSES, RESPONSES = "classification", "regression"
SETS: dict[str, tuple[np.ndarray, np.ndarray, str]] = {
    "iris": (*datasets.load_iris(return_X_y=True), CLASSES),
    "linnerud": (*datasets.load_linnerud(return_X_y=True), RESPONSES),
    "friedman": (*datasets.make_friedman1(80, random_state=0), RESPONSES),
    "moons": (*datasets.make_moons(60, noise=0.2, random_state=0), CLASSES),
    "few": (*datasets.make_blobs(8, centers=2, cluster_std=3.0, random_state=0), CLASSES),
    "many features": (*datasets.make_classification(60, 200, random_state=0), CLASSES),
}
every_set = pytest.mark.parametrize("name", SETS)


def assert_learned(learner: ContinuousAlignment, X: np.ndarray, y: np.ndarray, task: str) -> None:
    """What holds whatever was learned."""
    etas = [step.step_size for step in learner.history_ if step.step_size]
    rest = learner.eps / sum(etas) * np.eye(len(X)) if etas else 0.0
    whole = learner.scale_ * learner.kernel_(X) + rest
    aligned = centered_alignment(whole, target_kernel(y, task))
    assert_allclose(learner.alignment_, aligned, rtol=1e-8)
    assert_allclose(learner.weights_.sum(), 1.0, rtol=1e-12)
    assert (learner.weights_ > 0.0).all()
    assert len(learner.kernels_) == len(learner.weights_)
    assert len(learner.history_) == learner.n_iter_
    assert learner.history_[-1].n_kernels == len(learner.weights_)
    assert learner.history_[-1].alignment == learner.alignment_
    for kernel in learner.kernels_:
        low, high = kernel.log_bounds(X)[0]
        assert low - 1e-9 <= kernel.theta[0] <= high + 1e-9


WIDTH_FAMILIES = [Gaussian(), Laplacian(), Laplacian(norm=1.0)]


@pytest.mark.parametrize(("name", "family"), list(zip(SETS, WIDTH_FAMILIES * 2, strict=True)))
def test_corrective_steps_need_no_more_kernels_than_stagewise_ones(
    name: str, family: Kernel
) -> None:
    """No step lowers the alignment; corrective ones reach as much with no more kernels.

    All of these but the last gain the tolerance.
    """
    X, y, task = SETS[name]
    corrective = ContinuousAlignment(family, task=task).fit(X, y)
    growth = np.diff([0.0, *[step.alignment for step in corrective.history_]])
    assert (growth[:-1] >= 1e-3).all()
    stagewise = ContinuousAlignment(family, task=task, step="stagewise").fit(X, y)
    for learner in (corrective, stagewise):
        assert_learned(learner, X, y, task)
        alignments = [step.alignment for step in learner.history_]
        assert alignments == sorted(alignments)
    assert corrective.alignment_ >= stagewise.alignment_
    enough = [s.n_kernels for s in corrective.history_ if s.alignment >= stagewise.alignment_]
    assert min(enough) <= len(stagewise.weights_)


@every_set
def test_corrective_weights_are_the_best_for_their_kernels(name: str) -> None:
    """No move of weight from one kernel to another raises the alignment."""
    X, y, task = SETS[name]
    learner = ContinuousAlignment(task=task, tol=1e-5).fit(X, y)
    Lc = center(target_kernel(y, task))
    A = np.stack([center(k(X) - k.offset).ravel() for k in learner.kernels_], axis=1)
    combined = A @ learner.weights_
    fit = (combined @ Lc.ravel()) / (combined @ combined)
    residual = A.T @ (fit * combined - Lc.ravel())
    assert np.abs(residual / (np.linalg.norm(A, axis=0) * np.linalg.norm(Lc))).max() < 1e-7


@every_set
def test_no_width_of_the_dictionary_could_be_better(name: str) -> None:
    """A width moved a little either way, with all weights solved for anew, aligns no better.

    A certificate changes little of what is learned.
    """
    X, y, task = SETS[name]
    learner = ContinuousAlignment(task=task).fit(X, y)
    proven = ContinuousAlignment(task=task, certificate=True).fit(X, y)
    assert_allclose(proven.alignment_, learner.alignment_, atol=1e-4)
    L = target_kernel(y, task)
    kernels = learner.kernels_
    low, high = kernels[0].log_bounds(X)[0]
    for k, kernel in enumerate(kernels):
        for theta in kernel.theta + np.array([[-0.3], [-0.05], [0.05], [0.3]]):
            moved = [*kernels[:k], kernel.with_theta(theta.clip(low, high)), *kernels[k + 1 :]]
            grams = [part(X) - part.offset for part in moved]
            combined = np.tensordot(alignf(grams, L), grams, axes=1)
            assert centered_alignment(combined, L) <= learner.alignment_ + 2e-5


@pytest.mark.parametrize("corrective", [True, False])
def test_the_loop_ends_at_the_first_gain_below_its_tolerance(corrective: bool) -> None:
    """A last corrective step is dropped if it gains less than a tenth of the tolerance."""
    X, y = (part[:80] for part in datasets.load_breast_cancer(return_X_y=True))

    def alignments(tol: float) -> list[float]:
        growth = Growth(corrective, tol, max_kernels=8)
        found = learn_families([Gaussian()], Samples(X), as_target(y), growth)
        return [step.alignment for step in found.history]

    gains = np.diff([0.0, *alignments(0.0)])
    for tol in (0.5 * gains[2], 5.0 * gains[2], 20.0 * gains[1]):
        below = np.flatnonzero(gains < tol)
        expected = int(below[0]) + 1 if below.size else gains.size
        if corrective and expected > 1 and gains[expected - 1] <= 0.1 * tol:
            expected -= 1
        assert len(alignments(tol)) == expected


FAMILIES: list[Kernel] = [
    OnColumns(Gaussian(), [0]),
    OnColumns(Dirichlet(bounds=(0.1, 3.0)), [1]),
    Linear(),
    Gaussian(ard=True),
]


def test_several_families_do_better_than_each_in_any_order() -> None:
    X, y, _ = SETS["moons"]
    both = ContinuousAlignment(FAMILIES).fit(X, y)
    L = target_kernel(y)
    assert_allclose(both.alignment_, centered_alignment(both.kernel_(X), L), rtol=1e-8)
    first = [ContinuousAlignment([family], max_kernels=1, tol=1).fit(X, y) for family in FAMILIES]
    assert both.alignment_ >= max(one.alignment_ for one in first)
    assert len({type(step.kernel) for step in both.history_}) > 1
    backward = ContinuousAlignment(FAMILIES[::-1]).fit(X, y)
    assert_allclose(backward.alignment_, both.alignment_, rtol=1e-9)
    assert_allclose(backward.kernel_(X), both.kernel_(X), atol=1e-6)


def test_an_infinite_penalty_gives_a_sum_of_isotropic_kernels() -> None:
    X, y = table(3)
    isotropic = ContinuousAlignment([Gaussian(), Matern()])
    ard = ContinuousAlignment([Gaussian(ard=True), Matern(ard=True)], width_penalty=np.inf)
    assert ard.fit(X, y).kernel_ == isotropic.fit(X, y).kernel_
    assert ard.width_penalty_ == np.inf
