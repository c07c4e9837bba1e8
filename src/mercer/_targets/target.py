"""The target factor: the target kernel is L = Y diag(signs) Y'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer._typing import Array

Task = Literal["auto", "classification", "regression"]


@dataclass(frozen=True)
class Target:
    """What a kernel should look like, as a factor of the target kernel.

    Attributes
    ----------
    factor : ndarray of shape (n_samples, n_factors)
        Y.
    signs : ndarray of shape (n_factors,)
        The target kernel is L = sum_c signs_c y_c y_c'. Columns of negative sign are constant.
    classes : ndarray of shape (n_classes,), or None
        The labels, sorted; None where y holds no classes.
    codes : ndarray of int of shape (n_samples,), or None
        Position of each sample's class among them.
    """

    factor: Array
    signs: Array
    classes: np.ndarray[Any, Any] | None = None
    codes: Array | None = None

    def take(self, rows: Array) -> Target:
        """The target of some of the samples.

        Parameters
        ----------
        rows : ndarray of int
        """
        codes = None if self.codes is None else self.codes[rows]
        return Target(self.factor[rows], self.signs, self.classes, codes)

    @property
    def centered(self) -> Array:
        """Centered factor of the centered target kernel, shape (n_samples, n_targets)."""
        positive = self.factor[:, self.signs > 0]
        return positive - positive.mean(axis=0)


def positive_target(factor: Array) -> Target:
    """The target whose kernel is Y Y'.

    Parameters
    ----------
    factor : ndarray of shape (n_samples, n_factors)
        Y.
    """
    return Target(factor, np.ones(factor.shape[1]))
