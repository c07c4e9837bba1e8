"""Fitted functions as functions of few centers, which are means of several rows each."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from mercer._expansion import FeatureTerm, KernelExpansion, KernelTerm, Term, Views, as_doubles
from mercer._gram.new_rows import known_values, nearest_to
from mercer._gram.threads import one_blas_thread
from mercer._nystroem.features import Moments, NystroemFeatures, nystroem_features
from mercer._tree_terms import TreeTerm, as_tree_terms, without_training_rows
from mercer._typing import Array, Features, RandomState
from mercer.kernels import Categorical, Kernel, Lookup, OnColumns, Spectrum
from mercer.kernels._composition import Composite
from mercer.kernels._on_columns import column_positions

_PENALTIES = 10.0 ** np.arange(-12.0, 0.0, 1.5)
"""Of squared coefficients of whitened features of unit scale, relative to the mean squared
difference. The smallest is as small as rounding allows, as values that are fitted have no noise;
where features are nearly as many as rows, larger ones miss other rows by less."""

_LEAST_FREEDOM = 1e-6
"""A row whose leverage is above one less this is known by no other row."""

KernelKey = tuple[str, Kernel]
"""The view and the kernel that terms share."""


@dataclass(frozen=True)
class Centers:
    """Means of rows that lie near each other, in each view.

    Attributes
    ----------
    views : dict of str to ndarray of shape (n_centers, n_features)
        In single precision.
    n_rows : ndarray of int of shape (n_centers,)
        Number of rows that each center is the mean of, at least two.
    """

    views: Views
    n_rows: Array


def cluster_means(
    views: Views,
    relevance: Views,
    n_centers: int,
    random_state: RandomState,
    codes: Mapping[str, Iterable[int]] | None = None,
) -> Centers:
    """Means of the clusters of k-means in all views together, without clusters of a single row.

    Parameters
    ----------
    views : dict of str to ndarray of shape (n_rows, n_features)
        The same rows in each view.
    relevance : dict of str to ndarray of shape (n_features,)
        What squared differences are multiplied by in distances of rows.
    n_centers : int
    random_state : int, RandomState instance or None
    codes : dict of str to iterable of int, default=None
        Columns of a view that hold codes. A center has the most frequent code of its rows.

    Notes
    -----
    A value that is missing in half of the rows of a center is missing in the center.

    Centers that are rows, drawn at random or by pivoted Cholesky factorizations, are no better on
    average (benchmarks/compression.py), and are rows of somebody.
    """
    scaled = np.hstack([_filled(view) * np.sqrt(relevance[name]) for name, view in views.items()])
    settings: dict[str, Any] = {"n_init": 1, "max_iter": 10, "init": "random"}
    with warnings.catch_warnings(), one_blas_thread():
        # Copies of rows make fewer clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(n_centers, random_state=random_state, **settings).fit_predict(scaled)
    counts = np.bincount(labels, minlength=n_centers)
    kept = counts > 1
    found = {}
    for name, view in views.items():
        coded = set((codes or {}).get(name, ()))
        of_column = (
            _most_frequent(x, labels, n_centers) if z in coded else _mean(x, labels, counts)
            for z, x in enumerate(view.T)
        )
        found[name] = _in_single_precision(np.stack(list(of_column), axis=1)[kept])
    return Centers(found, counts[kept])


def _filled(view: Array) -> Array:
    """A view whose missing values are means of their columns."""
    missing = np.isnan(view)
    if not missing.any():
        return view
    known = np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, np.where(missing, 0.0, view).sum(axis=0) / known, view)


def _mean(x: Array, labels: Array, counts: Array) -> Array:
    """Means of the known values of each cluster; NaN where at most half of them are known."""
    known = ~np.isnan(x)
    sums = np.bincount(labels[known], x[known], minlength=len(counts))
    n_known = np.bincount(labels[known], minlength=len(counts))
    return np.where(2 * n_known > counts, sums / np.maximum(n_known, 1), np.nan)


def _most_frequent(x: Array, labels: Array, n_centers: int) -> Array:
    """The most frequent value of each cluster."""
    values, codes = np.unique(x, return_inverse=True)
    pairs, counts = np.unique(labels * len(values) + codes, return_counts=True)
    found = np.full(n_centers, np.nan)
    rising = np.argsort(counts, kind="stable")
    found[pairs[rising] // len(values)] = values[pairs[rising] % len(values)]
    return found


@dataclass(frozen=True)
class KernelPart:
    """The part of a fitted function that depends on centers, and how rows are told apart in it.

    Attributes
    ----------
    expansion : KernelExpansion
    kernels : list of (str, Kernel)
        The views and kernels of its terms.
    relevance : dict of str to ndarray of shape (n_features,)
        Mean relevance of the features to the kernels of each view, each with a sum of one.
    codes : dict of str to set of int
        Columns of each view that hold codes.
    """

    expansion: KernelExpansion
    kernels: list[KernelKey]
    relevance: Views
    codes: dict[str, set[int]]

    @classmethod
    def of(cls, expansion: KernelExpansion, views: Views) -> KernelPart:
        """Read a fitted function; the rows say how much features vary.

        Raises
        ------
        TypeError
            If a part of it is neither known to be a function of a kernel, nor of leaves.
        """
        terms = [part for term in expansion.terms for part in as_tree_terms(term)]
        expansion = replace(expansion, terms=terms)
        kernels = dict.fromkeys(
            (term.view, _kernel_of(term)) for term in expansion.terms if not _is_of_trees(term)
        )
        relevance = {
            name: _mean_relevance((k for view, k in kernels if view == name), X)
            for name, X in views.items()
        }
        codes = {
            name: {z for view, k in kernels if view == name for z in _codes(k, range(X.shape[1]))}
            for name, X in views.items()
        }
        return cls(expansion, list(kernels), relevance, codes)

    def values(self, views: Views) -> Array:
        """Sum of the terms that depend on centers, shape (n_rows, n_outputs)."""
        terms = [term for term in self.expansion.terms if not _is_of_trees(term)]
        n_outputs = len(self.expansion.intercept)
        found = replace(self.expansion, terms=terms, intercept=np.zeros(n_outputs))
        return np.concatenate([found.of_views(block) for block in _blocks(views)])

    def predicted(self, views: Views, values: Array) -> Array:
        """Predictions of the model from the values of this part, shape (n_rows, n_outputs).

        Parameters
        ----------
        views : dict of str to ndarray of shape (n_rows, n_features)
        values : ndarray of shape (n_rows, n_outputs)
            Of this part.
        """
        terms: list[Term] = [term for term in self.expansion.terms if _is_of_trees(term)]
        others = replace(self.expansion, terms=terms)
        parts = [
            others.of_views(block) + self.expansion.shrinkage(block) for block in _blocks(views)
        ]
        return np.asarray(values + np.concatenate(parts))

    def on_centers(
        self, centers: Centers, views: Views, values: Array
    ) -> tuple[KernelExpansion, Array]:
        """The function with the coefficients at centers that fit its values at some rows best.

        Parameters
        ----------
        centers : Centers
        views : dict of str to ndarray of shape (n_rows, n_features)
        values : ndarray of shape (n_rows, n_outputs)
            Of this part.

        Returns
        -------
        function : KernelExpansion
        left_out : ndarray of shape (n_rows, n_outputs)
            Values at each row of this part, with coefficients that are fitted to all other rows.

        Notes
        -----
        Ridge regression of the values on Nyström features of all kernels jointly, with the penalty
        of the smallest squared leave-one-out errors, which are exact: O(n p^2 + p^3) time and
        O(p^2) memory for p features in total.
        """
        features = [nystroem_features(kernel, centers.views[view]) for view, kernel in self.kernels]
        # Squares of large values overflow, and those of small ones are lost.
        unit = np.abs(values).max(axis=0)
        unit = np.where(unit > 0.0, unit, 1.0)
        solved, constant, left_out = _fitted(self.kernels, features, views, values / unit)
        solved, constant = [unit * coefficients for coefficients in solved], unit * constant
        terms: list[Term] = []
        for (view, kernel), own, coefficients in zip(self.kernels, features, solved, strict=True):
            terms.append(KernelTerm(kernel, centers.views[view], coefficients, view))
            constant -= (own.columns.means + kernel.offset) @ coefficients
        intercept = self.expansion.intercept + constant
        return self._with(terms, intercept, centers.views, views), unit * left_out

    def on_all_centers(self, views: Views, tol: float = 1e-5) -> KernelExpansion:
        """The function as it is, with centers in single precision if that hardly changes it.

        Parameters
        ----------
        views : dict of str to ndarray of shape (n_rows, n_features)
            Rows on which values are compared.
        tol : float, default=1e-5
            Values may change by this fraction of their spread.

        Raises
        ------
        ValueError
            If a part of it has no coefficients at centers.

        Notes
        -----
        Coefficients on Nyström features may be large, and cancel: then centers stay as they are.
        """
        found, expected = self._rounded(np.dtype(np.float32)), self.expansion.of_views(views)
        changes = np.abs(found.of_views(views) - expected).max(axis=0)
        if (changes <= tol * expected.std(axis=0)).all():
            return found
        return self._rounded(np.dtype(np.float64))

    def _rounded(self, dtype: np.dtype[Any]) -> KernelExpansion:
        """The function with centers of some precision, which terms share."""
        known: dict[int, Array] = {}

        def rounded(rows: Features) -> Array:
            if id(rows) not in known:
                known[id(rows)] = as_doubles(rows).astype(dtype)
            return known[id(rows)]

        terms: list[Term] = []
        for term in self.expansion.terms:
            if isinstance(term, KernelTerm):
                terms.append(replace(term, centers=rounded(term.centers), rows=None))
            elif not _is_of_trees(term):
                description = getattr(term, "description", type(term).__name__)
                raise ValueError(
                    f"n_components='all' needs a sum over centers, which {description} are not: "
                    "pass a number, or 'auto'."
                )
        kept = {name: rounded(view) for name, view in self.expansion.training.items()}
        return self._with(terms, self.expansion.intercept, kept, None)

    def _with(
        self, terms: list[Term], intercept: Array, centers: Views, rows: Views | None
    ) -> KernelExpansion:
        """The expansion with other kernel terms, and other rows in place of training rows."""
        for term in self.expansion.terms:
            if isinstance(term, FeatureTerm):
                terms.append(replace(term, kernel=without_training_rows(term.kernel)))
            elif isinstance(term, TreeTerm):
                terms.append(term)
        far = self.expansion.fall_back
        views_of: Any = self.expansion.views_of
        used = {term.view for term in terms}
        if far is not None:
            far = replace(far, rows=centers[far.view])
            if rows is not None:
                nearest = nearest_to(known_values(far.rows))
                largest = float(np.sqrt(nearest(known_values(rows[far.view])).max()))
                far = replace(far, reach=max(far.reach, largest))
            used.add(far.view)
        names = tuple(name for name in centers if name in used)
        return replace(
            self.expansion,
            terms=terms,
            intercept=intercept,
            training={name: centers[name] for name in names},
            views_of=None if views_of is None else views_of.only(names),
            fall_back=far,
        )

    @property
    def most_centers(self) -> int:
        """The largest number of centers for which coefficients are fitted in half a minute.

        They are fitted jointly, in a time that grows with the cube of their number.
        """
        return max(4096 // max(len(self.kernels), 1), 1)


def _in_single_precision(values: Array) -> Array:
    """The same values in half the memory, unless they leave the range of single precision."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    return values.astype(np.float32) if 1e-30 < largest < 1e30 else values


