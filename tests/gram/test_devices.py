"""Kernels, factors and searches on a device give what they give in memory."""

import builtins
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from device_cases import LIBRARIES, Counted, as_card, device_in_memory

from mercer._data.arrays import to_numpy
from mercer._gram import devices, factors
from mercer._gram.devices import (
    computed_on,
    computing_on,
    current_device,
    device_named,
    device_with_room,
)
from mercer._gram.factors import definite_factor, inverted, symmetric_eigen
from mercer._gram.symmetric import UpperTriangle, WholeMatrix
from mercer._nystroem.all_pairs import paired_gram
from mercer._nystroem.features import values_on_device
from mercer._search.evidence_search import marginal_likelihood_widths
from mercer.kernels import (
    Categorical,
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Missing,
    OnColumns,
    OnProjection,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Tanimoto,
    WeightedSum,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
X[7] = X[3]
WIDTHS = np.array([1.0, 2.0, 3.0, 0.5])

ON_ARRAYS = [
    Gaussian(2.0),
    Gaussian(WIDTHS),
    Laplacian(WIDTHS),
    Laplacian(3.0, norm=1.0),
    ExponentialPower(WIDTHS, power=0.7, norm=1.3),
    Matern(2.0, nu=0.5),
    Matern(WIDTHS, nu=1.5),
    Matern(2.0, nu=2.5),
    RationalQuadratic(WIDTHS, alpha=0.4),
    Linear(),
    Polynomial(3, gamma=0.5),
    Gaussian(2.0) * Linear(),
    WeightedSum([Gaussian(WIDTHS), Linear(), Laplacian(2.0, norm=1.0)], [0.5, 0.0, 1.0]),
    OnColumns(Gaussian(1.0), [2, 0]),
    OnProjection(Gaussian(1.0), RNG.normal(size=(4, 2))),
]
IN_MEMORY = [
    Dirichlet(1.0),
    Categorical(1.0),
    Periodic(1.0),
    Missing(Gaussian(1.0)),
    Tanimoto(),
    ExponentialPower(WIDTHS, power_bounds=(0.5, 1.0)),
    Gaussian(2.0) + Periodic(1.0),
]


def described(kernel):
    return kernel.describe()


@pytest.fixture(params=LIBRARIES)
def device(request):
    return device_in_memory(request.param)


@pytest.mark.parametrize("kernel", ON_ARRAYS, ids=described)
def test_kernels_are_evaluated_on_arrays_of_other_libraries(kernel, device):
    assert kernel.accepts_array_api
    table = device.put(X)
    found = kernel._shifted(table, table[:50, :])
    assert not isinstance(found, np.ndarray)
    # Distances of equal rows are zero only up to rounding.
    np.testing.assert_allclose(to_numpy(found), kernel._shifted(X, X[:50]), atol=1e-7)


@pytest.mark.parametrize("kernel", IN_MEMORY, ids=described)
def test_other_kernels_are_evaluated_in_memory(kernel, device):
    assert not kernel.accepts_array_api
    table = np.abs(X)
    found = to_numpy(values_on_device(kernel, table, device)(slice(20, 90)))
    np.testing.assert_allclose(found, kernel._shifted(table[20:90], table), atol=1e-12)
    found = to_numpy(values_on_device(kernel, table, device, table[:30])(slice(20, 90)))
    np.testing.assert_allclose(found, kernel._shifted(table[20:90], table[:30]), atol=1e-12)


@pytest.mark.parametrize("kernel", [k for k in ON_ARRAYS if k._pairs(X) is not None], ids=described)
def test_gradients_are_contracted_on_a_device(kernel, device):
    everything, P = slice(0, len(X)), RNG.normal(size=(len(X), len(X)))
    values, gradient = kernel._gram_tiles(kernel._pairs(X))(everything, everything, None)
    pairs = kernel._pairs(device.put(X))
    there, gradient_there = kernel._gram_tiles(pairs)(everything, everything, None)
    np.testing.assert_allclose(to_numpy(there), values, atol=1e-7)
    np.testing.assert_allclose(gradient_there(device.put(P)), gradient(P), rtol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
def test_factors_are_computed_on_a_device(library):
    system = X @ X.T + np.diag(RNG.uniform(1.0, 2.0, len(X)))
    factor, (values, vectors) = definite_factor(system.copy()), symmetric_eigen(system.copy())
    inverse = inverted(factor)
    with as_card(library) as card, computing_on(card):
        np.testing.assert_allclose(np.tril(definite_factor(system.copy())), np.tril(factor))
        np.testing.assert_allclose(inverted(factor), inverse, atol=1e-12)
        found, there = symmetric_eigen(system.copy())
        with pytest.raises(ValueError, match="not positive"):
            definite_factor(system - 3.0 * np.eye(len(X)))
    assert card.n_arrays == 4
    np.testing.assert_allclose(found, values, atol=1e-12)
    np.testing.assert_allclose(there @ np.diag(found) @ there.T, system, atol=1e-10)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, system, atol=1e-10)


def test_small_factors_are_computed_in_memory():
    with as_card("array_api_strict", least_rows=len(X) + 1) as card, computing_on(card):
        definite_factor(np.eye(len(X)))
        assert not card.n_arrays
        definite_factor(np.eye(len(X) + 1))
        assert card.n_arrays == 1


@pytest.mark.parametrize("kernel", [ON_ARRAYS[1], ON_ARRAYS[12], IN_MEMORY[-1]], ids=described)
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_paired_gram_matrix_is_the_one_in_memory(kernel, library):
    shares = RNG.uniform(size=len(X))
    shares /= shares.sum()
    expected = paired_gram(kernel, X, shares)
    with as_card(library) as card, computing_on(card):
        found = paired_gram(kernel, X, shares)
    assert isinstance(expected.values, UpperTriangle)
    assert isinstance(found.values, WholeMatrix)
    everything = expected.values.rows(np.arange(len(X)))
    np.testing.assert_allclose(to_numpy(found.values.values), everything, atol=2e-6)
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-5)
    assert found.scale == pytest.approx(expected.scale, rel=1e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("library", LIBRARIES)
def test_constant_and_infinite_kernels(library):
    shares = np.full(len(X), 1.0 / len(X))
    with as_card(library) as card, computing_on(card):
        found = paired_gram(Gaussian(2.0), np.ones_like(X), shares)
        assert found.scale == np.inf
        np.testing.assert_allclose(to_numpy(found.values.values), 1.0)
        with pytest.raises(ValueError, match="NaN or infinity"):
            paired_gram(Polynomial(9, gamma=1e30), X, shares)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(ard=True),
        WeightedSum([ExponentialPower(ard=True), Gaussian(ard=True)], np.ones(2)),
    ],
    ids=["one", "sum"],
)
@pytest.mark.parametrize("library", LIBRARIES)
def test_widths_are_those_learned_in_memory(kernel, library):
    Y = (np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=len(X)))[:, None]
    expected = marginal_likelihood_widths(kernel, X, Y)
    with as_card(library) as card, computing_on(card):
        found = marginal_likelihood_widths(kernel, X, Y)
    assert card.n_arrays > 10
    assert found.log_marginal_likelihood == pytest.approx(expected.log_marginal_likelihood)
    np.testing.assert_allclose(found.kernel.theta, expected.kernel.theta, atol=1e-3)


