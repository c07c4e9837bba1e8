"""Classification as logistic problems: one for two classes, else each class against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mercer._data.resampling import Resampling, as_resampling
from mercer._data.types import Array
from mercer._data.weights import SampleWeights
from mercer._model_selection.calibration import normalized_probabilities
from mercer._solvers.glm import GLM
from mercer._solvers.likelihoods import Bernoulli, bounded_probabilities, log_losses


@dataclass(frozen=True)
class LogisticProblems:
    """The logistic problems of the classes that are present among the samples.

    Attributes
    ----------
    codes : ndarray of int of shape (n_samples,)
        Class index of each sample.
    n_classes : int
        Number of all classes, including those without samples.
    there : ndarray of int of shape (n_there,)
        Indices of the classes that have samples.
    likelihoods : list of Bernoulli
        The likelihood of the second class if there are two, otherwise one for each class.
    resampling : Resampling
        Which samples are left out together.

    Examples
    --------
    >>> from mercer._data.weights import UnitWeights
    >>> problems = LogisticProblems.of(np.array([0, 2, 2]), 3, UnitWeights(3))
    >>> problems.odds(np.array([[1.0], [-1.0]])).round(2)
    array([[-1.  , -1.39,  1.  ],
           [ 1.  , -1.39, -1.  ]])
    """

    codes: NDArray[np.intp]
    n_classes: int
    there: NDArray[np.intp]
    likelihoods: list[Bernoulli]
    resampling: Resampling

    @classmethod
    def of(
        cls,
        codes: NDArray[np.intp],
        n_classes: int,
        weights: SampleWeights,
        resampling: Resampling | None = None,
    ) -> LogisticProblems:
        """Set up the problems of the classes that have samples.

        Parameters
        ----------
        codes : ndarray of int of shape (n_samples,)
            Class index of each sample. At least two classes have samples.
        n_classes : int
        weights : SampleWeights
        resampling : Resampling, default=None
            By default samples are left out one at a time.
        """
        there = np.unique(codes)
        against_rest = there[1:] if len(there) == 2 else there
        likelihoods = [Bernoulli((codes == k).astype(float), weights) for k in against_rest]
        return cls(codes, n_classes, there, likelihoods, as_resampling(resampling, len(codes)))

    def on(self, gram: Array) -> GLM:
        """Return the problems on the Gram matrix of a kernel.

        Parameters
        ----------
        gram : ndarray of shape (n_samples, n_samples)
        """
        return GLM(gram, self.likelihoods, self.resampling)

    def odds(self, values: Array) -> Array:
        """Return the log-odds of all classes from the log-odds of the problems.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_problems)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The log-odds of two classes are -v and v. The log-odds of absent classes follow the rule
            of succession.
        """
        found = np.full((len(values), self.n_classes), -np.log(len(self.codes) + 1.0))
        both = np.hstack([-values, values]) if len(self.there) == 2 else values
        found[:, self.there] = both
        return found

    def probabilities(self, values: Array) -> Array:
        """Return the probabilities of all classes, each at least 1 / (n_samples + 2).

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_problems)
            Log-odds of the problems.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        found = np.zeros((len(values), self.n_classes))
        found[:, self.there] = normalized_probabilities(expit(values))
        return bounded_probabilities(found, len(self.codes))

    def log_loss(self, left_out: Sequence[Array], samples: NDArray[np.intp]) -> float:
        """Return the mean log-loss of the samples that are left out.

        Parameters
        ----------
        left_out : sequence of ndarray of shape (n_samples, 1)
            Log-odds of each problem, NaN for samples that are never left out.
        samples : ndarray of int
            Indices of the samples to which the rows of `left_out` belong.
        """
        probabilities = self.probabilities(np.hstack(left_out))
        known = np.flatnonzero(np.isfinite(probabilities).all(axis=1))
        rows = samples[known]
        losses = log_losses(probabilities[known], self.codes[rows])
        return float(self.likelihoods[0].weights.take(rows).mean(losses))
