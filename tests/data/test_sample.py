"""Encodings of responses and labels, weights, and the means of all other samples."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer._data.encoded_targets import encode_target
from mercer._data.weights import SampleWeights
from mercer._gram.dense import to_unit_scale
from mercer._solvers.left_out import leave_one_out
from mercer.kernels import Gaussian


def table(n: int = 18, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def test_left_out_means_are_those_of_all_other_samples() -> None:
    y = table(12, 1)[:, 0]
    weights = np.random.default_rng(3).uniform(0.1, 3.0, 12)
    for own in (None, weights):
        target = encode_target(y, classification=False, weights=own)
        for i in range(12):
            rest = np.arange(12) != i
            w = None if own is None else own[rest]
            expected = np.average(target.values[rest], weights=w, axis=0)
            assert_allclose(target.left_out_means[i], expected, atol=1e-12)


def test_responses_are_standardized_and_back() -> None:
    y = table(18, 2) * [1.0, 1e9] + [5.0, -1e9]
    target = encode_target(y, classification=False)
    assert_allclose(target.values.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(target.values.std(axis=0), 1.0)
    assert_allclose(target.decode(target.values), y, rtol=1e-12)
    assert_allclose(target.encoding.encode(y[7:]), target.values[7:])
    constant = encode_target(np.full(4, 3.0), classification=False).encoding
    assert_array_equal(constant.decode(constant.encode(np.full(4, 3.0))), 3.0)


@pytest.mark.parametrize("size", [1e-300, 1e12, 1e307])
def test_extreme_responses_are_finite(size: float) -> None:
    y = np.r_[np.arange(17.0), size]
    target = encode_target(y, classification=False)
    found = leave_one_out(to_unit_scale(Gaussian()(table()))[0], target.values)
    assert np.isfinite(found.losses).all()
    assert np.isfinite(target.decode(found.predictions)).all()


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_drawn_in_exact_proportion_to_their_weights(seed: int) -> None:
    # Some steps along the cumulative weights end exactly with a row, which rounding must not move.
    weights = np.random.default_rng(seed).integers(1, 8, size=3 + seed % 6)
    total, ends = int(weights.sum()), np.cumsum(weights).tolist()
    for n_rows in (len(weights), 2 * len(weights)):
        steps = [Fraction((2 * k + 1) * total, 2 * n_rows) for k in range(n_rows)]
        expected = [next(i for i, end in enumerate(ends) if end >= step) for step in steps]
        found = SampleWeights(weights.astype(float)).proportional_rows(n_rows)
        assert_array_equal(found, expected)


def test_labels_that_are_none_of_the_classes_are_refused() -> None:
    encoding = encode_target(["a", "c"], classification=True).encoding
    with pytest.raises(ValueError, match="previously unseen labels"):
        encoding.encode(np.array(["a", "b"]))
