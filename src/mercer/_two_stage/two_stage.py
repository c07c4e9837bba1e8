"""Base class of the two-stage estimators, their first stage, and cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_array, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._callbacks import CallbackSupportMixin, current_hooks, reported_steps
from mercer._gram.dense import UnitScale
from mercer._gram.sample_weights import repeated_rows, weighted_mean
from mercer._kernel_terms import KernelTermsMixin
from mercer._learners import ContinuousAlignment
from mercer._model_selection.held_out import Splits
from mercer._model_selection.kernel_prices import sample_rows
from mercer._model_selection.leave_one_out import encode_target
from mercer._nystroem.approximation import (
    check_approximation,
    is_exact,
    number_of_components,
)
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._nystroem.training_rows import (
    TrainingRows,
    number_of_rows,
    predict_rows,
    sampled_rows,
)
from mercer._nystroem.width_factor import rescaled_kernel
from mercer._two_stage.automatic_learner import candidate_learners
from mercer._two_stage.labeled_samples import LabeledSamples, fitted
from mercer._two_stage.penalty_grids import grid_results
from mercer._two_stage.priced_learners import EvaluatedLearner, comparable, priced_learners
from mercer._two_stage.stage_checks import check_folds, check_learner, check_predictor
from mercer._typing import Array, Features
from mercer._validation import check_bool, check_has_rows, check_number, table_advice, warn
from mercer._weights.ridge import check_definite

_CONSTANT = 1e-12
"""A kernel is constant up to rounding if centering leaves less than this part of its values."""

_CENTER_ROWS = 20_000
"""Centers of Nyström features are drawn from a sample of at most so many rows."""

_RESIDUAL_ROWS = 5000
"""Prediction intervals on Nyström features come from the residuals of at most so many rows."""

_MATRICES = 4
"""An exact fit has so many n x n matrices in memory at a time."""


class TwoStage(KernelTermsMixin, CallbackSupportMixin, BaseEstimator):
    """Base class of the two-stage estimators: prediction, tags, and checks of the settings."""

    _task: ClassVar[Literal["classification", "regression"]]
    _fits_task: ClassVar[Callable[[Any], bool]]

    learner: Any
    predictor: Any
    cv: Any
    nested: Any
    approximation: str
    n_components: int | str
    max_samples: int
    random_state: Any
    n_jobs: int | None
    verbose: bool
    alpha_: float
    cv_residuals_: Array
    cv_results_: dict[str, Any]
    learner_: Any
    kernel_: Any
    predictor_: Any
    candidates_: list[EvaluatedLearner]
    _kept: NDArray[np.intp] | None = None
    """Columns of stacks that hold kernels with samples of positive weight; None for all."""

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
        return self._second_stage(X, "predict")

    def _second_stage(self, X: Any, method: str) -> Array:
        """What a method of the second stage returns for rows, or for their kernel values."""
        check_is_fitted(self)
        function = getattr(self.predictor_, method)
        if self._is_approximate():
            found: Array = predict_rows(self, X, function)
            return found
        return np.asarray(function(self._kernel_rows(X)))

    def _is_approximate(self) -> bool:
        """Whether the second stage is fitted, and on Nyström features."""
        return isinstance(getattr(self, "predictor_", None), NystroemModel)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        learner = first_stage(self.learner)
        # A learner that cannot work has no tags, and is refused with a message by `fit`.
        if hasattr(learner, "__sklearn_tags__") and not isinstance(learner, type):
            tags.input_tags = get_tags(learner).input_tags
        return tags

    def _kernel_rows(self, X: Features) -> Array:
        """Evaluate the learned kernel between new samples and the training set."""
        # The sizes of stacks are checked by the learner, which knows their layouts, and so is what
        # is no table.
        is_table = len(getattr(X, "shape", ())) == 2
        if is_table and not get_tags(self).input_tags.three_d_array:
            validate_data(self, X, reset=False, skip_check_array=True)
        if self._kept is not None:
            X = split_by_rows(self.learner, X)[:, self._kept]
        return np.asarray(self.learner_.transform(X), dtype=float)

    def _check_settings(self) -> None:
        """Refuse settings that cannot work, before any work."""
        check_learner(self.learner)
        if not (isinstance(self.nested, bool | np.bool_) or self.nested == "auto"):
            raise ValueError(f"nested must be 'auto', True or False; got {self.nested!r}.")
        check_folds(self.cv)
        check_approximation(self.approximation, self.n_components)
        check_number("max_samples", self.max_samples, whole=True, low=2)
        check_bool("verbose", self.verbose)
        if self.predictor is not None:
            check_predictor(self.predictor, self._task, type(self)._fits_task)

    def _fits_exactly(self, X: Any, sample_weight: Any) -> bool:
        """Whether all rows of positive weight are fitted exactly.

        Raises
        ------
        ValueError
            If there are no rows, or if an approximation is asked for, and `predictor` or the
            learner needs Gram matrices.
        MemoryError
            If an exact fit needs more memory than there is.
        """
        check_has_rows(number_of_rows(X), type(self).__name__)
        n_rows = number_of_rows(X, sample_weight)
        exact_only = self.predictor is not None or get_tags(self).input_tags.three_d_array
        if exact_only and self.approximation == "nystroem":
            raise ValueError(
                "approximation='nystroem' needs samples by features, and no predictor of "
                "precomputed kernels."
            )
        approximation = "exact" if exact_only else self.approximation
        announcer = type(self).__name__ if self.verbose else ""
        return is_exact(approximation, n_rows, _MATRICES, announcer=announcer)

    def _fit_approximation(
        self, X: Any, y: Any, sample_weight: Any, alphas: Any, **checks: Any
    ) -> Self:
        """Learn the kernel from a sample, and fit ridge regression on Nyström features to all rows.

        The penalty is chosen by five-fold cross-validation.
        """
        state = self.random_state
        data = sampled_rows(
            self, X, y, sample_weight, max_rows=_CENTER_ROWS, random_state=state, **checks
        )
        assert data.source is not None
        classes = self._task == "classification"
        target = encode_target(data.y, classification=classes, weights=data.weights)
        if target.classes is not None:
            check_classification_targets(data.y)
            if len(target.classes) < 2:
                raise ValueError("The number of classes has to be greater than one; got 1 class")
        with reported_steps(self, 2) as report:
            rows = sample_rows(len(data.y), self.max_samples, target.codes, state)
            encoding = TargetEncoding.of_target(target, one_dimensional=data.y.ndim == 1)
            store_learner(self, self._learned_from(rows, data, encoding))
            report()
            n_rows = data.source.count_rows()
            current_hooks().on_start(n_rows)
            self.predictor_ = fit_nystroem(
                self.kernel_,
                data,
                encoding,
                n_components=number_of_components(self.n_components, n_rows),
                alphas=None if isinstance(alphas, str) else np.atleast_1d(alphas),
                random_state=state,
            )
            report()
        if self._task == "regression":
            self.cv_residuals_ = _held_out_residuals(self.predictor_, data)
        choice = self.predictor_.choice
        self.alpha_ = choice.alpha
        self.cv_results_ = grid_results("alpha", choice.alphas, 1.0 - choice.losses[None])
        return self

    def _learned_from(
        self, rows: NDArray[np.intp], data: TrainingRows, encoding: TargetEncoding
    ) -> Any:
        """The learner fitted to some rows, its widths rescaled to all unless the user gave them."""
        part = LabeledSamples(data.X[rows], data.y[rows], data.weights_of(rows))
        table = _named(data, rows)
        learner = fitted(_for_task(clone(self._learner_of(part)), self._task), table, part)
        if self.learner is not None and getattr(learner, "_widths_are_given", True):
            return learner
        kernel = rescaled_kernel(learner.kernel_, data, encoding, self.random_state)
        if kernel == learner.kernel_:
            return learner
        if self.learner is None:
            best = self.candidates_[0]
            learner.set_params(kernels=kernel.kernels)
            used = replace(best, description=kernel.kernels[0].describe(), learner=clone(learner))
            self.candidates_[0] = used
        return learner._refitted(kernel.kernels, table, part.y, part.weights)

    def _learner_of(self, data: LabeledSamples) -> Any:
        """The learner, chosen by leave-one-out errors of ridge regression where none is given."""
        if self.learner is None:
            self.candidates_ = priced_learners(
                data.X, data.y, self._task, data.weights, machines=False
            )
            return self.candidates_[0].learner
        if isinstance(self.learner, str):
            return candidate_learners(data.X, data.y, self._task, data.weights)[-1]
        return self.learner

    def _chooses_learner(self) -> bool:
        """Whether the learner is chosen by this estimator."""
        return self.learner is None or isinstance(self.learner, str)

    def _candidates(
        self, data: LabeledSamples, splits: Splits | None, *, searches: bool, **settings: Any
    ) -> list[Self]:
        """Return this estimator, not fitted, with each learner among which it chooses.

        They are those that ``learner="auto"`` selects, or, where `learner` is None, those of
        `candidates_`, which is set, of nearly the lowest error. Folds choose where `cv` is given,
        and the penalty if it `searches` for one.
        """
        with table_advice():
            # Messages name this estimator, and not a learner that the user has not chosen.
            check_array(data.X, accept_sparse="csr", estimator=self, input_name="X")
        cv, splits = splits or None, splits if splits and self.cv is not None else None
        changed = {"verbose": False, "cv": cv if searches else None, **settings}
        settings = {**self.get_params(deep=False), **changed}
        if self.learner is None:
            self.candidates_ = priced_learners(
                data.X, data.y, self._task, data.weights, splits=splits
            )
            learners = [candidate.learner for candidate in comparable(self.candidates_)]
        else:
            learners = candidate_learners(data.X, data.y, self._task, data.weights, splits)
        return [type(self)(**{**settings, "learner": learner}) for learner in learners]

    def _adopt(self, fitted: Self) -> Self:
        """Take over the fitted attributes of another estimator of this class."""
        for name, value in vars(fitted).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self


def _held_out_residuals(model: NystroemModel, data: TrainingRows) -> Array:
    """Residuals of some rows, each predicted by the fit without its fold, as often as it counts."""
    assert data.positions is not None
    n = len(data.y)
    rows = np.unique(np.linspace(0, n - 1, min(n, _RESIDUAL_ROWS)).round().astype(int))
    predicted = model.out_of_fold(data.X[rows], data.positions[rows])
    residuals = np.asarray(data.y[rows] - model.encoding.decode(predicted))
    weights = data.weights_of(rows)
    return residuals if weights is None else residuals[repeated_rows(weights)]


def _named(data: TrainingRows, rows: NDArray[np.intp]) -> Features:
    """Some samples, as a data frame where the table is one whose columns a kernel may name."""
    names = getattr(data.names, "columns", None)
    if names is None or issparse(data.X):
        return data.X[rows]
    return type(data.names)(dict(zip(names, data.X[rows].T, strict=True)))


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
    estimator: TwoStage, data: LabeledSamples, params: dict[str, Any], learner: Any = None
) -> tuple[Any, Array]:
    """Fit the learner of an estimator, with some parameters replaced.

    Parameters
    ----------
    estimator : TwoStage
    data : LabeledSamples
    params : dict
    learner : estimator, default=None
        Fitted in place of that of the estimator.

    Returns
    -------
    learner : estimator
        The fitted learner.
    gram : ndarray of shape (n_samples, n_samples)
        The learned Gram matrix, at unit scale.
    """
    learner = first_stage(estimator.learner) if learner is None else learner
    learner = _for_task(clone(learner).set_params(**params), estimator._task)
    if hasattr(learner, "set_output"):
        learner.set_output(transform="default")
    gram = np.array(fitted(learner, data.X, data).transform(data.X), dtype=float, order="C")
    if np.any(learner.weights_ < 0.0):
        check_definite(eigvalsh(fit_centering(gram).apply(gram), check_finite=False))
    if gram.trace() / len(gram) - gram.mean() <= _CONSTANT * np.abs(gram).max():
        warn("The learned kernel is constant on the training set, and so are all predictions.")
    return learner, gram


def _for_task(learner: Any, task: str) -> Any:
    """The learner, made to take labels for classes or numbers for responses, where it asks."""
    return learner.set_params(task=task) if "task" in learner.get_params(deep=False) else learner


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


def fit_centering(gram: Array, weights: Array | None = None) -> UnitScale:
    """Return the centering of a Gram matrix, to be repeated on rows of new samples.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples in means.
    """
    return UnitScale(weighted_mean(gram, weights), 1.0, weights)
