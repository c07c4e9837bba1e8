"""Fits with sums in single precision, against those in double precision."""

from typing import Any

import numpy as np
import pytest

from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import encode_target
from mercer._data.types import Array
from mercer._data.weights import UnitWeights, as_weights
from mercer._nystroem import single_precision
from mercer._nystroem.features import center_spectrum, choose_centers
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer._nystroem.single_precision import SinglePrecision
from mercer.kernels import Gaussian, Kernel, Laplacian, WeightedSum

RNG = np.random.default_rng(0)
N_ROWS, N_NEW = 3000, 500
X = RNG.uniform(-1.7, 1.7, size=(N_ROWS + N_NEW, 10))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=len(X))
CLASSES = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.7])]
PAIRS = np.repeat(X, 2, axis=0)[: len(X)] + 1e-4 * RNG.normal(size=X.shape)
WIDE = Gaussian(20.0)
KERNELS = [WIDE, Gaussian(40.0), WeightedSum([Gaussian(15.0), Gaussian(50.0)], [1.0, 30.0])]


def fitted(
    y: Array,
    rows: int,
    *,
    table: Array = X,
    kernel: Kernel = WIDE,
    weights: Array | None = None,
    alphas: Array | None = None,
    **settings: Any,
) -> NystroemModel:
    """The fit, with single precision from a number of rows on."""
    table, y = table[:N_ROWS], y[:N_ROWS]
    encoding = encode_target(y, classification=y.dtype.kind == "U").encoding
    given, everywhere = as_weights(weights, N_ROWS), np.arange(N_ROWS)
    source = block_source(table, y)
    data = DrawnSample(table, y, given, source=source, positions=everywhere, all_weights=given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(single_precision, "FEWEST_ROWS", rows)
        return fit_nystroem(kernel, data, encoding, n_components=120, alphas=alphas, **settings)


def both(y: Array, **settings: Any) -> tuple[NystroemModel, NystroemModel]:
    """The fits that may use single precision, and that do not."""
    return fitted(y, 0, **settings), fitted(y, N_ROWS + 1, **settings)


def in_single(first: NystroemModel, second: NystroemModel) -> bool:
    """Whether the first fit differs from that in double precision."""
    return not np.array_equal(first.choice.fit.coefficients, second.choice.fit.coefficients)


class TestFeatures:
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_they_are_the_kernel_times_the_whitening(self, kernel: Kernel) -> None:
        """Up to errors of the size that is stated."""
        spectrum = center_spectrum(kernel, choose_centers(X, 120))
        single = SinglePrecision(spectrum, UnitWeights(N_ROWS))
        found = single.features.transform(X)
        assert found.dtype == np.float32
        errors = found - spectrum.columns(X) @ single.features.whitening
        stated = single._error / np.sqrt(120 * single._shares)
        assert np.sqrt(np.mean(np.square(errors))) < 2.0 * np.sqrt(np.mean(stated**2))

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_inner_products_are_those_in_double_precision(self, kernel: Kernel) -> None:
        spectrum = center_spectrum(kernel, choose_centers(X, 120))
        whitening = SinglePrecision(spectrum, UnitWeights(N_ROWS)).features.whitening
        unit = (spectrum.vectors / spectrum.values) @ spectrum.vectors.T
        expected = unit / spectrum.scale**2
        close = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(whitening @ whitening.T, expected, atol=close)


class TestFits:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("weights", [None, RNG.uniform(0.01, 3.0, N_ROWS)])
    def test_predictions_and_errors_agree(self, kernel: Kernel, weights: Array | None) -> None:
        found, expected = both(Y, kernel=kernel, weights=weights)
        assert in_single(found, expected)
        assert found.choice.alpha == expected.choice.alpha
        np.testing.assert_allclose(found.choice.losses, expected.choice.losses, rtol=1e-4)
        difference = found.predict(X[N_ROWS:]) - expected.predict(X[N_ROWS:])
        assert np.sqrt(np.mean(difference**2)) < 1e-4 * Y.std()

    @pytest.mark.parametrize(("width", "alpha"), [(40.0, 1e-4), (300.0, 1e-5)])
    def test_errors_are_about_as_large_as_stated(self, width: float, alpha: float) -> None:
        kernel, alphas = Gaussian(width), np.array([alpha])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(single_precision, "_MOST_ROUNDING", np.inf)
            found, expected = both(Y, kernel=kernel, alphas=alphas)
        spectrum = center_spectrum(kernel, found.columns.centers)
        stated = SinglePrecision(spectrum, UnitWeights(N_ROWS)).rounding(alpha)
        residual = (Y - expected.predict(X)).std()
        difference = np.std(found.predict(X) - expected.predict(X)) / residual
        assert stated / 4.0 < difference < 2.0 * stated

    def test_three_classes(self) -> None:
        found, expected = both(CLASSES)
        assert in_single(found, expected)
        probabilities = found.predict_proba(X[N_ROWS:]) - expected.predict_proba(X[N_ROWS:])
        assert np.abs(probabilities).max() < 1e-4

    def test_columns_with_a_large_offset(self) -> None:
        moved = both(Y, table=X + 1e8)
        assert in_single(*moved)
        found, expected = (model.predict(X[N_ROWS:] + 1e8) for model in moved)
        assert np.abs(found - expected).max() < 1e-4 * Y.std()

    def test_repeated_rows_and_one_far_outside(self) -> None:
        table = X.copy()
        table[1000:2000], table[5] = table[:1000], 1e9
        y = Y.copy()
        y[1000:2000] = y[:1000]
        found, expected = both(y, table=table)
        assert in_single(found, expected)
        difference = found.predict(X[N_ROWS:]) - expected.predict(X[N_ROWS:])
        assert np.abs(difference).max() < 1e-4 * Y.std()

    def test_a_constant_response(self) -> None:
        found, _ = both(np.full(len(X), 3.0))
        np.testing.assert_allclose(found.predict(X[N_ROWS:]), 3.0)


class TestRule:
    """Where rounding matters, all is as in double precision."""

    @pytest.mark.parametrize(
        "settings",
        [
            {"kernel": Laplacian(2.0)},  # Rows need not be whitened.
            {"kernel": Gaussian(3.0), "table": PAIRS},
            {"kernel": Gaussian(300.0), "alphas": np.array([1e-9, 1.0])},
            {"weights": np.geomspace(1e-9, 1.0, N_ROWS)},
        ],
        ids=["well conditioned", "nearly equal centers", "penalty", "weights"],
    )
    def test_hard_problems(self, settings: dict[str, Any]) -> None:
        assert not in_single(*both(Y, **settings))

    def test_targets_without_noise(self) -> None:
        assert not in_single(*both(np.sin(0.5 * X[:, 0]) + X[:, 1]))
