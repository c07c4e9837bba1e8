"""Prediction sets, which contain the true class with a given probability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer._data.classes import ClassesMixin, of_all_classes
from mercer._data.types import Array, Features
from mercer._data.validation import check_bool, check_choice, check_coverage, warn
from mercer._data.weights import SampleWeights
from mercer._gram.devices import on_device
from mercer._model_selection.intervals import interval_masses, upper_quantiles
from mercer._model_selection.scoring import LeftOutProbabilities

TOLERANCE = 1e-7
"""Probabilities that differ by at most this are treated as equal, since fits have solver errors."""


@dataclass(frozen=True)
class HeldOutProbabilities:
    """Class probabilities of held-out samples.

    Attributes
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
    codes : ndarray of int of shape (n_samples,)
        The true classes.
    weights : SampleWeights
    groups : ndarray of int of shape (n_samples,), or None
        Groups to which samples belong; None if the samples are exchangeable with new samples.
    numbers : ndarray of int of shape (n_samples,), or None
        Indices of the samples among those passed to `fit`; None for all of them in order.
    """

    probabilities: Array
    codes: NDArray[np.intp]
    weights: SampleWeights
    groups: Array | None = None
    numbers: NDArray[np.intp] | None = None

    def classifier(self, classes: Array) -> LeftOutProbabilities:
        """Return a classifier that predicts the mean held-out probabilities of each sample.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            The labels.
        """
        numbers = np.arange(len(self.codes)) if self.numbers is None else self.numbers
        samples, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        totals = np.zeros((len(samples), self.probabilities.shape[1]))
        np.add.at(totals, inverse, self.probabilities)
        means = totals / np.bincount(inverse)[:, None]
        return LeftOutProbabilities(means, classes, samples, classes[self.codes[first]])

    def of_all(self, seen: NDArray[np.bool_] | None) -> HeldOutProbabilities:
        """Return the probabilities of all classes, zero for classes without samples.

        Parameters
        ----------
        seen : ndarray of bool of shape (n_all_classes,), or None
            The classes that have samples; None if all have.
        """
        if seen is None:
            return self
        probabilities, codes = of_all_classes(self.probabilities, seen), np.flatnonzero(seen)
        return replace(self, probabilities=probabilities, codes=codes[self.codes])

    def thresholds(self, coverage: float, score: str, *, by_class: bool) -> Array:
        """Compute the largest score with which each class enters a set, shape (n_classes,).

        Parameters
        ----------
        coverage : float
        score : {"least_ambiguous", "adaptive"}
        by_class : bool

        Returns
        -------
        ndarray of shape (n_classes,)
            Infinite if there are too few samples for the coverage.
        """
        n_classes = self.probabilities.shape[1]
        scores = nonconformity(self.probabilities, score)
        scores = scores[np.arange(len(scores)), self.codes]
        if not by_class:
            return np.full(n_classes, self._quantile(scores, np.arange(len(scores)), coverage))
        members = [np.flatnonzero(self.codes == k) for k in range(n_classes)]
        return np.array([self._quantile(scores, rows, coverage) for rows in members])

    def _quantile(self, scores: Array, rows: NDArray[np.intp], coverage: float) -> float:
        if not rows.size:
            return float(np.inf)
        groups = None if self.groups is None else self.groups[rows]
        masses = interval_masses(groups, self.weights.take(rows))
        return float(upper_quantiles(scores[None, rows], coverage, masses)[0])


def nonconformity(probabilities: Array, score: str) -> Array:
    """Compute nonconformity scores, which are low for classes that are probable.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
    score : {"least_ambiguous", "adaptive"}
        One minus the probability of the class, or the total probability of more probable classes.
        With the latter, a set contains the most probable classes until their sum passes a
        threshold.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The adaptive score of the most probable class is zero, and no threshold is smaller.

    Notes
    -----
    Classes whose probabilities differ by rounding errors are treated as equally probable, since
    their order may differ between two fits.

    Examples
    --------
    >>> nonconformity(np.array([[0.6, 0.3, 0.1], [0.4, 0.4, 0.2]]), "adaptive").round(2)
    array([[0. , 0.6, 0.9],
           [0. , 0. , 0.8]])
    """
    if score == "least_ambiguous":
        return 1.0 - probabilities
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    # Equally probable classes all get the sum before the first of them.
    before[:, 1:][-np.diff(ordered, axis=1) <= TOLERANCE] = 0.0
    found = np.empty_like(probabilities)
    np.put_along_axis(found, order, np.maximum.accumulate(before, axis=1), axis=1)
    return found


class PredictionSetMixin(ClassesMixin):
    """Methods of classifiers that keep probabilities of held-out samples."""

    _held_out: HeldOutProbabilities

    @on_device
    def predict_set(
        self,
        X: Features,
        coverage: float = 0.9,
        by_class: bool = False,
        *,
        score: str = "least_ambiguous",
    ) -> NDArray[np.bool_]:
        """Predict sets of classes that contain the true class with about a given probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability, between zero and one.
        by_class : bool, default=False
            Whether the sets contain the true class with this probability within each class, and not
            only over all samples together.
        score : {"least_ambiguous", "adaptive"}, default="least_ambiguous"
            The least ambiguous sets contain all classes above some probability, and are the
            smallest on average [1]_. They are empty if no class is probable enough. Adaptive sets
            contain the most probable classes, up to and including the class with which their total
            probability passes a threshold. No adaptive set is empty, and adaptive sets are larger
            for samples that are harder to classify [2]_.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Whether the set contains each of `classes_`.

        Raises
        ------
        ValueError
            If the coverage is not between zero and one, or the fit kept no held-out probabilities.

        Warns
        -----
        UserWarning
            If sets are empty, or if all sets contain a class because there are too few samples or
            groups for the coverage.

        Notes
        -----
        The thresholds are quantiles of scores that are computed from the held-out probabilities of
        training samples. If groups were given to `fit`, quantiles are taken over groups, and the
        coverage holds for samples of new groups. Except in stacks, the same probabilities determine
        the penalty, and often the kernel, so that sets of few samples cover less. If labels are
        noise, sets of `TwoStageClassifier` and `MKLClassifier` for a coverage of .9 contain .87 to
        .88 of new labels with 60 samples of two classes.

        References
        ----------
        .. [1] M. Sadinle, J. Lei, L. Wasserman (2019). Least ambiguous set-valued classifiers with
           bounded error levels. JASA 114.
        .. [2] Y. Romano, M. Sesia, E. J. Candes (2020). Classification with valid and adaptive
           coverage. NeurIPS.
        """
        check_coverage(coverage)
        check_bool("by_class", by_class)
        check_choice("score", score, ("least_ambiguous", "adaptive"))
        held_out = self._held_out_probabilities("Prediction sets need")
        thresholds = held_out.thresholds(coverage, score, by_class=by_class)
        units = "groups" if held_out.groups is not None else "training samples"
        # Quantiles of fewer values are infinite.
        needed = f"takes {ceil(coverage / (1.0 - coverage) - 1e-9)} {units}"
        for label in self.classes_[np.isinf(thresholds)].tolist() if by_class else []:
            warn(
                f"Every set holds the class {label!r}, because a coverage of {coverage:g} by class "
                f"{needed} of it."
            )
        if not by_class and np.isinf(thresholds).all():
            warn(f"Every set holds all classes, because a coverage of {coverage:g} {needed}.")
        probabilities = self.predict_proba(X)  # type: ignore[attr-defined]
        found = nonconformity(probabilities, score) <= thresholds + TOLERANCE
        empty = int(np.sum(~found.any(axis=1)))
        if empty:
            warn(
                f"{empty} of {len(found)} sets are empty: no class is probable enough. "
                "A higher coverage gives fewer empty sets, and score='adaptive' none."
            )
        return np.asarray(found)

    def held_out_classifier(self) -> LeftOutProbabilities:
        """Return the held-out probabilities as a classifier, for example to choose a threshold.

        The classifier takes indices of training samples and returns the probabilities that were
        predicted for them while they were held out. Thresholds can be chosen and curves drawn from
        these probabilities, as if the samples were new, without further fits.

        Returns
        -------
        classifier
            A fitted classifier, which takes indices of samples as features. Its `samples_`, of
            shape (n_held_out, 1), are all such indices, and `labels_` are their true labels.

        Raises
        ------
        ValueError
            If the fit kept no held-out probabilities.

        Notes
        -----
        `predict_set` uses the same probabilities. Samples are left out one at a time or held out
        fold by fold; on Nyström features, only some of the rows are held out. The probabilities of
        a sample that several folds hold out are averaged.

        Examples
        --------
        Choose a threshold for the probability of class 1, for two classes:

        >>> from sklearn.datasets import make_classification
        >>> from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
        >>> from mercer import TwoStageClassifier
        >>> X, y = make_classification(200, 5, weights=[0.8], random_state=0)
        >>> model = TwoStageClassifier().fit(X, y)
        >>> held_out = model.held_out_classifier()
        >>> tuned = TunedThresholdClassifierCV(held_out, cv="prefit", refit=False)
        >>> threshold = tuned.fit(held_out.samples_, held_out.labels_).best_threshold_
        >>> FixedThresholdClassifier(model, threshold=threshold).predict(X[:5]).shape
        (5,)
        """
        return self._held_out_probabilities("This classifier needs").classifier(self.classes_)

    def _held_out_probabilities(self, needed_by: str) -> HeldOutProbabilities:
        """Return the held-out probabilities, or raise an error that begins with `needed_by`."""
        check_is_fitted(self)
        if not hasattr(self, "_held_out"):
            raise ValueError(
                f"{needed_by} probabilities of held-out samples, which this fit does not have: it "
                "has several labels or too few samples, or was saved without them."
            )
        return self._held_out
