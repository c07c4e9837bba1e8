"""Combinations of predictors with nonnegative weights, learned from left-out predictions.

Members are combined by their deviations: predictions minus the mean of the training samples. A
left-out prediction itself contains the mean without the sample, which falls as the sample's own
target rises, so that weights of any sign could recover the target from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import lsq_linear, minimize
from scipy.special import expit, logit

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import N_FOLDS, Split, Splits
from mercer._data.types import Array, RandomState
from mercer._data.validation import ROUNDING
from mercer._data.weights import SampleWeights, as_weights

_OWN_PENALTY = 0.1
"""Penalty on the square of a member's slope in a logistic regression on this member alone."""

_PENALTIES = (6.0, 16.0, 10.0)
"""Penalties of a logistic combination of members at these slopes: on the square of the sum of its
weights, on the squares of their differences from the mean weight, and on the squares of the entries
of the mixing matrix. On nine tables of 400 and 1,000 rows, the log-loss is within .6 % of the
lowest of some fifteen settings, from a sixtieth of these to twice as much. Smaller ones had a
higher log-loss on single tables with rare classes."""


@dataclass(frozen=True)
class LinearCombination:
    """Weighted sum of deviations from the mean.

    Attributes
    ----------
    weights : ndarray of shape (n_members,)
        Weights between zero and one.
    """

    weights: Array

    @property
    def used(self) -> Array:
        """Indices of the members of positive weight."""
        return np.flatnonzero(self.weights)

    def take(self, members: Array) -> LinearCombination:
        """Return the sum, restricted to a subset of the members that has all used ones."""
        return LinearCombination(self.weights[members])

    def combine(self, deviations: Sequence[Array], means: Array) -> Array:
        """Return the combined predictions of some samples.

        Parameters
        ----------
        deviations : sequence of ndarray of shape (n_samples, n_outputs)
            Deviations of the predictions of each member from the means.
        means : ndarray of shape (n_outputs,) or (n_samples, n_outputs)
            Predictions without any member.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        pairs = zip(self.weights, deviations, strict=True)
        return np.asarray(means + sum((weight * found for weight, found in pairs), 0.0))

    def linear(self, means: Array) -> tuple[Sequence[Array], Array]:
        """Return matrices by which deviations are multiplied in a sum, and the sum's intercept.

        Parameters
        ----------
        means : ndarray of shape (n_outputs,)

        Returns
        -------
        matrices : sequence of ndarray of shape (n_outputs, n_outputs)
        intercept : ndarray of shape (n_outputs,)
        """
        return [weight * np.eye(len(means)) for weight in self.weights], means

    def shares(self, deviations: Sequence[Array], weights: SampleWeights) -> Array:
        """Return the share of each member in the combination, shape (n_members,): its weight."""
        return self.weights


@dataclass(frozen=True)
class LogisticCombination:
    """Probabilities of classes, or of several labels, from predicted deviations of indicators.

    Attributes
    ----------
    slopes : ndarray of shape (n_members, n_classes, n_classes)
        Matrices by which deviations are multiplied in the sum that is added to the logarithms of
        the class frequencies, or to the log-odds of the labels; diagonal for labels.
    intercepts : ndarray of shape (n_classes,)
        Intercepts that are added to this sum.
    least_frequency : float, default=None
        Frequencies of labels are at least this number, and at most one minus it. None if each
        sample has one class.
    """

    slopes: Array
    intercepts: Array
    least_frequency: float | None = None

    @property
    def used(self) -> Array:
        """Indices of the members whose slopes are not all zero."""
        return np.flatnonzero(self.slopes.any(axis=(1, 2)))

    def take(self, members: Array) -> LogisticCombination:
        """Return the same function, restricted to a subset of the members."""
        return replace(self, slopes=self.slopes[members])

    def combine(self, deviations: Sequence[Array], means: Array) -> Array:
        """Return the probabilities of the classes or labels; see :class:`LinearCombination`."""
        pairs = zip(deviations, self.slopes, strict=True)
        values = self.linear(means)[1] + sum((d @ s for d, s in pairs), 0.0)
        if self.least_frequency is not None:
            return np.asarray(expit(values))
        found = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def linear(self, means: Array) -> tuple[Sequence[Array], Array]:
        """Return the sum whose softmax, or logistic function, gives the probabilities."""
        if self.least_frequency is not None:
            base = logit(np.clip(means, self.least_frequency, 1.0 - self.least_frequency))
            return list(self.slopes), base + self.intercepts
        with np.errstate(divide="ignore"):
            return list(self.slopes), np.log(means) + self.intercepts

    def shares(self, deviations: Sequence[Array], weights: SampleWeights) -> Array:
        """Return members' mean absolute contributions, scaled to sum to one unless all are zero."""
        sizes = np.array(
            [
                float(weights.mean(np.abs(found @ slopes).mean(axis=1)))
                for found, slopes in zip(deviations, self.slopes, strict=True)
            ]
        )
        return sizes / (sizes.sum() or 1.0)


