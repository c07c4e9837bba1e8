"""Base class of the two-stage estimators, their first stage, and cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from mercer._learners import ContinuousAlignment
from mercer._targets import output_kernel_of_part
from mercer._two_stage.automatic_learner import candidate_learners
from mercer._two_stage.priced_learners import PricedLearner, comparable, priced_learners
from mercer._typing import Array, Features
from mercer._validation import warn
from mercer._weights.ridge import check_definite

NESTED_ABOVE = 10
"""Learned parameters above which ``nested="auto"`` learns the kernel anew in each fold."""

_CONSTANT = 1e-12
"""A kernel is constant up to rounding if centering leaves less than this part of its values."""

_FOLDS = 5
"""The number of folds where `cv` is None."""

_FOLDS_SEED = 0
"""Seed by which rows are shuffled into folds: in the order of a table that is sorted by its target,
folds would train on other values than they hold out."""

Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


class TwoStage(BaseEstimator):
    """Base class of the two-stage estimators: prediction, tags, and checks of the settings."""

    _task: ClassVar[Literal["classification", "regression"]]
    _fits_task: ClassVar[Callable[[Any], bool]]

    learner: Any
    predictor: Any
    nested: Any
    n_jobs: int | None
    learner_: Any
    predictor_: Any
    candidates_: list[PricedLearner]

    def predict(self, X: Features) -> Array:
        """Predict with the learned kernel.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            For a learner of precomputed kernels, a stack of shape (n_samples, n_train, n_kernels).

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or responses.
        """
        rows = self._kernel_rows(X)
        return np.asarray(self.predictor_.predict(rows))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(first_stage(self.learner)).input_tags
        return tags

    def _kernel_rows(self, X: Features) -> Array:
        """Evaluate the learned kernel between new samples and the training set."""
        check_is_fitted(self)
        return np.asarray(self.learner_.transform(X), dtype=float)

    def _check_settings(self) -> None:
        """Refuse settings that cannot work, before any work."""
        if isinstance(self.learner, str) and self.learner != "auto":
            raise ValueError(f"learner must be 'auto' or a learner; got {self.learner!r}.")
        if not (isinstance(self.nested, bool | np.bool_) or self.nested == "auto"):
            raise ValueError(f"nested must be 'auto', True or False; got {self.nested!r}.")
        if self.predictor is None:
            return
        if not type(self)._fits_task(self.predictor):
            raise ValueError(f"predictor must be a {self._task} estimator; got {self.predictor!r}.")
        if not get_tags(self.predictor).input_tags.pairwise:
            raise ValueError(
                "predictor must take a precomputed kernel matrix, as SVC(kernel='precomputed') "
                f"does; got {self.predictor!r}."
            )

    def _chooses_learner(self) -> bool:
        """Whether the learner is chosen by this estimator."""
        return self.learner is None or isinstance(self.learner, str)

    def _candidates(self, X: Features, y: NDArray[Any], **settings: Any) -> list[Self]:
        """Return this estimator, not fitted, with each learner among which it chooses.

        They are those that ``learner="auto"`` selects, or, where `learner` is None, those of
        `candidates_`, which is set, of nearly the lowest price.
        """
        settings = {**self.get_params(deep=False), **settings}
        if self.learner is None:
            self.candidates_ = priced_learners(X, y, self._task)
            learners = [candidate.learner for candidate in comparable(self.candidates_)]
        else:
            learners = candidate_learners(X, y, self._task)
        return [type(self)(**{**settings, "learner": learner}) for learner in learners]

    def _adopt(self, fitted: Self) -> Self:
        """Take over the fitted attributes of another estimator of this class."""
        for name, value in vars(fitted).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self


def first_stage(learner: Any) -> Any:
    """Return the learner that a parameter `learner` stands for.

    Parameters
    ----------
    learner : estimator, "auto" or None
    """
    return ContinuousAlignment() if learner is None or isinstance(learner, str) else learner


def split_by_rows(learner: Any, X: Features) -> Features:
    """Return training samples in a layout that splits by rows: stacks with the kernels last.

    Parameters
    ----------
    learner : estimator, "auto" or None
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    """
    convert = getattr(first_stage(learner), "as_input", None)
    return X if convert is None else convert(X)


def learn_gram(
    estimator: TwoStage, X: Features, y: NDArray[Any], params: dict[str, Any]
) -> tuple[Any, Array]:
    """Fit the learner of an estimator, with some parameters replaced.

    Parameters
    ----------
    estimator : TwoStage
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    params : dict

    Returns
    -------
    learner : estimator
        The fitted learner.
    gram : ndarray of shape (n_samples, n_samples)
        The learned Gram matrix, at unit scale.
    """
    learner = clone(first_stage(estimator.learner)).set_params(**params)
    if "task" in learner.get_params(deep=False):
        learner.set_params(task=estimator._task)
    if hasattr(learner, "set_output"):
        learner.set_output(transform="default")
    gram = np.array(learner.fit(X, y).transform(X), dtype=float, order="C")
    if np.any(learner.weights_ < 0.0):
        check_definite(eigvalsh(fit_centerer(gram).transform(gram), check_finite=False))
    if gram.trace() / len(gram) - gram.mean() <= _CONSTANT * np.abs(gram).max():
        warn("The learned kernel is constant on the training set, and so are all predictions.")
    return learner, gram


def store_learner(estimator: TwoStage, learner: Any) -> None:
    """Set the fitted learner, and what it learned, on an estimator.

    Parameters
    ----------
    estimator : TwoStage
    learner : estimator
        The fitted learner.
    """
    estimator.learner_ = learner
    for name in ("kernel_", "weights_", "alignment_", "history_", "n_iter_"):
        setattr(estimator, name, getattr(learner, name))


def split_into_folds(cv: Any, X: Features, codes: NDArray[np.intp] | None = None) -> list[Split]:
    """Return the folds that a parameter `cv` stands for.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
        A number of folds takes rows in a random order, always the same.
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    codes : ndarray of int of shape (n_samples,), default=None
        Classes, by which folds are stratified for a number.

    Returns
    -------
    list of (ndarray, ndarray)
        Training and held-out samples.
    """
    if cv is None or isinstance(cv, Integral):
        kind = KFold if codes is None else StratifiedKFold
        cv = kind(_FOLDS if cv is None else cv, shuffle=True, random_state=_FOLDS_SEED)
    return list(check_cv(cv).split(X, codes))


def learns_in_folds(estimator: TwoStage) -> bool:
    """Tell whether the kernel is learned anew in each fold.

    Parameters
    ----------
    estimator : TwoStage
        With a fitted learner.
    """
    if estimator.nested != "auto":
        return bool(estimator.nested)
    return n_learned_parameters(estimator.learner_) > NESTED_ABOVE


def along_folds(
    estimator: TwoStage,
    path: Callable[..., Any],
    X: Features,
    y: NDArray[Any],
    gram: Array,
    *,
    splits: list[Split],
    targets: NDArray[Any],
) -> list[Any]:
    """Evaluate a path of predictors in each fold.

    Parameters
    ----------
    estimator : TwoStage
        With a fitted learner.
    path : callable
        From the centered Gram matrix of the training samples, their targets, the kernel between
        held-out and training samples, and the held-out targets.
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        What kernels are learned from.
    gram : ndarray of shape (n_samples, n_samples)
        The centered Gram matrix of all samples.
    splits : list of (ndarray, ndarray)
        Training and held-out samples.
    targets : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        What `path` is given parts of.

    Returns
    -------
    list
        What `path` returns for each fold.
    """
    nested = learns_in_folds(estimator)

    def fold(train: NDArray[np.intp], test: NDArray[np.intp]) -> Any:
        if nested:
            within, across = _nested_matrices(estimator, X, y, train, test)
        else:
            within, across = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        return path(within, targets[train], across, targets[test])

    # The solvers release the interpreter's lock, and threads share the Gram matrix.
    run = Parallel(n_jobs=estimator.n_jobs, prefer="threads")
    return list(run(delayed(fold)(train, test) for train, test in splits))


def _nested_matrices(
    estimator: TwoStage,
    X: Features,
    y: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> tuple[Array, Array]:
    """Learn the kernel on the training samples of a fold; return its centered matrices."""
    fitted = estimator.learner_
    params: dict[str, Any] = getattr(fitted, "selected_params", dict)()
    part, outputs = _safe_split(estimator, X, y, train)
    if "output_kernel" in fitted.get_params(deep=False):
        among = output_kernel_of_part(fitted.output_kernel, y, outputs)
        params = {**params, "output_kernel": among}
    learner, gram = learn_gram(estimator, part, outputs, params)
    rows = np.asarray(learner.transform(_safe_split(estimator, X, None, test, train)[0]))
    centerer = fit_centerer(gram)
    return centerer.transform(gram, copy=False), centerer.transform(rows)


def n_learned_parameters(learner: Any) -> int:
    """Count the numbers that a learner has read off the labels.

    These are the distinct parameters of its kernel, unless its `kernels` were given, and all but
    one of the distinct weights that are not zero.

    Parameters
    ----------
    learner : estimator
        A fitted learner.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.kernels import Gaussian
    >>> from mercer._learners import KernelOptimization, UniformCombination
    >>> X, y = load_iris(return_X_y=True)
    >>> n_learned_parameters(KernelOptimization(Gaussian(ard=True)).fit(X, y))
    4
    >>> n_learned_parameters(UniformCombination().fit(X, y))
    0
    """
    n_weights = np.unique(learner.weights_[learner.weights_ != 0.0]).size
    searched = "kernels" not in learner.get_params(deep=False)
    return max(n_weights - 1, 0) + (np.unique(learner.kernel_.theta).size if searched else 0)


def fit_centerer(gram: Array) -> KernelCenterer:
    """Return a fitted centerer that returns arrays, whatever output scikit-learn is set to.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    """
    return KernelCenterer().set_output(transform="default").fit(gram)
