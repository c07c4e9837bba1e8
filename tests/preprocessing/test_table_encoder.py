"""Encoding of tables of mixed types."""

from __future__ import annotations

import numpy as np

from mercer.preprocessing import table_encoder


def test_an_array_of_mixed_types_is_encoded() -> None:
    X = np.array([[1.0, "a"], [np.nan, "b"], [3.0, None], [2.0, "a"]], dtype=object)
    encoder = table_encoder().fit(X)
    names = ["x0", "missingindicator_x0", "x1_a", "x1_b", "x1_nan"]
    assert encoder.get_feature_names_out().tolist() == names
    encoded = encoder.transform(X)
    assert encoded[1, 0] == np.median(encoded[[0, 2, 3], 0])
    np.testing.assert_array_equal(encoded[:, 1], [0, 1, 0, 0])
    np.testing.assert_array_equal(encoded[:, 2:], np.eye(3)[[0, 1, 2, 0]])