Combination: TypeAlias = LinearCombination | LogisticCombination
"""A function of the deviations predicted by several members."""


def linear_combination(
    deviations: Sequence[Array], targets: Array, weights: SampleWeights | Array | None = None
) -> LinearCombination:
    """Fit weights between zero and one such that the weighted sum of deviations fits the targets.

    Weights above one would amplify members that hardly deviate from the mean.

    Parameters
    ----------
    deviations : sequence of ndarray of shape (n_samples, n_outputs)
        Deviations of leave-one-out predictions from the mean of all other samples.
    targets : ndarray of shape (n_samples, n_outputs)
        Targets minus the same means.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None

    Returns
    -------
    LinearCombination
        Minimizes the sum of squares of the targets minus the weighted sum of deviations.

    Notes
    -----
    Weights that minimize the absolute error or a pinball loss, found by linear programs, do not
    predict new samples better in terms of these losses, apart from an added constant.

    References
    ----------
    Breiman (1996), Stacked regressions, Machine Learning 24.

    Examples
    --------
    >>> y = np.array([[1.0], [-1.0], [0.5]])
    >>> linear_combination([y, -y], y).weights
    array([1., 0.])
    """
    if not deviations:
        return LinearCombination(np.zeros(0))
    weights = as_weights(weights, len(targets))
    columns = [np.ravel(weights.scaled(found)) for found in [*deviations, targets]]
    # The triangular factor has the same normal equations as the full matrix.
    factor = np.asarray(np.linalg.qr(np.column_stack(columns), mode="r"))
    found = lsq_linear(factor[:, :-1], factor[:, -1], bounds=(0.0, 1.0), method="bvls")
    # Deviations that are rounding errors would not change predictions at any weight.
    sizes = np.linalg.norm(factor, axis=0)
    return LinearCombination(np.where(sizes[:-1] > ROUNDING * sizes[-1], found.x, 0.0))


