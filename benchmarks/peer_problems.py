"""Problems that mercer and other packages both solve, and how their results compare."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from common import (
    THREADS,
    Array,
    Labels,
    alternate,
    load_data_set,
    squared_distances,
    standardized_sample,
    widths_around,
)
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from mercer import MKLRegressor
from mercer.kernels import Linear, OnColumns

HARD, PRECISE = 1e7, 1e-7
"""The value of C of a hard margin, and the duality gap to which optima are known."""


def gaussian_grams(X: Array, number: int = 20) -> Array:
    """Return centered Gaussian Gram matrices of mean diagonal one, shape (number, n, n)."""
    D = squared_distances(X)
    np.fill_diagonal(D, 0.0)
    D = (D + D.T) / 2.0
    grams = np.exp(-D / widths_around(D, number)[:, None, None] ** 2)
    grams -= grams.mean(axis=1, keepdims=True)
    grams -= grams.mean(axis=2, keepdims=True)
    grams *= len(X) / np.trace(grams, axis1=1, axis2=2)[:, None, None]
    return np.asarray(grams)


def kernels_last(grams: Array) -> Array:
    """Return the stack in the order of axes that this package takes."""
    return np.ascontiguousarray(np.moveaxis(grams, 0, 2))


def quietly(function: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that neither prints nor warns."""

    def call() -> Any:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()

    return call


REACHED = 1e-3
"""A result is exact if its objective is above the optimum by at most this fraction."""


@dataclass(frozen=True)
class Comparison:
    """One problem, the times of both sides, and how their results agree.

    Attributes
    ----------
    problem, peer : str
    same : bool
        Whether both solve the same problem.
    reached : bool
        Whether the peer's result is exact.
    own_time, peer_time : float
        Seconds.
    agreement : str
    """

    problem: str
    peer: str
    same: bool
    reached: bool
    own_time: float
    peer_time: float
    agreement: str


def best_times(
    own: Callable[[], Any], other: Callable[[], Any], repeats: int
) -> tuple[float, float, Any, Any]:
    """Return the least times of both sides, which take turns, and their last results."""
    results: dict[str, Any] = {}

    def keep(name: str, fit: Callable[[], Any]) -> None:
        results[name] = fit()

    sides = {
        "own": partial(keep, "own", quietly(own)),
        "other": partial(keep, "other", quietly(other)),
    }
    times = alternate(sides, repeats)
    return times["own"].min(), times["other"].min(), results["own"], results["other"]


def percent(fraction: float) -> str:
    """Format a fraction as a percentage; rounding may leave it below zero."""
    return f"{100.0 * max(fraction, 0.0):.1g} %"


class Optimum:
    """The least objective over weights of given norm, and the excess of other weights over it.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
    y : ndarray of shape (n_samples,)
    model : estimator
        Learns the weights of precomputed kernels as they are.
    """

    def __init__(self, grams: Array, y: Array | Labels, model: Any) -> None:
        self.grams, self.y, self.model = grams, y, model
        model.set_params(tol=PRECISE)
        found = quietly(partial(model.fit, kernels_last(grams), y))()
        self.bound = found.objective_ * (1.0 - found.dual_gap_)

    def above(self, weights: Array) -> float:
        """Return the relative excess of the objective at weights, scaled to the norm."""
        weights = weights / np.linalg.norm(weights, ord=self.model.norm)
        gram = np.tensordot(weights, self.grams, axes=1)
        reached = quietly(partial(self.model.fit, gram[:, :, None], self.y))().objective_
        return float(reached / self.bound - 1.0)


def labeled_grams(name: str, n: int) -> tuple[Array, Labels]:
    """Return twenty Gram matrices of samples of a set, and labels -1 and 1."""
    X, y = standardized_sample(name, n, seed=0)
    return gaussian_grams(X), 2 * y - 1


