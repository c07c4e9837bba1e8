"""Fits to arrays of other libraries than NumPy, which stay in their library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer._blocks import block_source, sample_blocks
from mercer._nystroem import falkon
from mercer._nystroem.array_libraries import is_foreign, to_numpy
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer._nystroem.target_encoding import TargetEncoding
from mercer.kernels import ExponentialPower, Gaussian, Kernel, Laplacian, Matern, WeightedSum

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(300, 2))
Y = 10.0 + 5.0 * np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=300)
CODES = np.digitize(Y, [8.0, 12.0])


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request: pytest.FixtureRequest) -> Any:
    """A library, and the namespace of its arrays."""
    found = pytest.importorskip(request.param)
    pytest.importorskip("array_api_compat")
    return found


def fitted(X: Any, y: Any, encoding: TargetEncoding, kernel: Kernel) -> NystroemModel:
    source = block_source(X, y, block_rows=70)
    sample, _ = sample_blocks(source, 200, 0)
    return fit_nystroem(kernel, source, encoding, sample, n_components=40)


KERNELS = [
    Gaussian(1.5),
    Gaussian(5.0),
    WeightedSum([Laplacian(np.array([1.0, 3.0]), ard=True), ExponentialPower(2.0)], [1.0, 0.5]),
]


@pytest.mark.parametrize("kernel", KERNELS)
class TestFit:
    def test_responses(self, library: Any, kernel: Kernel) -> None:
        own = fitted(X, Y, TargetEncoding.of_responses(Y), kernel)
        there, y = library.asarray(X), library.asarray(Y)
        model = fitted(there, y, TargetEncoding.of_responses(y), kernel)
        found = model.predict(there)
        assert type(found) is type(there)
        np.testing.assert_allclose(to_numpy(found), own.predict(X), rtol=1e-5)

    def test_classes(self, library: Any, kernel: Kernel) -> None:
        own = fitted(X, CODES, TargetEncoding.of_classes(CODES), kernel)
        there, y = library.asarray(X), library.asarray(CODES)
        model = fitted(there, y, TargetEncoding.of_classes(y), kernel)
        probabilities = model.predict_proba(there)
        assert type(probabilities) is type(there)
        np.testing.assert_allclose(to_numpy(probabilities), own.predict_proba(X), atol=1e-4)
        np.testing.assert_array_equal(to_numpy(model.predict(there)), own.predict(X))

    def test_conjugate_gradients(
        self, library: Any, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mercer._nystroem.second_stage.MOST_DIRECT", 30)
        monkeypatch.setattr(falkon, "_FEW", 20)
        encoding = TargetEncoding.of_responses(Y)
        own = fitted(X, Y, encoding, kernel)
        model = fitted(library.asarray(X), library.asarray(Y), encoding, kernel)
        assert not is_foreign(model.choice.fit.coefficients)
        np.testing.assert_allclose(model.predict(X), own.predict(X), atol=1e-4 * Y.std())


def test_single_precision(library: Any) -> None:
    kernel, encoding = Gaussian(1.5), TargetEncoding.of_responses(Y)
    there = library.asarray(X.astype(np.float32))
    model = fitted(there, library.asarray(Y), encoding, kernel)
    expected = fitted(X, Y, encoding, kernel).predict(X)
    np.testing.assert_allclose(to_numpy(model.predict(there)), expected, atol=0.01)


def test_other_kernels_are_refused(library: Any) -> None:
    encoding = TargetEncoding.of_responses(Y)
    with pytest.raises(ValueError, match="evaluated on arrays of NumPy only"):
        fitted(library.asarray(X), library.asarray(Y), encoding, Matern(1.0))
