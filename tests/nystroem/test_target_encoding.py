"""Targets whose rows arrive in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._model_selection.encoded_target import encode_target
from mercer._nystroem.target_encoding import TargetEncoding


class TestResponses:
    def test_values_are_those_of_the_whole_table(self) -> None:
        y = np.random.default_rng(0).normal(5.0, 3.0, size=(20, 2))
        encoding = TargetEncoding.of_responses(y)
        parts = np.vstack([encoding.encode(y[:7]), encoding.encode(y[7:])])
        np.testing.assert_allclose(parts, encode_target(y, classification=False).values)

    @pytest.mark.parametrize("shape", [(9,), (9, 1), (9, 2)])
    def test_decoding_returns_responses(self, shape: tuple[int, ...]) -> None:
        y = np.random.default_rng(1).normal(size=shape)
        encoding = TargetEncoding.of_responses(y)
        np.testing.assert_allclose(encoding.decode(encoding.encode(y)), y)

    def test_a_constant_response_stays(self) -> None:
        encoding = TargetEncoding.of_responses(np.full(4, 3.0))
        np.testing.assert_array_equal(encoding.decode(encoding.encode(np.full(4, 3.0))), 3.0)


class TestClasses:
    @pytest.mark.parametrize("labels", [["b", "a", "c", "a"], [3, -1, 7, -1], [True, False]])
    def test_decoding_returns_labels(self, labels: list[object]) -> None:
        y = np.array(labels)
        encoding = TargetEncoding.of_classes(y)
        np.testing.assert_array_equal(encoding.decode(encoding.encode(y)), y)
        assert encoding.encode(y).sum(axis=1).tolist() == [1.0] * len(y)

    def test_an_unknown_label_is_refused(self) -> None:
        encoding = TargetEncoding.of_classes(["a", "c"])
        with pytest.raises(ValueError, match=r"none of the classes: .*'b'"):
            encoding.encode(np.array(["a", "b"]))
        with pytest.raises(ValueError, match=r"none of the classes: .*'d'"):
            encoding.encode(np.array(["d"]))
