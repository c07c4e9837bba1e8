"""Support vector machines on a Gram matrix: fits, and the choice of C on held-out samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from mercer._data.folds import Split, Splits
from mercer._data.types import Array
from mercer._data.weights import SampleWeights, as_weights
from mercer._solvers.grids import extension, first_best, grid_results

C_GRID: Array = 2.0 ** np.arange(-5, 16, 2)
"""Values of C among which ``C="auto"`` searches."""

FIRST_TRIED: Array = C_GRID[2:7]
"""Values of C that are tried first, which suit most tables at unit scale."""

WIDER = 2.0
"""Approximate ratio of the Gaussian bandwidth that is best for support vector machines to the one
that is best for ridge regression on class indicators."""

_EXACT, _ROUGH = 1e-9, 1e-3
"""Tolerances of LIBSVM: the first takes two to five times as many iterations as the second."""


def fit_svm(
    C: float,
    gram: Array,
    labels: Array,
    weights: SampleWeights | Array | None = None,
    *,
    most_exact: int = 200,
    exact_iterations: int = 1000,
) -> SVC:
    """Fit a support vector machine to a Gram matrix.

    Parameters
    ----------
    C : float
    gram : ndarray of shape (n_samples, n_samples)
    labels : ndarray of shape (n_samples,)
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
    most_exact : int, default=200
        Problems of at most this many samples are solved to rounding precision, so that weighting
        samples is exactly equivalent to repeating them.
    exact_iterations : int, default=1000
        Maximum number of iterations per sample for these exact solutions.

    Notes
    -----
    Larger problems are solved to scikit-learn's tolerance, and so are smaller ones if rounding
    errors prevent LIBSVM from reaching a lower tolerance. It then warns, which callers prevent by
    :func:`early_stops_ignored`.
    """
    sample_weight = as_weights(weights, len(gram)).given
    svc = SVC(kernel="precomputed", C=C, tol=_ROUGH, break_ties=True)
    if len(gram) <= most_exact:
        exact = clone(svc).set_params(tol=_EXACT, max_iter=exact_iterations * len(gram))
        if exact.fit(gram, labels, sample_weight=sample_weight).fit_status_ == 0:
            return exact
    return svc.fit(gram, labels, sample_weight=sample_weight)


@contextmanager
def early_stops_ignored() -> Iterator[None]:
    """Ignore scikit-learn's warnings of machines that stop early.

    Warning filters are shared by all threads: the context is entered before machines are fitted in
    several threads, and left after them.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solver terminated early", ConvergenceWarning)
        yield


def class_decisions(values: Array, known: Array, n_classes: int) -> Array:
    """Return decision values with a column for each class, even for classes without samples.

    Parameters
    ----------
    values : ndarray of shape (n_rows,) or (n_rows, n_known)
        What the decision function of a classifier returns.
    known : ndarray of int of shape (n_known,)
        Indices of the classes that it was fitted to.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        For two classes, the negative decision value and the decision value. For more, the given
        values, such as the votes of the pairwise machines plus their confidences in scikit-learn's
        SVC; classes without training samples lose every vote.
    """
    if n_classes == 2:
        return np.column_stack([-values.ravel(), values.ravel()])
    if len(known) == n_classes:
        return np.asarray(values)
    if values.ndim == 1 or values.shape[1] == 1:
        # The votes and confidences that SVC reports for more than two classes.
        values = values.ravel()
        confidence = values / (3.0 * (np.abs(values) + 1.0))
        values = np.column_stack([(values <= 0.0) - confidence, (values > 0.0) + confidence])
    completed = np.zeros((len(values), n_classes))
    completed[:, known] = values + (n_classes - len(known))
    return completed


def pair_votes(values: Array, n_classes: int) -> Array:
    """Return decision values of classes from those of all pairs of classes, as scikit-learn's SVC.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_pairs)
        Positive values are votes for the first class of a pair, in the order of the machines of
        :func:`machine_coefficients`.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Numbers of votes plus confidences, which are less than a third of a vote.
    """
    first, second = _members_of_pairs(n_classes)
    sums, lost = values @ (first - second), values < 0.0
    return ~lost @ first + lost @ second + sums / (3.0 * (np.abs(sums) + 1.0))


@cache
def _members_of_pairs(n_classes: int) -> Array:
    """Return indicators of the first and the second class of each pair, (2, n_pairs, n_classes)."""
    pairs = np.array(np.triu_indices(n_classes, 1))
    return np.asarray(pairs[:, :, None] == np.arange(n_classes), dtype=float)