def _fitted(
    kernels: list[KernelKey], features: list[NystroemFeatures], views: Views, values: Array
) -> tuple[list[Array], Array, Array]:
    """Coefficients of the kernels' values at centers, a constant, and left-out values of rows."""

    def transformed() -> Iterable[tuple[Array, slice]]:
        start = 0
        for block in _blocks(views):
            parts = [
                own.transform(block[view]) for (view, _), own in zip(kernels, features, strict=True)
            ]
            Z = np.hstack([np.empty((len(next(iter(block.values()))), 0)), *parts])
            yield Z, slice(start, start + len(Z))
            start += len(Z)

    ranks = [own.whitening.shape[1] for own in features]
    sums = Moments.zero(sum(ranks), values.shape[1])
    for Z, rows in transformed():
        sums.add(Z, values[rows], np.ones(len(Z)))
    means, level = sums.means()
    centered = sums.centered(means, level)
    spectrum, vectors = scipy.linalg.eigh(centered.gram, overwrite_a=True)
    cross = vectors.T @ centered.cross
    # Shape (n_penalties, rank).
    factors = 1.0 / (np.maximum(spectrum, 0.0) + _PENALTIES[:, None] * sums.count)
    errors = np.empty((len(factors), *values.shape))
    for Z, rows in transformed():
        turned = (Z - means) @ vectors
        freedom = 1.0 - 1.0 / sums.count - np.square(turned) @ factors.T
        for own, left, shrinkage in zip(errors, freedom.T, factors, strict=True):
            residuals = values[rows] - level - turned @ (shrinkage[:, None] * cross)
            known = np.where(left > _LEAST_FREEDOM, left, np.nan)
            own[rows] = residuals / known[:, None]
    squares = np.nan_to_num(np.square(errors).sum(axis=(1, 2)), nan=np.inf)
    best = int(np.argmin(squares))
    solved = vectors @ (factors[best][:, None] * cross)
    parts = np.split(solved, np.cumsum(ranks)[:-1]) if ranks else []
    coefficients = [own.whitening @ part for own, part in zip(features, parts, strict=True)]
    return coefficients, level - means @ solved, values - errors[best]


