"""Listed folds, as parts of a table's rows whose sums add up to the sums of the folds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._data.folds import Split, Splits
from mercer._data.resampling import Resampling
from mercer._data.types import Array
from mercer._gram.memory import working_memory


@dataclass(frozen=True)
class FoldParts:
    """A fold made of parts; the rows of a part are all trained on, all held out, or neither.

    Attributes
    ----------
    trained, left_out, held_out : ndarray of int
        Numbers of the parts that the fold trains on, of all other parts of its layer, and of the
        parts that it holds out.
    """

    trained: Array
    left_out: Array
    held_out: Array


def parts_in_turn(n_parts: int) -> list[FoldParts]:
    """Return folds that hold out one part each and train on all other parts."""
    every = np.arange(n_parts)
    return [FoldParts(np.delete(every, k), every[k : k + 1], every[k : k + 1]) for k in every]


@dataclass(frozen=True)
class ListedFolds:
    """Listed folds of rows, and the parts into which they divide the rows.

    Attributes
    ----------
    numbers : ndarray of int of shape (n_layers, n_rows)
        The part of each row in each layer. The parts of a layer cover all rows, and each fold
        consists of parts of one layer.
    folds : tuple of FoldParts
    n_parts : int
        Total number of parts over all layers.

    Examples
    --------
    >>> splits = [(np.array([0, 1]), np.array([2])), (np.array([0, 1, 2]), np.array([3]))]
    >>> ListedFolds.of(splits, 4).numbers
    array([[1, 1, 2, 0]])
    """

    numbers: Array
    folds: tuple[FoldParts, ...]
    n_parts: int

    @classmethod
    def of(cls, splits: Splits, n_rows: int) -> ListedFolds:
        """Divide rows into parts.

        Parameters
        ----------
        splits : list of (ndarray, ndarray)
            Training and held-out rows.
        n_rows : int

        Notes
        -----
        Consecutive folds share a layer as long as they hold out different rows. The folds of
        `TimeSeriesSplit` thus need each row once, and repeated folds need it once per repetition.
        """
        layers: list[Array] = []
        folds: list[FoldParts] = []
        n_parts = 0
        for some in _disjoint(splits, n_rows):
            codes = np.zeros(n_rows, dtype=int)
            for train, test in some:
                roles = 3 * codes
                roles[train] += 1
                roles[test] += 2
                codes = np.unique(roles, return_inverse=True)[1]
            own = n_parts + np.arange(codes.max() + 1)
            codes += n_parts
            for train, test in some:
                trained = np.unique(codes[train])
                folds.append(FoldParts(trained, np.setdiff1d(own, trained), np.unique(codes[test])))
            layers.append(codes)
            n_parts += len(own)
        return cls(np.array(layers), tuple(folds), n_parts)

    @classmethod
    def of_resampling(cls, resampling: Resampling) -> ListedFolds | None:
        """Return the folds of a resampling, or None if one row is left out at a time.

        Parameters
        ----------
        resampling : Resampling
            Leaving out one row at a time would give too many folds.
        """
        if resampling.one_at_a_time:
            return None
        every = np.arange(len(resampling))
        splits = [(np.setdiff1d(every, out), out[at]) for out, at in resampling.parts]
        return cls.of(splits, len(resampling))

    def check_memory(self, n_centers: int) -> None:
        """Raise an error if the sums of folds do not fit in scikit-learn's `working_memory`.

        Parameters
        ----------
        n_centers : int
            Number of centers of the features whose products are summed.

        Raises
        ------
        ValueError
            If twice the memory of the sums of all parts exceeds the limit.
        """
        if (needed := 16 * n_centers**2 * self.n_parts) > working_memory():
            raise ValueError(
                f"cv divides the rows into {self.n_parts} parts, whose sums take "
                f"{needed / 2**20:.0f} MB for {n_centers} Nyström features: pass fewer folds, "
                "groups to fit in place of cv, a smaller n_components, or more working_memory "
                "to sklearn.set_config."
            )

    def take(self, rows: Array) -> ListedFolds:
        """Return the folds of some of the rows."""
        return replace(self, numbers=self.numbers[:, rows])

    def held_out(self, rows: Array) -> Array:
        """Return which of the given rows each fold holds out.

        Parameters
        ----------
        rows : ndarray of int of shape (n_chosen,)

        Returns
        -------
        ndarray of bool of shape (n_folds, n_chosen)
        """
        numbers = self.numbers[:, rows]
        return np.array([np.isin(numbers, fold.held_out).any(axis=0) for fold in self.folds])

    def trained(self, rows: Array) -> Array:
        """Return which of the given rows each fold trains on; see :meth:`held_out`."""
        numbers = self.numbers[:, rows]
        return np.array([np.isin(numbers, fold.trained).any(axis=0) for fold in self.folds])


def _disjoint(splits: Splits, n_rows: int) -> list[list[Split]]:
    """Group consecutive splits such that those of a group hold out different rows."""
    found: list[list[Split]] = []
    taken = np.zeros(n_rows, dtype=bool)
    for train, test in splits:
        if not found or taken[test].any():
            found.append([])
            taken[:] = False
        taken[test] = True
        found[-1].append((train, test))
    return found
