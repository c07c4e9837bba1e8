"""Approximation of fitted functions by few centers, which are means of several rows."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from mercer._data.types import Array
from mercer._gram.expansion import FeatureTerm, KernelExpansion, KernelTerm, Term, Views
from mercer._gram.new_rows import nearest_to
from mercer._gram.threads import one_blas_thread
from mercer._gram.tree_terms import TreeTerm, as_tree_terms
from mercer._nystroem.features import nystroem_features
from mercer.kernels import Categorical, Kernel, Lookup, Missing, Spectrum

_PENALTIES = 10.0 ** np.arange(-12.0, 0.0, 1.5)
"""Penalties on squared coefficients of whitened features of unit scale, relative to the mean
squared difference. The smallest penalty is as small as rounding allows, because the fitted values
have no noise. With nearly as many features as rows, larger ones have lower leave-one-out errors."""

_LEAST_FREEDOM = 1e-6
"""Leave-one-out errors count as infinite if the leverage of a row is above one minus this."""


def kernels_of(function: KernelExpansion) -> tuple[list[tuple[str, Kernel]], list[Term]]:
    """Return the views and kernels of a fitted function, and its terms without centers.

    Raises
    ------
    TypeError
        If a kernel reads columns that have no means.
    """
    terms: list[Any] = [part for whole in function.terms for part in as_tree_terms(whole)]
    trees: list[Term] = [term for term in terms if isinstance(term, FeatureTerm | TreeTerm)]
    others = [term for term in terms if not isinstance(term, FeatureTerm | TreeTerm)]
    kernels = list(dict.fromkeys((term.view, term.kernel) for term in others))
    for _, kernel in kernels:
        _check_has_means(kernel)
    return kernels, trees


def _check_has_means(kernel: Kernel) -> None:
    if isinstance(kernel, Categorical | Lookup | Missing | Spectrum):
        raise TypeError(
            f"{kernel.describe()} cannot be compressed: its columns have no means for centers."
        )
    for part in kernel._parts() if hasattr(kernel, "_parts") else ():
        _check_has_means(part)


def with_few_centers(
    function: KernelExpansion, views: Views, values: Array, n_centers: int
) -> tuple[KernelExpansion, Array, Array]:
    """Approximate a kernel expansion with fewer centers, by a fit to its values at rows.

    Parameters
    ----------
    function : KernelExpansion
    views : dict of str to ndarray of shape (n_rows, n_features)
        The rows, in each view.
    values : ndarray of shape (n_rows, n_outputs)
        Values of the function at the rows.
    n_centers : int

    Returns
    -------
    small : KernelExpansion
    left_out : ndarray of shape (n_rows, n_outputs)
        Values at each row by coefficients that are fitted to all other rows.
    n_rows : ndarray of int of shape (n_centers,)
        Number of rows that are averaged in each center, at least two.

    Notes
    -----
    The values are regressed on the Nyström features of all kernels jointly by ridge regression,
    with the penalty that minimizes the squared leave-one-out errors, which are exact. This takes
    O(n p^2 + p^3) time and O(n p) memory for p features in total.
    """
    kernels, terms = kernels_of(function)
    centers, n_rows = _means_of_clusters(views, kernels, n_centers)
    others = replace(function, terms=terms).of_views(views)
    features = [nystroem_features(kernel, centers[view]) for view, kernel in kernels]
    # Without this unit, squares of large values would overflow, and squares of small ones vanish.
    unit = np.abs(values - others).max(axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)
    pairs = list(zip(kernels, features, strict=True))
    parts = (own.transform(views[view]) for (view, _), own in pairs)
    Z = np.hstack([np.empty((len(values), 0)), *parts])
    solved, constant, left_out = _ridge(Z, (values - others) / unit)
    intercept = function.intercept + unit * constant
    stops = np.cumsum([own.whitening.shape[1] for own in features])
    for ((view, kernel), own), stop in zip(pairs, stops, strict=True):
        coefficients = own.whitening @ (unit * solved[stop - own.whitening.shape[1] : stop])
        terms.append(KernelTerm(kernel, centers[view], coefficients, view))
        intercept = intercept - (own.columns.means + kernel.offset) @ coefficients
    views_of: Any = function.views_of
    if views_of is not None:
        function = replace(function, views_of=views_of.only(tuple(views)))
    far = function.fall_back
    if far is not None:
        nearest = nearest_to(centers[far.view])(views[far.view])
        reach = max(far.reach, float(np.sqrt(nearest.max())))
        function = replace(function, fall_back=replace(far, rows=centers[far.view], reach=reach))
    small = replace(function, terms=terms, intercept=intercept, training=centers)
    return small, others + unit * left_out, n_rows


def _means_of_clusters(
    views: Views, kernels: list[tuple[str, Kernel]], n_clusters: int
) -> tuple[Views, Array]:
    """Return the means of the k-means clusters with several rows, and their numbers of rows."""
    relevance = {name: np.zeros(X.shape[1]) for name, X in views.items()}
    for view, kernel in kernels:
        # The relevance is unknown for user-defined functions.
        found = np.nan_to_num(kernel.relevance(len(relevance[view])), nan=1.0)
        relevance[view] += found / (found.sum() or 1.0)
    # Estimators, on views without relevant columns, may accept missing values.
    scaled = np.hstack([np.nan_to_num(X) * np.sqrt(relevance[name]) for name, X in views.items()])
    settings: dict[str, Any] = {"n_init": 1, "max_iter": 10, "init": "random", "random_state": 0}
    with warnings.catch_warnings(), one_blas_thread():
        # Duplicate rows lead to fewer clusters than requested.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(n_clusters, **settings).fit_predict(scaled)
    counts = np.bincount(labels, minlength=n_clusters)
    kept, shape = counts > 1, (n_clusters, len(labels))
    means = sp.csr_array((1.0 / counts[labels], (labels, np.arange(len(labels)))), shape)
    return {name: (means @ X)[kept] for name, X in views.items()}, counts[kept]


def _ridge(Z: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return the coefficients, the intercept and the leave-one-out values of the rows."""
    means, level, count = Z.mean(axis=0), values.mean(axis=0), len(Z)
    Z -= means
    spectrum, vectors = scipy.linalg.eigh(Z.T @ Z, overwrite_a=True)
    Z = Z @ vectors
    cross, least = Z.T @ values, np.inf
    factors = 1.0 / (np.maximum(spectrum, 0.0) + count * _PENALTIES[:, None])
    freedoms = 1.0 - 1.0 / count - np.square(Z) @ factors.T
    for factor, freedom in zip(factors, freedoms.T, strict=True):
        own = factor[:, None] * cross
        residuals = (values - level - Z @ own) / np.maximum(freedom, _LEAST_FREEDOM)[:, None]
        error = np.square(residuals).sum() if freedom.min() > _LEAST_FREEDOM else np.inf
        if error <= least:
            least, solved, left_out = error, vectors @ own, values - residuals
    return solved, level - means @ solved, left_out