def machine_coefficients(machine: SVC, n_fitted: int) -> tuple[Array, Array]:
    """Return the coefficients of kernel values and the intercepts of a machine.

    Parameters
    ----------
    machine : SVC
    n_fitted : int
        Number of samples that the machine was fitted to.

    Returns
    -------
    coefficients : ndarray of shape (n_fitted, n_pairs)
        One column for two classes, whose positive values predict the second class, and one for
        each pair of more classes. Zero for all but support vectors.
    intercepts : ndarray of shape (n_pairs,)
    """
    n_classes = len(machine.classes_)
    pairs = list(zip(*np.triu_indices(n_classes, 1), strict=True))
    coefficients = np.zeros((n_fitted, len(pairs)))
    members = np.split(np.arange(len(machine.support_)), np.cumsum(machine.n_support_)[:-1])
    for column, (i, j) in enumerate(pairs):
        for one, other in ((i, j - 1), (j, i)):
            found = machine.dual_coef_[other][members[one]]
            coefficients[machine.support_[members[one]], column] = found
    return coefficients, np.array(machine.intercept_)


@dataclass(frozen=True)
class SVMPath:
    """Results of support vector machines along a grid of C on held-out samples.

    Attributes
    ----------
    correct : ndarray of bool of shape (n_grid, n_test)
        Which held-out samples are predicted correctly; False for values that were not tried.
    tried : ndarray of bool of shape (n_grid,)
        Which values of C were tried.
    expensive : ndarray of bool of shape (n_grid,)
        Which fits took very many iterations.
    unbounded : bool
        Whether no dual variable of the last machine is at its bound C, so that every larger C
        gives the same machine.
    decisions : list of ndarray of shape (n_test, n_classes)
        Decision values of the held-out samples for each C, None for values that were not tried; see
        :func:`class_decisions`.
    weights : SampleWeights
        Weights of the held-out samples.
    """

    correct: NDArray[np.bool_]
    tried: NDArray[np.bool_]
    expensive: NDArray[np.bool_]
    unbounded: bool
    decisions: list[Array | None]
    weights: SampleWeights

    @property
    def scores(self) -> Array:
        """Accuracy on the held-out samples, NaN for values not tried, shape (n_grid,)."""
        return np.where(self.tried, self.weights.mean(self.correct.T), np.nan)

    def joined(self, following: SVMPath) -> SVMPath:
        """Return this path continued by a path along larger C, on the same samples."""
        return SVMPath(
            np.concatenate([self.correct, following.correct]),
            np.concatenate([self.tried, following.tried]),
            np.concatenate([self.expensive, following.expensive]),
            following.unbounded,
            self.decisions + following.decisions,
            self.weights,
        )


def svm_path(
    gram: Array,
    labels: Array,
    rows: Array,
    held_out: Array,
    weights: tuple[SampleWeights, SampleWeights],
    *,
    grid: Array,
    n_classes: int,
    chosen: NDArray[np.bool_] | None = None,
) -> SVMPath:
    """Fit support vector machines with increasing C and evaluate them on held-out samples.

    Parameters
    ----------
    gram : ndarray of shape (n_train, n_train)
        Gram matrix of the training samples.
    labels : ndarray of int of shape (n_train,)
        Class indices of the training samples, below `n_classes`.
    rows : ndarray of shape (n_test, n_train)
        Kernel between the held-out samples and the training samples.
    held_out : ndarray of int of shape (n_test,)
        Classes of the held-out samples.
    weights : tuple of SampleWeights
        Weights of the training and of the held-out samples.
    grid : ndarray of shape (n_grid,)
        Values of C, ascending.
    n_classes : int
        Number of classes. Some may have no training samples.
    chosen : ndarray of bool of shape (n_grid,), default=None
        Mask of the values to try; all if None.

    Notes
    -----
    C enters the dual problem only as the bound of its variables. Once no variable of any pair of
    classes is at the bound, the optimality conditions hold for every larger C, and the machine is
    reused instead of being fitted again.
    """
    tried = np.ones(len(grid), dtype=bool) if chosen is None else chosen
    correct = np.zeros((len(grid), len(held_out)), dtype=bool)
    expensive, unbounded = np.zeros(len(grid), dtype=bool), False
    decisions: list[Array | None] = [None] * len(grid)
    decision = None
    for i in np.flatnonzero(tried):
        if not unbounded:
            # The inputs are valid, and checking them again would take longer than a small fit.
            with config_context(assume_finite=True, skip_parameter_validation=True):
                machine = fit_svm(grid[i], gram, labels, weights[0])
                values = machine.decision_function(rows)
                decision = class_decisions(values, machine.classes_, n_classes)
            right = decision.argmax(axis=1) == held_out
            bounds = grid[i] * weights[0].values[machine.support_]
            unbounded = bool((np.abs(machine.dual_coef_) < bounds).all())
            # A fit is expensive beyond this many iterations per sample.
            most = 400 if machine.tol == _EXACT else 100
            costly = machine.n_iter_.sum() > most * len(labels)
        correct[i], expensive[i], decisions[i] = right, costly, decision
    last = unbounded and bool(tried[-1])
    return SVMPath(correct, tried, expensive, last, decisions, weights[1])


Paths = Callable[[Splits, Array, NDArray[np.bool_] | None], list[SVMPath]]
"""Maps folds, a grid of C and a mask of the values to try (None for all) to results in each
fold."""