@dataclass(frozen=True)
class Groups:
    """Features in groups, each a linear kernel of mean diagonal one, and a centered response."""

    X: Array
    y: Array
    members: list[NDArray[np.intp]]

    def kernels(self) -> list[OnColumns]:
        """Return one linear kernel for each group."""
        return [OnColumns(Linear(), columns.tolist()) for columns in self.members]

    def labels(self) -> Array:
        """Return the index of each feature's group."""
        return np.repeat(np.arange(len(self.members)), [c.size for c in self.members])

    def coefficients(self, model: MKLRegressor) -> Array:
        """Return the coefficients of the features that are equivalent to a fitted model."""
        return np.asarray(model.weights_[self.labels()] * (self.X.T @ model.dual_coef_[:, 0]))

    def norms(self, w: Array) -> Array:
        """Return the norms of the coefficients of each group."""
        return np.array([np.linalg.norm(w[columns]) for columns in self.members])

    def objective(self, w: Array, alpha: float) -> float:
        """Return |y - Xw|^2 / (2 alpha) + (sum |w_g|)^2 / 2."""
        errors = float(np.sum((self.y - self.X @ w) ** 2))
        return 0.5 * errors / alpha + 0.5 * float(self.norms(w).sum()) ** 2


def views() -> Groups:
    """Return six views of handwritten digits, odd against even."""
    bunch = load_data_set("mfeat")
    members = [np.arange(view.start, view.stop) for view in bunch.views.values()]
    X = StandardScaler().fit_transform(bunch.data.astype(np.float64))
    for columns in members:
        X[:, columns] /= np.sqrt(columns.size)
    y = bunch.target.astype(int) % 2.0
    return Groups(X, y - y.mean(), members)


def regression(n_samples: int) -> tuple[Array, Array]:
    """Return Gaussian Gram matrices of random samples of kin8nm, and standardized responses."""
    bunch = load_data_set("kin8nm")
    rows = np.random.default_rng(0).permutation(len(bunch.target))[:n_samples]
    y = bunch.target[rows]
    return gaussian_grams(bunch.data[rows]), (y - y.mean()) / y.std()


def ridge_excess(K: Array, y: Array, alpha: float, c: Array, exact: Array) -> float:
    """Return how far the objective of dual coefficients is above the optimum, relatively."""
    f = K @ c
    reached = 0.5 * np.sum((y - f) ** 2) / alpha + 0.5 * c @ f
    return float(reached / (0.5 * y @ exact) - 1.0)


def coefficients_apart(own: Array, other: Array) -> str:
    """Say how far coefficients are apart, relative to the largest."""
    return f"coefficients: {np.abs(own - other).max() / np.abs(own).max():.0e} apart"


# The bandwidth of a Gaussian kernel of sigma 1.
SIGMA_ONE = np.sqrt(2.0)


def other_package(X: Array, y: Array, number: int, labels: bool, found: list[Array]) -> None:
    """Append the weights of pyHSICLasso."""
    from pyHSICLasso import HSICLasso as Other

    other = Other()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.input(X, y.astype(float))
        method = other.classification if labels else other.regression
        method(number, B=0, n_jobs=THREADS)
    weights = np.zeros(X.shape[1])
    chosen = other.get_index()
    weights[chosen] = other.beta[chosen, 0]
    found.append(weights)


def relevant_ten(n: int, p: int) -> tuple[Array, Labels]:
    """Return noise, but for ten features of decreasing effect, half of them even functions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    score = sum((X[:, 2 * j] + X[:, 2 * j + 1] ** 2 - 1.0) / (j + 1.0) for j in range(5))
    return X, np.where(score + 0.3 * rng.normal(size=n) > 0.0, 1, -1)


def compared_tables() -> dict[str, tuple[Array, Array, int, bool]]:
    """Return tables, targets, numbers of features to select, and whether targets are labels."""
    kin8nm = load_data_set("kin8nm")
    rows = np.random.default_rng(0).permutation(len(kin8nm.target))[:500]
    tables = {
        f"{name} n={n}": (*standardized_sample(name, n, seed=0), number, True)
        for name, n, number in (("sonar", 208, 10), ("spambase", 500, 10), ("segment", 500, 5))
    }
    tables["mfeat n=300"] = (*standardized_sample("mfeat", 300, seed=0), 20, True)
    response = kin8nm.target[rows] / kin8nm.target[rows].std()
    tables["kin8nm n=500"] = (kin8nm.data[rows], response, 4, False)
    tables["synthetic n=300 p=2000"] = (*relevant_ten(300, 2000), 10, True)
    return tables
