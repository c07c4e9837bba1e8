"""Encodings of responses and labels, and the means of all other samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer._data.sample import encode_target
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


@pytest.mark.parametrize("size", [1e-300, 1e12, 1e307])
def test_extreme_responses_are_finite(size: float) -> None:
    y = np.r_[np.arange(17.0), size]
    target = encode_target(y, classification=False)
    found = leave_one_out(to_unit_scale(Gaussian()(table()))[0], target.values)
    assert np.isfinite(found.losses).all()
    assert np.isfinite(target.decode(found.predictions)).all()


def test_labels_are_indicators_and_back() -> None:
    labels = np.array(["no", "yes", "no", "maybe"])
    target = encode_target(labels, classification=True)
    assert target.classes is not None
    assert_array_equal(target.classes, ["maybe", "no", "yes"])
    assert_array_equal(target.values.sum(axis=1), 1.0)
    assert_array_equal(target.decode(target.values), labels)
    part = target.take(np.array([3, 1]))
    assert_array_equal(part.decode(part.values), ["maybe", "yes"])


class TestEncodingOfResponses:
    def test_values_are_those_of_the_whole_table(self) -> None:
        y = np.random.default_rng(0).normal(5.0, 3.0, size=(20, 2))
        encoding = encode_target(y, classification=False).encoding
        parts = np.vstack([encoding.encode(y[:7]), encoding.encode(y[7:])])
        np.testing.assert_allclose(parts, encode_target(y, classification=False).values)

    def test_a_constant_response_stays(self) -> None:
        encoding = encode_target(np.full(4, 3.0), classification=False).encoding
        np.testing.assert_array_equal(encoding.decode(encoding.encode(np.full(4, 3.0))), 3.0)


class TestEncodingOfClasses:
    @pytest.mark.parametrize("labels", [["b", "a", "c", "a"], [3, -1, 7, -1], [True, False]])
    def test_decoding_returns_labels(self, labels: list[object]) -> None:
        y = np.array(labels)
        encoding = encode_target(y, classification=True).encoding
        np.testing.assert_array_equal(encoding.decode(encoding.encode(y)), y)
        assert encoding.encode(y).sum(axis=1).tolist() == [1.0] * len(y)

    def test_an_unknown_label_is_refused(self) -> None:
        encoding = encode_target(["a", "c"], classification=True).encoding
        with pytest.raises(ValueError, match=r"none of the classes: .*'b'"):
            encoding.encode(np.array(["a", "b"]))
        with pytest.raises(ValueError, match=r"none of the classes: .*'d'"):
            encoding.encode(np.array(["d"]))