Scores = Callable[[Sequence[SVMPath]], Array]
"""Maps the results of all folds to scores of shape (n_folds, n_grid)."""


@dataclass(frozen=True)
class ChosenC:
    """The best C of a grid on held-out samples.

    Attributes
    ----------
    C : float
    results : dict of str to ndarray
        Accuracies or scores along the grid, under scikit-learn's names.
    correct : ndarray of bool of shape (n_held_out,)
        Which held-out samples are predicted correctly, fold by fold.
    decisions : ndarray of shape (n_held_out, n_classes)
        Decision values of the held-out samples, fold by fold.
    weights : ndarray of shape (n_held_out,)
        Weights of the held-out samples, fold by fold.
    unbounded : bool
        Whether values beyond the grid give the same machines.
    """

    C: float
    results: dict[str, Array]
    correct: NDArray[np.bool_]
    decisions: Array
    weights: Array
    unbounded: bool

    @property
    def accuracy(self) -> float:
        """Weighted fraction of held-out samples that are predicted correctly."""
        return float(np.average(self.correct, weights=self.weights))


def choose_c(
    paths_of: Paths,
    splits: list[Split],
    grid: Array,
    *,
    auto: bool,
    scores: Scores | None = None,
) -> ChosenC:
    """Choose C by accuracy in folds, or by other scores.

    Parameters
    ----------
    paths_of : callable
        Fits machines in given folds.
    splits : list of (ndarray, ndarray)
        Training and held-out samples.
    grid : ndarray of shape (n_grid,)
        Values of C to try first, ascending.
    auto : bool
        Whether values of C may be dropped after some folds (:func:`surviving_values`), and the grid
        may be extended.
    scores : callable, default=None
        Scores to use instead of accuracies. No value of C is dropped then.
    """
    judged = accuracies if scores is None else scores

    def raced(grid: Array) -> list[SVMPath]:
        found: list[SVMPath] = []
        while len(found) < len(splits):
            # Folds are run one at a time while values of C may be dropped.
            done = len(found)
            unsettled = done == 0 or (done == 1 and found[0].expensive.any())
            racing = auto and scores is None and unsettled
            batch = splits[done : done + 1] if racing else splits[done:]
            found += paths_of(batch, grid, surviving_values(found) if auto and found else None)
        return found

    paths = raced(grid)
    while auto:
        costly = bool(np.median([path.expensive[-1] for path in paths]))
        unbounded = all(path.unbounded for path in paths)
        means = judged(paths).mean(axis=0)
        further = extension(grid, means, C_GRID, unbounded=unbounded, expensive=costly)
        if not further.size:
            break
        added = raced(further)
        pairs = zip(*((added, paths) if further[0] < grid[0] else (paths, added)), strict=True)
        paths = [lower.joined(upper) for lower, upper in pairs]
        grid = np.sort(np.concatenate([grid, further]))
    results = grid_results("C", grid, judged(paths))
    best = first_best(results["mean_test_score"])
    return ChosenC(
        float(grid[best]),
        results,
        np.concatenate([path.correct[best] for path in paths]),
        np.concatenate([path.decisions[best] for path in paths]),
        np.concatenate([path.weights.values for path in paths]),
        all(path.unbounded for path in paths),
    )


def surviving_values(paths: Sequence[SVMPath], n_deviations: float = 2.5) -> NDArray[np.bool_]:
    """Return the values of C to try in further folds.

    Parameters
    ----------
    paths : sequence of SVMPath
        Results in the folds that were run so far.
    n_deviations : float, default=2.5
        A value is dropped if it is worse than the best by more standard deviations than this.

    Returns
    -------
    ndarray of bool of shape (n_grid,)

    Notes
    -----
    If classes overlap, fits with a large C take very many iterations. For an expensive value, the
    samples that only the best value predicts correctly and the samples that only the expensive
    value predicts correctly are counted. The value is dropped if the difference exceeds two and a
    half standard deviations under equal accuracy (McNemar's test). Larger expensive values are then
    dropped if they are at all worse than the best. This race can in principle drop the best value.

    References
    ----------
    Maron & Moore (1997), The racing algorithm. Artificial Intelligence Review 11.
    """
    correct = np.concatenate([path.correct for path in paths], axis=1)
    tried = np.logical_and.reduce([path.tried for path in paths])
    expensive = np.logical_or.reduce([path.expensive for path in paths])
    best = first_best(accuracies(paths).mean(axis=0))
    weights = np.concatenate([path.weights.values for path in paths])
    lost, won = (correct[best] & ~correct) @ weights, (~correct[best] & correct) @ weights
    out = ~tried | (expensive & (lost - won > n_deviations * np.sqrt(lost + won)))
    beyond = np.arange(len(out)) > best
    out |= expensive & (lost > won) & np.logical_or.accumulate(out & beyond)
    return np.asarray(~out)


def accuracies(paths: Sequence[SVMPath]) -> Array:
    """Return the accuracy of each C in each fold, NaN for C not tried, (n_folds, n_grid)."""
    return np.array([path.scores for path in paths])