def test_kernels_that_a_device_does_not_evaluate_are_learned_in_memory():
    Y = X[:, :1]
    with as_card("array_api_strict") as card, computing_on(card):
        marginal_likelihood_widths(Periodic(ard=True), X, Y, max_iter=2)
    # Factors of the subsamples, whose kernels are in memory, are computed on the device.
    with as_card("array_api_strict", least_rows=1000) as card, computing_on(card):
        marginal_likelihood_widths(Periodic(ard=True), X, Y, max_iter=2)
    assert not card.n_arrays


def test_memory_is_asked_before_work():
    with as_card("array_api_strict", free=1e5) as card, computing_on(card):
        assert device_with_room(8e4, "a small matrix") is card
        with pytest.warns(UserWarning, match=r"98 KiB|0.10 MiB.*a large matrix.*processor"):
            assert device_with_room(1.2e5, "a large matrix") is None
    assert current_device() is None
    assert device_with_room(1e30, "no device") is None
    shares = np.full(len(X), 1.0 / len(X))
    warns = pytest.warns(UserWarning, match="the kernel between 120 rows")
    with as_card("array_api_strict", free=5e4) as card, computing_on(card), warns:
        found = paired_gram(Gaussian(2.0), X, shares)
    assert isinstance(found.values, UpperTriangle)
    assert not card.n_arrays