def _is_of_trees(term: Term) -> bool:
    return isinstance(term, FeatureTerm | TreeTerm)


def _kernel_of(term: Term) -> Kernel:
    kernel: Kernel | None = getattr(term, "kernel", None)
    if kernel is None:
        description = getattr(term, "description", type(term).__name__)
        raise TypeError(f"{description} cannot be compressed: it is no function of a kernel.")
    return kernel


def _mean_relevance(kernels: Iterable[Kernel], X: Array) -> Array:
    """Mean of the kernels' relevances; inverse variances where these are unknown."""
    found = [np.nan_to_num(kernel.relevance(X.shape[1])) for kernel in kernels]
    if not found:
        return np.zeros(X.shape[1])
    known = [relevance / relevance.sum() for relevance in found if relevance.sum() > 0.0]
    if known:
        return np.asarray(np.mean(known, axis=0))
    variances = _filled(X).var(axis=0)
    return 1.0 / np.where(variances > 0.0, variances, 1.0)


def _codes(kernel: Kernel, columns: Sequence[int]) -> set[int]:
    """Those of the columns that a kernel reads as codes, whose means are none."""
    if isinstance(kernel, OnColumns):
        positions = column_positions(np.empty((0, len(columns))), kernel.columns)
        columns = [columns[position] for position in positions]
    if isinstance(kernel, Composite):
        return {z for part in kernel._parts() for z in _codes(part, columns)}
    return set(columns) if isinstance(kernel, Categorical | Lookup | Spectrum) else set()


def _blocks(views: Views, size: int = 1024) -> Iterable[Views]:
    """Blocks of rows, in each view: their features are in memory at once."""
    n_rows = next(iter(views.values())).shape[0]
    for rows in gen_batches(n_rows, size):
        yield {name: view[rows] for name, view in views.items()}