def logistic_combination(
    deviations: Sequence[Array],
    codes: Array,
    frequencies: Array,
    weights: SampleWeights | Array | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> LogisticCombination:
    """Fit slopes and intercepts by maximum penalized likelihood.

    Parameters
    ----------
    deviations : sequence of ndarray of shape (n_samples, n_classes)
        Deviations of leave-one-out predictions of class indicators from the class frequencies among
        all other samples.
    codes : ndarray of int of shape (n_samples,)
        The classes.
    frequencies : ndarray of shape (n_classes,)
        Frequencies of the classes; classes of frequency zero get probability zero.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
        Weights with a mean of one.
    tol : float, default=1e-8
        The search ends when no derivative exceeds this fraction of the number of samples.
    max_iter : int, default=1000
        Maximum number of iterations; a few dozen are typical.

    Returns
    -------
    LogisticCombination

    Notes
    -----
    The slopes of member k are s_k (w_k I + V / n_used). Its own slope s_k is that of a logistic
    regression on this member alone, so that members of any scale, such as log-odds and predicted
    indicators, are alike; it is zero if the member predicts worse than the frequencies. The weights
    w_k are not negative, and the common mixing matrix V is zero for two classes. The penalty
    shrinks the weights towards equal weights rather than towards zero, and the matrix towards zero.

    Examples
    --------
    >>> indicators = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> deviations = [indicators - 0.5, 0.5 - indicators]
    >>> found = logistic_combination(deviations, np.array([0, 1, 0, 1]), np.array([0.5, 0.5]))
    >>> found.used
    array([0])
    """
    n_classes = len(frequencies)
    slopes, intercepts = np.zeros((len(deviations), n_classes, n_classes)), np.zeros(n_classes)
    present = np.flatnonzero(frequencies > 0.0)
    problem = _LogisticProblem(
        np.array([found[:, present].T for found in deviations]),
        (codes == present[:, None]).astype(float),
        np.log(frequencies[present]),
        as_weights(weights, len(codes)).values,
        (_OWN_PENALTY, 0.0, 0.0),
    )
    options = {"gtol": tol, "ftol": 0.0, "maxiter": max_iter, "maxcor": 30}
    own = [problem.of_member(k).solved(options)[0][0] for k in range(len(deviations))]
    if not len(used := np.flatnonzero(own)):
        return LogisticCombination(slopes, intercepts)
    scales, c = np.take(own, used)[:, None, None], present.size
    w, b, mixing = problem.scaled(used, scales).solved(options, mixes=c > 2)
    matrices = w[:, None, None] * np.eye(c)
    if mixing.size:
        matrices += mixing.reshape(c, c) / len(used)
    slopes[np.ix_(used, present, present)] = scales * matrices
    intercepts[present] = b - b.mean()
    return LogisticCombination(slopes, intercepts)


def label_combination(
    deviations: Sequence[Array], indicators: Array, weights: SampleWeights
) -> LogisticCombination:
    """Combine members for each of several labels on its own, as for two classes.

    Parameters
    ----------
    deviations : sequence of ndarray of shape (n_samples, n_labels)
        Deviations of left-out predictions of the indicators from the frequencies among all other
        samples.
    indicators : ndarray of shape (n_samples, n_labels)
    weights : SampleWeights
        Weights with a mean of one.

    Notes
    -----
    Frequencies of labels among n samples are at least 1 / (n + 2), by the rule of succession.

    Examples
    --------
    >>> Y = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    >>> found = label_combination([Y - 0.5, 0.5 - Y], Y, as_weights(None, 4))
    >>> found.used
    array([0])
    >>> found.combine([Y - 0.5, 0.5 - Y], Y.mean(axis=0))[0] > 0.5
    array([False,  True])
    """
    n_samples, n_labels = indicators.shape
    slopes, intercepts = np.zeros((len(deviations), n_labels, n_labels)), np.zeros(n_labels)
    for label, own in enumerate(indicators.T):
        both = [np.column_stack([-d[:, label], d[:, label]]) for d in deviations]
        frequency = float(weights.mean(own))
        frequencies = np.array([1.0 - frequency, frequency])
        found = logistic_combination(both, own.astype(int), frequencies, weights)
        # The difference of v and -v is twice v.
        slopes[:, label, label] = 2.0 * found.slopes[:, 1, 1]
        intercepts[label] = found.intercepts[1] - found.intercepts[0]
    return LogisticCombination(slopes, intercepts, 1.0 / (n_samples + 2.0))


@dataclass(frozen=True)
class _LogisticProblem:
    """Penalized negative log-likelihood per sample, with its gradient.

    Attributes
    ----------
    deviations : ndarray of shape (n_members, n_classes, n_samples)
    indicators : ndarray of shape (n_classes, n_samples)
    base : ndarray of shape (n_classes,)
        Logarithms of the class frequencies.
    weights : ndarray of shape (n_samples,)
    penalties : (float, float, float)
        On the square of the weights' sum, their differences, and the mixing matrix.
    """

    deviations: Array
    indicators: Array
    base: Array
    weights: Array
    penalties: tuple[float, float, float]

    def of_member(self, member: int) -> _LogisticProblem:
        """Return the problem of a member alone."""
        return replace(self, deviations=self.deviations[[member]])

    def scaled(self, members: Array, scales: Array) -> _LogisticProblem:
        """Return the problem of some members, multiplied by scales."""
        deviations = scales * self.deviations[members]
        return replace(self, deviations=deviations, penalties=_PENALTIES)

    def solved(self, options: dict[str, Any], *, mixes: bool = False) -> list[Array]:
        """Return weights, intercepts, and the entries of the mixing matrix, if there is one."""
        k, c, _ = self.deviations.shape
        start = np.concatenate([np.full(k, 1.0 / k), np.zeros(c + mixes * c * c)])
        bounds = [(0.0, None)] * k + [(None, None)] * (start.size - k)
        search: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "options": options}
        found = minimize(self, start, bounds=bounds, **search)
        return np.split(found.x, (k, k + c))

    def __call__(self, parameters: Array) -> tuple[float, Array]:
        k, c, n = self.deviations.shape
        w, b, mixing = np.split(parameters, (k, k + c))
        members = self.deviations.reshape(k, -1)
        logits = (w @ members).reshape(c, n)
        logits += (self.base + b)[:, None]
        if mixing.size:
            logits += mixing.reshape(c, c).T @ self._mean
        logits -= logits.max(axis=0)
        ratios = np.exp(logits)
        sums = ratios.sum(axis=0)
        excess = self.weights * (ratios / sums - self.indicators)
        of_sum, of_differences, of_mixing = self.penalties
        differences, total = w - w.mean(), w.sum()
        loss = float(self.weights @ (np.log(sums) - np.sum(self.indicators * logits, axis=0)))
        loss += 0.5 * (of_sum * total**2 + of_differences * differences @ differences)
        loss += 0.5 * of_mixing * mixing @ mixing
        gradient = [
            members @ excess.ravel() + of_sum * total + of_differences * differences,
            excess.sum(axis=1),
            (self._mean @ excess.T).ravel() + of_mixing * mixing if mixing.size else mixing,
        ]
        n_weighted = float(self.weights.sum())
        return loss / n_weighted, np.concatenate(gradient) / n_weighted

    @cached_property
    def _mean(self) -> Array:
        """Mean of the members' deviations, shape (n_classes, n_samples)."""
        return np.asarray(self.deviations.mean(axis=0))