class OutOfMemoryError(RuntimeError):
    """Named like the error of PyTorch."""


@pytest.mark.parametrize("error", [OutOfMemoryError("full"), RuntimeError("CUBLAS_ALLOC_FAILED")])
def test_a_fit_goes_on_in_memory_if_the_card_is_full(error):
    calls = []

    def fit():
        calls.append(current_device())
        if current_device() is not None:
            raise error
        return 3

    with as_card("array_api_strict") as card, pytest.warns(UserWarning, match="used up"):
        assert computed_on(card, fit) == 3
    assert calls == [card, None]


def test_products_on_a_card_keep_all_digits_of_single_precision():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.set_float32_matmul_precision("high")
    try:
        with as_card("torch") as card:
            assert computed_on(card, torch.get_float32_matmul_precision) == "highest"
            with pytest.raises(ZeroDivisionError):
                computed_on(card, lambda: 1 / 0)
            # Of two fits, the one that began first ends first.
            first, second = card.in_full_precision(), card.in_full_precision()
            first.__enter__()
            second.__enter__()
            first.__exit__(None, None, None)
            assert torch.get_float32_matmul_precision() == "highest"
            second.__exit__(None, None, None)
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_fit_frees_its_memory(error, monkeypatch):
    released, array = [], SimpleNamespace()
    monkeypatch.setattr(Counted, "release", lambda self: released.append(self) or None)

    def inner(held):
        raise error

    def fit():
        inner(array)

    with as_card("array_api_strict") as card, pytest.raises(error) as caught:
        computed_on(card, fit)
    assert released == [card]
    frames = [entry.frame.f_locals for entry in caught.traceback]
    assert not any("held" in held for held in frames)


def test_each_thread_has_its_own_device():
    with as_card("array_api_strict") as card:
        barrier = threading.Barrier(2)

        def inside(device):
            with computing_on(device):
                barrier.wait()
                return current_device()

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(inside, [card, None])) == [card, None]


def test_names_of_devices(monkeypatch):
    assert device_named("cpu") is None
    with pytest.raises(ValueError, match=r"device must be one of|'device'"):
        device_named("gpu")
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    assert device_named("auto") is None
    with pytest.raises(ImportError, match=r'pip install "mercer\[gpu\]"'):
        device_named("cuda")
    without_driver = SimpleNamespace(
        __version__="2.0", cuda=SimpleNamespace(is_available=lambda: False)
    )
    monkeypatch.setattr(devices, "find_spec", lambda name: True)
    monkeypatch.setitem(sys.modules, "torch", without_driver)
    assert device_named("auto") is None
    with pytest.raises(ValueError, match=r'finds no card.*device="auto"'):
        device_named("cuda")


def test_the_processor_imports_no_library(monkeypatch):
    real = builtins.__import__

    def refused(name, *args, **kwargs):
        assert name != "torch"
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refused)
    assert device_named("cpu") is None
    assert factors.LEAST_ROWS > 0
