"""A kernel of fingerprints and counts."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mercer._data.types import Array, Features
from mercer._data.validation import check_choice
from mercer.kernels._distances import products, rows_squared
from mercer.kernels._kernel import Kernel
from mercer.kernels._minkowski import minkowski_powers


@dataclass(eq=False, repr=False)
class Tanimoto(Kernel):
    """Tanimoto kernel of counts and of fingerprints, such as the fingerprints of molecules.

    Fingerprints are sets, given as zeros and ones. Their kernel is the size of the intersection
    divided by the size of the union. Features must not be negative. Zeros of sparse tables take no
    time.

    Parameters
    ----------
    form : {"minmax", "inner"}, default="minmax"
        For counts, either sum_z min(x_z, x'_z) / sum_z max(x_z, x'_z) or
        x'x' / (|x|^2 + |x'|^2 - x'x'). Both are the same for zeros and ones.

    Raises
    ------
    ValueError
        When evaluated, if a feature is negative.

    Notes
    -----
    Let m be the kernel sum_z min(x_z, x'_z), or the inner product, and s = m(x, x). Both forms are
    m / (s + s' - m), which is the sum of (m / (s + s'))^r over r = 1, 2, ..., because 2 m <= s +
    s'. The kernel 1 / (s + s') is the integral of exp(-s t) exp(-s' t) over positive t. Each power,
    and therefore the sum, is positive semi-definite. The kernel of two rows of zeros is one, and
    the kernel of a row of zeros with any other row is zero.

    Evaluation takes O(n^2 d) time, where d counts only the nonzero values of sparse rows.

    References
    ----------
    Ralaivola, Swamidass, Saigo, Baldi (2005), Graph kernels for chemical informatics, Neural
    Networks 18, section 4. Tripp, Bacallado, Singh, Hernandez-Lobato (2023), Tanimoto random
    features for scalable molecular machine learning, NeurIPS.

    Examples
    --------
    >>> from mercer.kernels import Tanimoto
    >>> Tanimoto()([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [2.0, 3.0, 0.0]]).round(4)
    array([[1.    , 0.3333, 0.4   ],
           [0.3333, 1.    , 0.1667],
           [0.4   , 0.1667, 1.    ]])
    """

    form: Literal["minmax", "inner"] = "minmax"

    def describe(self) -> str:
        """Return the name and the form."""
        return f"Tanimoto, {self.form}"

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        sizes = self._sizes(X)
        others = sizes if Z is None else self._sizes(Z)
        total, Z = sizes[:, None] + others, X if Z is None else Z
        if self.form == "inner":
            common = products(X, Z)
        else:
            # min(a, b) = (a + b - |a - b|) / 2.
            common = 0.5 * (total - minkowski_powers(X, Z, 1.0))
            np.maximum(common, 0.0, out=common)
        gram = np.divide(common, total - common, out=common, where=total > 0.0)
        gram[total == 0.0] = 1.0
        return gram

    def _shifted_diag(self, X: Features) -> Array:
        self._sizes(X)
        return np.ones(X.shape[0])

    def _sizes(self, X: Features) -> Array:
        """Return the sum of each row's features, or of their squares; none may be negative."""
        check_choice("form", self.form, ("minmax", "inner"))
        if X.shape[0] and X.shape[1] and X.min() < 0.0:
            raise ValueError(
                "Negative values in data passed to Tanimoto: fingerprints are zeros and ones, or "
                "counts."
            )
        return np.asarray(X.sum(axis=1)).ravel() if self.form == "minmax" else rows_squared(X)