CombinedWithout: TypeAlias = Callable[[Array], tuple[Combination, Sequence[Array]]]
"""Function from rows to a combination that depends only on them, and deviations of all samples."""


def combination_folds(
    target: EncodedTarget, random_state: RandomState, *, folded: int = 1000
) -> list[Split]:
    """Return the folds; the combination for a fold is learned without the labels of the fold.

    Parameters
    ----------
    target : EncodedTarget
    random_state : int, RandomState instance or None
        Divides the samples into folds.
    folded : int, default=1000
        Number of folds times number of samples, within limits of two and five folds. More folds of
        larger tables would take too long.
    """
    return target.folds(int(np.clip(folded // len(target), 2, N_FOLDS)), random_state)


def left_out_predictions(
    target: EncodedTarget, means: Array, choose: CombinedWithout, folds: Splits
) -> Array:
    """Compute combined predictions for all samples without using their own labels.

    Parameters
    ----------
    target : EncodedTarget
    means : ndarray of shape (n_samples, n_outputs)
        Predictions without any member.
    choose : callable
        Function from some rows to a combination that depends only on these, and to its members'
        left-out deviations for all samples.
    folds : list of (ndarray, ndarray)
        See :func:`combination_folds`.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
        NaN for samples that are never left out.

    Notes
    -----
    The combination for a fold is learned from its complement. Left-out predictions for the
    complement by members that were fitted with the fold would be biased: how well the members
    predict j from i is nearly the same as how well they predict i from j.
    """
    found, counts = np.zeros_like(means), np.zeros((len(means), 1))
    for train, test in folds:
        counts[test] += 1.0
        if len(train) > 1 and (target.codes is None or np.ptp(target.codes[train])):
            combination, deviations = choose(train)
            found[test] += combination.combine([d[test] for d in deviations], means[test])
        else:
            found[test] += means[test]
    return np.asarray(found / np.where(counts > 0.0, counts, np.nan))
