"""The stagewise learner beside Algorithm 1 in naive NumPy: kernels, steps, alignments, the end."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import gaussian, target_kernel
from sklearn import datasets
from stagewise_reference import (
    Published,
    Search,
    algorithm_1,
    gradient,
    objective,
    one_parameter,
    widths,
)

from mercer import ContinuousAlignment
from mercer.kernels import Dirichlet, Gaussian, Kernel, Linear, OnColumns

FREQUENCIES = (0.1, 12.0)


def table(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Samples, targets and the task."""
    rng = np.random.default_rng(0)
    if name == "moons":
        return *datasets.make_moons(40, noise=0.2, random_state=0), "classification"
    if name == "sines":
        X = rng.uniform(-3.0, 3.0, (80, 1))
        y = np.sign(np.sin(2.0 * X[:, 0]) + np.sin(5.0 * X[:, 0]))
        return X, y, "classification"
    if name == "iris":
        X, y = datasets.load_iris(return_X_y=True)
        rows = rng.permutation(150)[:60]
        return X[rows], y[rows], "classification"
    X = rng.normal(size=(60, 3)) * [1.0, 2.0, 0.5]
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1], "regression"


def isotropic(X: np.ndarray) -> Search:
    return one_parameter(lambda s: gaussian(X, s), *Gaussian().log_bounds(X)[0])


def frequencies(X: np.ndarray) -> Search:
    D = np.abs(X - X.T)
    return one_parameter(lambda s: 1.0 + 2.0 * np.cos(s * D), *np.log(FREQUENCIES), n=3000)


def assert_steps(learner: ContinuousAlignment, X: np.ndarray, expected: Published, L: Any) -> None:
    """All steps agree to six digits, and so does what is learned."""
    assert learner.n_iter_ == len(expected.etas)
    for step, K, eta, reached, value in zip(
        learner.history_,
        expected.grams,
        expected.etas,
        expected.alignments,
        expected.objectives,
        strict=True,
    ):
        assert_allclose(step.kernel(X), K, rtol=0, atol=1e-6 * np.abs(K).max())
        assert_allclose(step.step_size, eta, rtol=1e-6, atol=1e-16)
        assert_allclose(step.alignment, reached, rtol=1e-6)
        assert_allclose(step.objective, value, rtol=1e-6)
    assert_allclose(learner.alignment_, expected.alignments[-1], rtol=1e-6)
    whole = sum(eta * K for eta, K in zip(expected.etas, expected.grams, strict=True))
    scale = sum(expected.etas) * learner.scale_
    assert_allclose(scale * learner.kernel_(X), whole, atol=1e-6 * np.abs(whole).max())


def compare(
    name: str,
    family: Kernel | Sequence[Kernel],
    searches: list[Search],
    *,
    beside: bool = False,
    **settings: Any,
) -> Published:
    X, y, task = table(name)
    L = target_kernel(y, task)
    learner = ContinuousAlignment(family, step="stagewise", task=task, **settings).fit(X, y)
    expected = algorithm_1(
        L,
        searches,
        eps=learner.eps,
        T=learner.max_kernels,
        theta=learner.tol,
        eta_max=learner.eta_max,
        beside=[step.kernel(X) for step in learner.history_] if beside else None,
    )
    assert_steps(learner, X, expected, L)
    return expected


@pytest.mark.parametrize(
    ("name", "settings"),
    [("iris", {"eps": 10.0, "tol": 4e-3}), ("regression", {"eta_max": 0.05, "eps": 1e-2})],
)
def test_one_width(name: str, settings: dict[str, Any]) -> None:
    compare(name, Gaussian(), [isotropic(table(name)[0])], **settings)


def test_several_families_are_compared_by_the_objective() -> None:
    """Also with a linear kernel of large values, which is compared as it is."""
    X = table("sines")[0]
    searches = [isotropic(X), frequencies(X), lambda P: (X @ X.T, 0.0)]
    published = compare("sines", [Gaussian(), Dirichlet(bounds=FREQUENCIES), Linear()], searches)
    assert len(published.etas) > 1


@pytest.mark.parametrize("step", ["corrective", "stagewise"])
def test_families_are_compared_at_unit_norm_or_as_they_are(step: Any) -> None:
    """A kernel of the larger values is added first unless the comparison is normalized."""
    X, y, task = table("regression")
    families = [Gaussian(), OnColumns(Linear(), [1])]
    X[:, 1] *= 1e3
    first = {
        normalize: ContinuousAlignment(
            families, step=step, task=task, normalize_families=normalize, max_kernels=1, tol=1.0
        )
        .fit(X, y)
        .history_[0]
        .kernel
        for normalize in (True, False, None)
    }
    assert type(first[True]) is Gaussian
    assert type(first[False]) is OnColumns
    assert first[None] == first[step == "corrective"]


@pytest.mark.parametrize(("penalty", "name"), [(0.0, "moons"), (1.0, "regression")])
def test_penalized_widths(penalty: float, name: str) -> None:
    X, y, task = table(name)
    common = isotropic(X)
    one = ContinuousAlignment(Gaussian(), step="stagewise", task=task).fit(X, y)
    start = float(one.weights_ @ [kernel.bandwidth for kernel in one.kernels_])
    family = Gaussian(ard=True)
    bounds = family.bind(X).log_bounds(X)

    def search(P: np.ndarray) -> tuple[np.ndarray, float]:
        starts = [start]
        if penalty:
            K = common(P)[0]
            pair = np.unravel_index(np.argmin(np.abs(K - 0.5)), K.shape)
            starts.append(np.linalg.norm(X[pair[0]] - X[pair[1]]) / np.sqrt(-np.log(K[pair])))
        return widths(X, starts, bounds, penalty)(P)

    settings = {"width_penalty": penalty, "search_tol": 0.0}
    compare(name, family, [search], beside=True, **settings)


def test_a_gap_bounds_the_published_objective() -> None:
    X, y, task = table("moons")
    learner = ContinuousAlignment(step="stagewise", certificate=True, task=task).fit(X, y)
    L, K = target_kernel(y, task), learner.eps * np.eye(len(X))
    widths_tried = np.exp(np.linspace(*Gaussian().log_bounds(X)[0], 300))
    for step in learner.history_:
        P = gradient(K, L)
        assert step.gap is not None
        assert step.step_size is not None
        best = max(np.sum(P * gaussian(X, s)) for s in widths_tried)
        assert best <= step.objective + step.gap
        assert step.gap < 0.01 * step.objective
        K = K + step.step_size * step.kernel(X)


def test_a_first_step_that_gains_too_little_is_the_last() -> None:
    """The alignment of eps I counts, so that a gain below the tolerance ends the loop at once."""
    X, y, task = table("iris")
    L = target_kernel(y, task)
    identity = objective(np.eye(len(X)), L)
    assert identity > 0.05
    reached = ContinuousAlignment(step="stagewise", max_kernels=1, tol=0.0, task=task)
    with pytest.warns(UserWarning, match="raise max_kernels"):
        gain = reached.fit(X, y).alignment_ - identity
    for factor, steps in ((1.01, 1), (0.99, 2)):
        learner = ContinuousAlignment(step="stagewise", tol=factor * gain, task=task).fit(X, y)
        assert learner.n_iter_ == steps
