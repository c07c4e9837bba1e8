"""Kernels of fingerprints, strings and objects of any kind."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import Linear, Lookup, OnColumns, Spectrum, Tanimoto
from mercer.preprocessing import LetterCodes


def counts() -> st.SearchStrategy[np.ndarray]:
    entries = st.sampled_from([0.0, 0.0, 1.0, 3.0]) | st.floats(0, 4, allow_subnormal=False)
    return arrays(np.float64, st.tuples(st.integers(1, 7), st.just(4)), elements=entries)


class TestTanimoto:
    @given(X=counts(), Z=counts())
    def test_both_forms_are_their_formulas(self, X: np.ndarray, Z: np.ndarray) -> None:
        low = np.minimum(X[:, None], Z).sum(axis=2)
        high = np.maximum(X[:, None], Z).sum(axis=2)
        expected = np.where(high > 0, low / np.where(high > 0, high, 1.0), 1.0)
        assert_allclose(Tanimoto()(X, Z), expected, atol=1e-12)
        assert_allclose(Tanimoto()(sp.csr_array(X), sp.csr_array(Z)), expected, atol=1e-12)
        inner = X @ Z.T
        union = np.sum(X**2, axis=1)[:, None] + np.sum(Z**2, axis=1) - inner
        expected = np.where(union > 0, inner / np.where(union > 0, union, 1.0), 1.0)
        assert_allclose(Tanimoto("inner")(X, Z), expected, atol=1e-12)
        assert_allclose(Tanimoto("inner")(sp.csr_array(X), sp.csr_array(Z)), expected, atol=1e-12)

    def test_negative_values_are_refused(self) -> None:
        for X in (np.array([[1.0, -1.0]]), sp.csr_array([[1.0, -1.0]])):
            with pytest.raises(ValueError, match="Negative values in data passed to Tanimoto"):
                Tanimoto()(abs(X), X)


ALPHABET = LetterCodes().fit_transform(["ABC"])[0]

STRINGS = st.lists(st.text("ABC", min_size=1, max_size=9), min_size=1, max_size=6)

KERNELS_OF_STRINGS = st.tuples(
    st.sampled_from([(1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (3, 2)]), st.booleans(), st.booleans()
).map(
    lambda drawn: Spectrum(
        drawn[0][0],
        mismatches=drawn[0][1],
        positions=drawn[1],
        normalize=drawn[2],
        letters=ALPHABET,
    )
)


def counted(string: str, kernel: Spectrum) -> Counter[object]:
    """Substrings that differ from one of a string in few letters, and how often."""
    found: Counter[object] = Counter()
    for start in range(len(string) - kernel.length + 1):
        word = string[start : start + kernel.length]
        near = {word}
        for where in combinations(range(kernel.length), kernel.mismatches):
            for letters in product("ABC", repeat=kernel.mismatches):
                changed = list(word)
                for place, letter in zip(where, letters, strict=True):
                    changed[place] = letter
                near.add("".join(changed))
        found.update((start, other) if kernel.positions else other for other in near)
    return found


class TestSpectrum:
    @given(strings=STRINGS, others=STRINGS, kernel=KERNELS_OF_STRINGS)
    def test_it_is_the_inner_product_of_counts(
        self, strings: list[str], others: list[str], kernel: Spectrum
    ) -> None:
        n, every = len(strings), [counted(string, kernel) for string in [*strings, *others]]
        words = list({word: None for found in every for word in found})
        table = np.array([[found[word] for word in words] for found in every], dtype=float)
        table = table.reshape(len(every), len(words))
        if kernel.normalize:
            norms = np.linalg.norm(table, axis=1, keepdims=True)
            table /= np.where(norms > 0.0, norms, 1.0)
        codes = LetterCodes(length=9).fit_transform([*strings, *others])
        assert_allclose(kernel(codes[:n], codes[n:]), table[:n] @ table[n:].T, atol=1e-9)
        assert_allclose(kernel.diag(codes), np.sum(table**2, axis=1), atol=1e-9)
        features = kernel.features(codes)
        assert_allclose((features @ features.T).toarray(), table @ table.T, atol=1e-9)
        same, evaluated = kernel._evaluated_on(codes)
        assert isinstance(same, Linear)
        assert_allclose(same(evaluated), table @ table.T, atol=1e-9)

    def test_the_alphabet_is_read_off_the_table_with_mismatches(self) -> None:
        codes = LetterCodes().fit_transform(["ACGT", "CCGA"])
        bound = Spectrum(2, mismatches=1).bind(codes)
        assert_array_equal(bound.letters, np.unique(codes))
        assert Spectrum(2).bind(codes) == Spectrum(2)
        # Each of two letters may be one of three others: 1 + 2 x 3 substrings are near.
        assert bound.features(codes).shape == (2, 16)
        assert bound.features(codes[:1, :2]).nnz == 7

    def test_unknown_letters_and_short_strings_have_nothing_in_common(self) -> None:
        codes = LetterCodes(length=4).fit_transform(["ACGT", "NNNN", "AC", "ACNT"])
        alphabet = LetterCodes().fit_transform(["ACGT"])[0]
        K = Spectrum(3, letters=alphabet)(codes)
        assert_allclose(K, np.diag([1.0, 0.0, 0.0, 0.0]))
        assert Spectrum(3)(codes)[1, 1] == pytest.approx(1.0)
        assert_array_equal(Spectrum(3)([[1.0, 2.0]]), [[0.0]])

    def test_too_many_substrings_are_refused(self) -> None:
        X = np.arange(200.0).reshape(2, 100)
        with pytest.raises(ValueError, match="too many substrings of 12 of 200 letters"):
            Spectrum(12)(X)
        with pytest.raises(ValueError, match="features, more than a sparse matrix has columns"):
            Spectrum(5, letters=np.arange(200.0)).features(X)
        with pytest.raises(ValueError, match="depend on the alphabet"):
            Spectrum(5).features(X)


class TestLookup:
    GRAM = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 3.0]])

    def test_it_is_the_entry_of_the_matrix(self) -> None:
        kernel = OnColumns(Lookup(self.GRAM), [1])
        X, Z = np.array([[9.0, 2.0], [9.0, 0.0]]), np.array([[5.0, 1.0]])
        assert_array_equal(kernel(X), [[3.0, 0.0], [0.0, 2.0]])
        assert_array_equal(kernel(X, Z), [[0.0], [1.0]])
        assert_array_equal(kernel.diag(X), [3.0, 2.0])

    @pytest.mark.parametrize(
        ("gram", "message"),
        [
            (np.ones((2, 3)), "must be a square matrix"),
            (np.full((2, 2), np.nan), "must be a square matrix of finite numbers"),
            (np.array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric"),
            (np.array([[1.0, 2.0], [2.0, 1.0]]), "not positive semi-definite"),
        ],
    )
    def test_other_matrices_are_refused(self, gram: np.ndarray, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Lookup(gram).bind(np.zeros((2, 1)))

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ([3.0], "whole numbers from 0 to 2"),
            ([-1.0], "whole numbers from 0 to 2"),
            ([0.5], "whole numbers from 0 to 2"),
            ([0.0, 1.0], "a kernel on one column"),
        ],
    )
    def test_other_numbers_are_refused(self, row: list[float], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Lookup(self.GRAM)([row])
