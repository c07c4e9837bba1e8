"""Features whose inner products are the kernels of ridge regression."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from mercer._data.types import Array
from mercer._data.weights import SampleWeights
from mercer._gram.samples import Samples, centered_features
from mercer._search.records import WeightStep
from mercer._search.targets import Target
from mercer._search.weights.mkl import LearnedWeights
from mercer.kernels._composition import inner_product_columns
from mercer.kernels._kernel import Kernel
from mercer.losses import Squared
from mercer.losses._loss import Problems


@dataclass(frozen=True)
class LinearFeatures:
    """The features of ridge regression, in groups whose inner products are the kernels.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features that kernels use, centered if there is an intercept, and multiplied by the
        square roots of the sample weights.
    Y : ndarray of shape (n_samples, n_problems)
        The responses, centered and multiplied in the same way.
    alpha : float
        The penalty.
    members : list of ndarray of int
        Indices of the features of each kernel.
    means : ndarray of shape (n_problems,)
        Means of the responses, or zeros if there is no intercept.
    weights : SampleWeights
    """

    X: Array
    Y: Array
    alpha: float
    members: list[Array]
    means: Array
    weights: SampleWeights

    @cached_property
    def positions(self) -> NDArray[np.intp]:
        """Indices of the features of all kernels, one kernel after the other."""
        return np.concatenate(self.members)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Number of features of each kernel."""
        return np.array([len(part) for part in self.members])

    @property
    def starts(self) -> NDArray[np.intp]:
        """Index in `positions` of the first feature of each kernel."""
        return np.cumsum(self.sizes) - self.sizes

    def traces(self) -> Array:
        """Return the traces of the kernels' Gram matrices, shape (n_kernels,)."""
        squares = np.einsum("ij,ij->j", self.X, self.X)
        return np.add.reduceat(squares[self.positions], self.starts)

    def restored(self, found: LearnedWeights, history: list[WeightStep]) -> LearnedWeights:
        """Return the machines for samples that are not centered and not multiplied by weights.

        Parameters
        ----------
        found : LearnedWeights
            Weights and machines for `X` and `Y`.
        history : list of WeightStep
            All steps that led to them.
        """
        values = found.values / self.weights.roots[:, None] + self.means
        dual = self.weights.scaled(found.dual)
        certificate = self.weights.scaled(found.dual_certificate)
        return replace(
            found, dual=dual, values=values, dual_certificate=certificate, history=history
        )

    def held_out(
        self, weights: Array, problems: Problems, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> Array:
        """Predict held-out samples by ridge regression with the learned weights.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels,)
            Weights of the unscaled kernels.
        problems : Problems
            The problems of the original samples.
        train, test : ndarray of int
            Indices of the training samples and the held-out samples.
        """
        scales = np.sqrt(_relevance(weights, self.members, self.X.shape[1]))
        own = self.weights.take(train).given
        features = self.X * scales / self.weights.roots[:, None]
        model = Ridge(alpha=self.alpha, fit_intercept=problems.intercept, solver="cholesky")
        found = model.fit(features[train], problems.Y[train], own).predict(features[test])
        return np.asarray(found).reshape(test.size, -1)


def linear_features(
    problems: Problems, samples: Samples, kernels: Sequence[Kernel]
) -> LinearFeatures | None:
    """Return the features of ridge regression if there are fewer of them than samples.

    Parameters
    ----------
    problems : Problems
    samples : Samples
    kernels : sequence of Kernel
        Bound to the samples.

    Returns
    -------
    LinearFeatures or None
        None for other losses, sparse tables, kernels that are not inner products of features, and
        too many features.
    """
    if samples.stacked or sp.issparse(samples.X) or not isinstance(problems.loss, Squared):
        return None
    chosen = inner_product_columns(kernels, samples.X.shape[1])
    if chosen is None:
        return None
    used, positions = np.unique(np.concatenate(chosen).astype(int), return_inverse=True)
    # If there are hardly fewer features than samples, Gram matrices are hardly larger.
    if used.size + problems.Y.shape[1] > 0.8 * samples.n_samples:
        return None
    features = samples.X if used.size == samples.X.shape[1] else samples.X[:, used]
    weights, means = problems.weights, np.zeros(problems.Y.shape[1])
    if problems.intercept:
        means = weights.mean(problems.Y)
        X = centered_features(features.astype(np.float64, copy=False), weights)
    else:
        X = weights.scaled(features.astype(np.float64, copy=False))
    members = np.split(positions, np.cumsum([len(part) for part in chosen])[:-1])
    Y = weights.scaled(problems.Y - means)
    return LinearFeatures(X, Y, problems.loss.alpha, members, means, weights)


def feature_alignment(kernels: Sequence[Kernel], weights: Array, X: Array, target: Target) -> float:
    """Compute the centered alignment of a weighted sum of linear kernels, without a Gram matrix.

    Parameters
    ----------
    kernels : sequence of Kernel
        Inner products of features.
    weights : ndarray of shape (n_kernels,)
    X : ndarray of shape (n_samples, n_features)
    target : Target
    """
    columns, Y = inner_product_columns(kernels, X.shape[1]), target.centered
    assert columns is not None
    relevance = _relevance(weights, columns, X.shape[1])
    used = np.flatnonzero(relevance)
    features = centered_features(X[:, used].astype(np.float64, copy=False), target.weights)
    features *= np.sqrt(relevance[used])
    size = float(np.linalg.norm(features.T @ features) * np.linalg.norm(Y.T @ Y))
    return float(np.square(features.T @ Y).sum()) / size if size > 0.0 else 0.0


def feature_coefficients(kernels: Sequence[Kernel], weights: Array, X: Array, dual: Array) -> Array:
    """Return the coefficients of the features that are equivalent to dual variables.

    Parameters
    ----------
    kernels : sequence of Kernel
        Inner products of features.
    weights : ndarray of shape (n_kernels,)
    X : ndarray of shape (n_samples, n_features)
    dual : ndarray of shape (n_samples, n_problems)

    Returns
    -------
    ndarray of shape (n_features, n_problems)
    """
    columns = inner_product_columns(kernels, X.shape[1])
    assert columns is not None
    return np.asarray(_relevance(weights, columns, X.shape[1])[:, None] * (X.T @ dual))


def _relevance(weights: Array, members: Sequence[Array], n_features: int) -> Array:
    """Return the total weight of the kernels that use each feature, shape (n_features,)."""
    relevance = np.zeros(n_features)
    for weight, columns in zip(weights, members, strict=True):
        np.add.at(relevance, columns, weight)
    return relevance
