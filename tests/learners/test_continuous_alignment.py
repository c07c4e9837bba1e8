"""Continuous alignment on scaled features, by given lengths and by those that a learner finds."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from ard_cases import ard_learner, table, widths
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer import ContinuousAlignment, KernelOptimization, UniformCombination
from mercer.kernels import (
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Laplacian,
    OnColumns,
    RationalQuadratic,
)

LENGTHS = np.array([0.5, 2.0, 1e3])


# --- given lengths -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "step"),
    [
        (Gaussian(bounds=(0.5, 0.6)), "stagewise"),
        ([Gaussian(), Laplacian(), Laplacian(norm=1.0)], "corrective"),
        (ExponentialPower(power=0.7), "corrective"),
    ],
)
def test_features_are_divided_by_the_lengths(family: Any, step: str) -> None:
    X, y = table(1)
    scaled = ContinuousAlignment(family, step=step, scaling=LENGTHS).fit(X, y)
    plain = ContinuousAlignment(family, step=step).fit(X / LENGTHS, y)
    assert_allclose(scaled.kernel_(X), plain.kernel_(X / LENGTHS), atol=1e-12)
    assert_allclose(scaled.transform(2.0 * X), plain.transform(2.0 * X / LENGTHS), atol=1e-12)
    assert_array_equal(scaled.weights_, plain.weights_)
    assert_array_equal(scaled.shares_, plain.shares_)
    assert scaled.alignment_ == plain.alignment_
    assert scaled.n_iter_ == plain.n_iter_
    assert_array_equal(scaled.scaling_, LENGTHS)
    for mine, other in zip(scaled.history_, plain.history_, strict=True):
        assert (mine.n_kernels, mine.alignment) == (other.n_kernels, other.alignment)
        assert_allclose(mine.kernel(X), other.kernel(X / LENGTHS), atol=1e-12)


def test_ard_families_are_searched_over_one_width_without_a_penalty() -> None:
    X, y = table(3)
    fit = ContinuousAlignment(Gaussian(ard=True), width_penalty="auto", scaling=LENGTHS).fit(X, y)
    plain = ContinuousAlignment(scaling=LENGTHS).fit(X, y)
    assert_allclose(fit.kernel_(X), plain.kernel_(X), atol=1e-9)
    assert fit.selected_params() == {"width_penalty": 0.0}


def test_scaling_of_sparse_tables_and_of_one_feature() -> None:
    X, y = table(4)
    X = X * (X > 0.0)
    dense = ContinuousAlignment(scaling=LENGTHS).fit(X, y)
    sparse = ContinuousAlignment(scaling=LENGTHS).fit(sp.csr_array(X), y)
    assert_allclose(sparse.kernel_(X), dense.kernel_(X), atol=1e-8)
    one = ContinuousAlignment(scaling=[2.0]).fit(X[:, :1], y)
    plain = ContinuousAlignment().fit(X[:, :1] / 2.0, y)
    assert_allclose(one.kernel_(X[:, :1]), plain.kernel_(X[:, :1] / 2.0), atol=1e-9)


# --- learned lengths ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scaler",
    [
        ard_learner("hsic", RationalQuadratic(ard=True), width_penalty=0.1),
        ard_learner(early_stopping=2),
        KernelOptimization(),
    ],
)
def test_lengths_are_the_widths_that_a_learner_finds(scaler: KernelOptimization) -> None:
    X, y = table(5)
    fit = ContinuousAlignment(scaling=scaler).fit(X, y)
    alone = clone(scaler).fit(X, y)
    assert_allclose(fit.scaling_, widths(alone) + np.zeros(3), rtol=1e-12)
    given = ContinuousAlignment(scaling=fit.scaling_).fit(X, y)
    assert fit.kernel_ == given.kernel_
    assert not hasattr(scaler, "kernel_")
    assert not hasattr(given, "scaler_")


def test_scaler_has_the_same_output_kernel() -> None:
    X, y = table(7)
    y = y + 2 * (X[:, 1] > 0.0)
    similarities = np.array([[1.0, 0.9, 0, 0], [0.9, 1, 0, 0], [0, 0, 1, 0.9], [0, 0, 0.9, 1]])
    fit = ContinuousAlignment(scaling=ard_learner(width_penalty=0.1), output_kernel=similarities)
    alone = ard_learner(width_penalty=0.1, output_kernel=similarities).fit(X, y)
    assert_allclose(fit.fit(X, y).scaling_, widths(alone), rtol=1e-12)
    assert fit.scaling_.argmin() == 1


def test_the_scaler_repeats_what_it_selected() -> None:
    X, y = table(1)
    learner = ContinuousAlignment(scaling=ard_learner())
    chosen = learner.fit(X, y)
    selected = chosen.selected_params()
    assert selected["scaling"].width_penalty == chosen.scaler_.width_penalty_ != "auto"
    assert learner.scaling.width_penalty == "auto"
    again = clone(learner).set_params(**selected).fit(X, y)
    assert again.kernel_ == chosen.kernel_


# --- validation --------------------------------------------------------------------------------

_FAMILY = "scaling needs families of one width, or one for each feature, such as Gaussian"
_LEARNER = r"scaling must learn one kernel with a width for each feature, as KernelOptimization\("
_LENGTHS = "scaling must be a learner, or a positive and finite length for each feature; got"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scaling": [1.0, 2.0]}, r"one length for each of the 3 features; got shape \(2,\)"),
        ({"scaling": [1.0, 2.0, 0.0]}, _LENGTHS),
        ({"scaling": "auto"}, _LENGTHS),
        ({"scaling": UniformCombination()}, _LEARNER),
        ({"scaling": KernelOptimization(OnColumns(Gaussian(ard=True), [0, 1]))}, _LEARNER),
        ({"scaling": ard_learner(width_penalty="x")}, "width_penalty must be a number"),
        ({"scaling": LENGTHS, "family": Dirichlet()}, _FAMILY),
        ({"scaling": LENGTHS, "family": [Gaussian(), "linear"]}, _FAMILY),
    ],
)
def test_settings_are_refused_before_any_work(
    settings: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_work(*_: Any) -> None:
        raise AssertionError("Parameters must be validated before anything is learned.")

    monkeypatch.setattr("mercer._estimators.learners.kernel_optimization.optimize_kernel", no_work)
    monkeypatch.setattr("mercer._estimators.learners.continuous_alignment.learn_scaled", no_work)
    X, y = table()
    with pytest.raises((TypeError, ValueError), match=message):
        ContinuousAlignment(**settings).fit(X, y)
