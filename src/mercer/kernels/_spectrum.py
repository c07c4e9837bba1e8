"""Kernels of strings, given as tables of letters, that count common substrings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations, product
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.lib.stride_tricks import sliding_window_view

from mercer._data.types import Array, Features
from mercer._data.validation import check_bool, check_number
from mercer.kernels._distances import products, rows_squared
from mercer.kernels._dot_product import Linear
from mercer.kernels._kernel import Kernel


@dataclass(eq=False, repr=False)
class Spectrum(Kernel):
    """Kernel on strings, such as DNA, which compares their counts of k-letter substrings.

    It is the spectrum kernel, an inner product of counts, or, if mismatches are allowed, the
    mismatch kernel. Each column of the table holds the codes of the letters at one position of the
    strings; :class:`mercer.preprocessing.LetterCodes` computes the codes. A negative number stands
    for no letter, such as after the end of a string.

    Parameters
    ----------
    length : int, default=3
        Number k of letters of a substring.
    mismatches : int, default=0
        A substring also counts as every other substring that differs from it in at most this many
        letters.
    positions : bool, default=False
        Whether substrings match only in the same place, for aligned strings.
    normalize : bool, default=True
        Whether the kernel is divided by the square root of the product of its diagonal entries.
    letters : array-like of shape (n_letters,), default=None
        The alphabet, on which counts with mismatches depend. Substrings with other letters do not
        count. With None, every letter counts; if mismatches are allowed, the alphabet is then taken
        from the training table when an estimator is fitted.

    Raises
    ------
    ValueError
        When evaluated, if there are too many substrings of that length to be numbered.

    Notes
    -----
    The kernel is an inner product of sparse features, and therefore positive semi-definite. A
    string of fewer than k letters has no features, and its kernel with every string, including
    itself, is zero. With `positions`, sums of kernels of several lengths are weighted-degree
    kernels.

    Counting the substrings of n strings of l letters takes O(n l) time, times the number of
    substrings within the mismatches allowed, and the Gram matrix takes a product of sparse
    matrices. For many strings, `features` can be the input of a linear model.

    References
    ----------
    Leslie, Eskin, Noble (2002), The spectrum kernel, Pacific Symposium on Biocomputing. Leslie,
    Eskin, Cohen, Weston, Noble (2004), Mismatch string kernels for discriminative protein
    classification, Bioinformatics 20. Sonnenburg, Raetsch, Schaefer, Schoelkopf (2006), Large scale
    multiple kernel learning, Journal of Machine Learning Research 7 (weighted degrees).

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> from mercer.preprocessing import LetterCodes
    >>> X = LetterCodes().fit_transform(["ACGT", "CGTA", "AAAA", "ACG"])
    >>> Spectrum(2)(X).round(4)
    array([[1.    , 0.6667, 0.    , 0.8165],
           [0.6667, 1.    , 0.    , 0.4082],
           [0.    , 0.    , 1.    , 0.    ],
           [0.8165, 0.4082, 0.    , 1.    ]])
    """

    accepts_sparse = False

    length: int = 3
    _: KW_ONLY
    mismatches: int = 0
    positions: bool = False
    normalize: bool = True
    letters: Sequence[float] | Array | None = None

    def bind(self, X: Features) -> Self:
        """Return the kernel, with the alphabet of the table if mismatches are allowed."""
        if self.mismatches == 0 or self.letters is not None or sp.issparse(X):
            return self
        params = self.get_params(deep=False)
        return type(self)(**{**params, "letters": _alphabet(np.asarray(X, dtype=float))})

    def describe(self) -> str:
        """Return the name, the length, and the mismatches if any are allowed."""
        text = f"Spectrum of length {self.length}"
        text += f", {self.mismatches} mismatches" * (self.mismatches > 0)
        return text + ", in place" * self.positions

    def features(self, X: Features) -> sp.csr_array:
        """Return counts of substrings, whose inner products are the kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_letters)

        Returns
        -------
        csr_array of shape (n_samples, n_features)
            One column for each string of k letters of the alphabet; with `positions`, one for each
            string and place.

        Raises
        ------
        ValueError
            If `letters` is None, or if there are too many columns.
        """
        if self.letters is None:
            raise ValueError(
                "The features depend on the alphabet: set letters, to the numbers of all letters."
            )
        X, _ = self._checked(X)
        letters = self._letters_of(X)
        counts, numbers = self._counts(X, letters)
        width = len(letters) ** self.length * (X.shape[1] if self.positions else 1)
        if width > np.iinfo(np.int32).max:
            raise ValueError(f"There are {width} features, more than a sparse matrix has columns.")
        parts = counts.data, numbers[counts.indices], counts.indptr
        return sp.csr_array(parts, shape=(X.shape[0], width))

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        n = X.shape[0]
        both = X if Z is None else np.vstack([X, Z])
        counts, _ = self._counts(both, self._letters_of(both))
        return products(counts[:n], counts if Z is None else counts[n:])

    def _shifted_diag(self, X: Features) -> Array:
        return rows_squared(self._counts(X, self._letters_of(X))[0])

    def _evaluated_on(self, X: Features) -> tuple[Kernel, Features]:
        return Linear(), self._counts(X, self._letters_of(X))[0]

    def _letters_of(self, X: Array) -> Array:
        """Return the alphabet in ascending order."""
        return _alphabet(X if self.letters is None else np.asarray(self.letters, dtype=float))

    def _counts(self, X: Array, letters: Array) -> tuple[sp.csr_array, Array]:
        """Return counts of the substrings that occur, and a number that identifies each of them."""
        self._check(X.shape[1], len(letters))
        rows, numbers, places = _substrings(X, letters, self.length)
        distinct, columns = np.unique(numbers, return_inverse=True)
        if self.mismatches:
            distinct, near = _neighbors(distinct, len(letters), self.length, self.mismatches)
            rows, places = (np.repeat(part, near.shape[1]) for part in (rows, places))
            columns = near[columns].ravel()
        if self.positions:
            placed = distinct[columns] * X.shape[1] + places
            distinct, columns = np.unique(placed, return_inverse=True)
        shape = X.shape[0], max(distinct.size, 1)
        counts = sp.csr_array((np.ones(rows.size), (rows, columns.ravel())), shape=shape)
        if self.normalize:
            norms = np.sqrt(rows_squared(counts))
            counts.data /= np.repeat(norms, np.diff(counts.indptr))
        return counts, distinct

    def _check(self, n_columns: int, n_letters: int) -> None:
        check_number("length", self.length, whole=True, low=1)
        check_number("mismatches", self.mismatches, whole=True)
        check_bool("positions", self.positions)
        check_bool("normalize", self.normalize)
        if self.mismatches >= self.length:
            raise ValueError(
                f"mismatches must be less than length={self.length}; got {self.mismatches!r}."
            )
        if max(n_letters, 2) ** int(self.length) * n_columns > np.iinfo(np.int64).max // 2:
            raise ValueError(
                f"There are too many substrings of {self.length} of {n_letters} letters: the "
                "length must be smaller."
            )


def _alphabet(values: Array) -> Array:
    """Return the letters that occur, in ascending order."""
    return np.unique(values[values >= 0.0])


def _substrings(X: Array, letters: Array, length: int) -> tuple[Array, Array, Array]:
    """Return the row, number and place of each substring that consists of letters."""
    if X.shape[1] < length or not letters.size:
        return np.empty(0, int), np.empty(0, np.int64), np.empty(0, int)
    codes = np.minimum(np.searchsorted(letters, X), len(letters) - 1)
    windows = sliding_window_view(codes, length, axis=1)
    whole = sliding_window_view(letters[codes] == X, length, axis=1).all(axis=2)
    numbers = windows @ len(letters) ** np.arange(length, dtype=np.int64)
    rows, places = np.nonzero(whole)
    return rows, numbers[whole], places


def _neighbors(numbers: Array, n_letters: int, length: int, mismatches: int) -> tuple[Array, Array]:
    """Return the numbers of substrings near given ones, and their positions, (n_given, n_near)."""
    powers = n_letters ** np.arange(length, dtype=np.int64)
    digits = numbers[:, None] // powers % n_letters
    near = [numbers]
    for count in range(1, mismatches + 1):
        for places in map(list, combinations(range(length), count)):
            chosen = digits[:, places]
            for shifts in product(range(1, n_letters), repeat=count):
                near.append(numbers + ((chosen + shifts) % n_letters - chosen) @ powers[places])
    distinct, positions = np.unique(np.stack(near, axis=1), return_inverse=True)
    return distinct, positions.reshape(numbers.size, len(near))
