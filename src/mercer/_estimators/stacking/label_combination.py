"""Probabilities of several labels, each from the predictions of this label by several members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.types import Array
from mercer._data.weights import SampleWeights
from mercer._estimators.stacking.combination import logistic_combination


@dataclass(frozen=True)
class LabelCombination:
    """Log-odds of labels from predicted deviations of their indicators.

    Attributes
    ----------
    slopes : ndarray of shape (n_members, n_labels)
        Nonnegative factors of the deviations of each label in the sum that is added to the log-odds
        of its frequency.
    intercepts : ndarray of shape (n_labels,)
        Intercepts that are added to this sum.
    n_samples : int
        Number of samples n; frequencies are at least 1 / (n + 2), by the rule of succession.
    """

    slopes: Array
    intercepts: Array
    n_samples: int

    @property
    def used(self) -> Array:
        """Indices of the members whose slopes are not all zero."""
        return np.flatnonzero(self.slopes.any(axis=1))

    def take(self, members: Array) -> LabelCombination:
        """Return the same function, restricted to a subset of the members."""
        return LabelCombination(self.slopes[members], self.intercepts, self.n_samples)

    def combine(self, deviations: Sequence[Array], means: Array) -> Array:
        """Return the probabilities of the labels; see :class:`Combination`."""
        pairs = zip(deviations, self.slopes, strict=True)
        return np.asarray(expit(self.linear(means)[1] + sum((d * s for d, s in pairs), 0.0)))

    def linear(self, means: Array) -> tuple[Sequence[Array], Array]:
        """Return the matrices and intercept of the log-odds; see :class:`Combination`."""
        least = 1.0 / (self.n_samples + 2.0)
        base = logit(np.clip(means, least, 1.0 - least))
        return [np.diag(slopes) for slopes in self.slopes], base + self.intercepts

    def shares(self, deviations: Sequence[Array], weights: SampleWeights) -> Array:
        """Return members' mean absolute contributions, scaled to sum to one unless all are zero."""
        pairs = zip(deviations, self.slopes, strict=True)
        sizes = np.array([float(weights.mean(np.abs(d * s).mean(axis=1))) for d, s in pairs])
        return sizes / (sizes.sum() or 1.0)


def label_combination(deviations: Sequence[Array], target: EncodedTarget) -> LabelCombination:
    """Combine members for each label, as for two classes; see :func:`logistic_combination`.

    Parameters
    ----------
    deviations : sequence of ndarray of shape (n_samples, n_labels)
        Deviations of left-out predictions of the indicators from the frequencies among all other
        samples.
    target : EncodedTarget
        Target with indicators as values.

    Examples
    --------
    >>> from mercer._data.encoded_targets import encode_target
    >>> Y = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    >>> target = encode_target(Y, classification=False)
    >>> target = type(target)(**{**vars(target), "values": Y})
    >>> found = label_combination([Y - 0.5, 0.5 - Y], target)
    >>> found.used
    array([0])
    >>> found.combine([Y - 0.5, 0.5 - Y], Y.mean(axis=0))[0] > 0.5
    array([False,  True])
    """
    n_labels = target.n_outputs
    slopes, intercepts = np.zeros((len(deviations), n_labels)), np.zeros(n_labels)
    for label, frequency in enumerate(target.mean):
        both = [np.column_stack([-d[:, label], d[:, label]]) for d in deviations]
        found = logistic_combination(
            both,
            target.values[:, label].astype(int),
            np.array([1.0 - frequency, frequency]),
            target.weights,
        )
        # The difference of v and -v is twice v.
        slopes[:, label] = 2.0 * found.slopes[:, 1, 1]
        intercepts[label] = found.intercepts[1] - found.intercepts[0]
    return LabelCombination(slopes, intercepts, len(target))
