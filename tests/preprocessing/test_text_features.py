"""Encoding of free text."""

from __future__ import annotations

import numpy as np

from mercer.preprocessing._text_features import TextFeatures


def texts(*cells: str | None) -> np.ndarray:
    return np.array(cells, dtype=object)[:, None]


def test_texts_that_share_words_are_similar() -> None:
    X = texts("red house", "a red car", "blue boat", "the blue sea")
    features = TextFeatures(n_components=3).fit_transform(X)
    products = features @ features.T
    assert products[0, 1] > 2 * products[0, 2]
    assert products[2, 3] > 2 * products[0, 3]


def test_the_total_variance_is_one() -> None:
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(["alpha", "beta", "gamma", "delta"], 5)) for _ in range(50)]
    features = TextFeatures().fit_transform(texts(*words))
    np.testing.assert_allclose(features.var(axis=0).sum(), 1.0)


def test_missing_text_is_empty_and_text_without_words_has_no_features() -> None:
    encoder = TextFeatures().fit(texts("one word", "two words", None))
    np.testing.assert_array_equal(encoder.transform(texts(None, "")), 0.0)
    assert TextFeatures().fit_transform(texts("", " ", None)).shape == (3, 0)
    assert list(encoder.get_feature_names_out(["c"])[:2]) == ["c_text_0", "c_text_1"]
