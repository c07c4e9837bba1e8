"""Base class of the two-stage estimators: both stages, exact or on Nyström features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_array, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, indexable, validate_data

from mercer._data.folds import Split, sample_rows
from mercer._data.sample import Sample
from mercer._kernel_estimator import CallbackSupportMixin, TrainingData, reported_steps
from mercer._learners import ContinuousAlignment
from mercer._model_selection.encoded_target import TargetEncoding, encode_target
from mercer._nystroem.approximation import check_approximation, is_exact, number_of_components
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer._nystroem.training_rows import TrainingRows, number_of_rows, predict_rows, sampled_rows
from mercer._nystroem.width_factor import rescaled_kernel
from mercer._pass_hooks import current_hooks
from mercer._records import KernelTermsMixin
from mercer._solvers.grids import grid_results
from mercer._two_stage.first_stage import (
    LearnedGram,
    first_stage,
    fitted,
    for_task,
    learn_gram,
    split_by_rows,
)
from mercer._two_stage.learner_choice import (
    EvaluatedLearner,
    Fit,
    choose_form,
    comparable,
    isotropic_learners,
)
from mercer._two_stage.stage_checks import check_folds, check_learner, check_predictor
from mercer._typing import Array, Features
from mercer._validation import check_bool, check_has_rows, check_number, table_advice
from mercer.kernels._distances import check_squares

_RESIDUAL_ROWS = 5000
"""Prediction intervals on Nyström features come from the residuals of at most this many rows."""


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
        return is_exact(approximation, n_rows, announcer=announcer)

    def _fit_approximation(
        self, X: Any, y: Any, sample_weight: Any, alphas: Any, **checks: Any
    ) -> Self:
        """Learn the kernel from a sample, and fit ridge regression on Nyström features to all rows.

        The penalty is chosen by five-fold cross-validation.
        """
        state = self.random_state
        data = sampled_rows(self, X, y, sample_weight, random_state=state, **checks)
        assert data.source is not None
        classes = self._task == "classification"
        target = encode_target(data.y, classification=classes, weights=data.weights)
        if target.classes is not None:
            check_classification_targets(data.y)
            if len(target.classes) < 2:
                raise ValueError("The number of classes has to be greater than one; got 1 class")
        with reported_steps(self, 2) as report:
            rows = sample_rows(len(data.y), self.max_samples, target.codes, state)
            encoding = target.encoding
            self._keep(_learned(self._learned_from(rows, data, encoding)))
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
        part = Sample.of(data.X[rows], data.y[rows], data.weights.take(rows).given)
        table = _named(data, rows)
        learner = fitted(for_task(self._learner_of(part), self._task), table, part)
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
        return learner._refitted(kernel.kernels, table, part.y, part.weights.given)

    def _learner_of(self, sample: Sample) -> Any:
        """The learner of a second stage that is ridge regression."""
        if self.learner is None:
            return self._isotropic(sample, machines=False)[0].learner
        return self._learners(sample)[-1] if isinstance(self.learner, str) else self.learner

    def _chooses_learner(self) -> bool:
        """Whether the learner is chosen by this estimator."""
        return self.learner is None or isinstance(self.learner, str)

    def _isotropic(
        self, sample: Sample, splits: list[Split] | None = None, *, machines: bool = True
    ) -> list[EvaluatedLearner]:
        """Learners of isotropic kernels, the lowest left-out error first; sets `candidates_`."""
        data = self._validated(sample)
        self.candidates_ = isotropic_learners(data, self._task, splits, machines=machines)
        return self.candidates_

    def _learners(self, sample: Sample, splits: list[Split] | None = None) -> list[Any]:
        """The learners among which this estimator chooses.

        They are those of nearly the lowest left-out error; with ``learner="auto"``, a sum of
        isotropic kernels and, last, one that predicts clearly better, if any does. Folds choose
        where `cv` is given.
        """
        splits = splits if splits and self.cv is not None else None
        if self.learner is None:
            return [found.learner for found in comparable(self._isotropic(sample, splits))]
        sums = ContinuousAlignment(task=self._task)
        data = self._validated(sample)
        found = choose_form(data.samples(), data.target(self._task), sums._growth(), splits)
        return [sums] if isinstance(found, ContinuousAlignment) else [sums, found]

    def _validated(self, sample: Sample) -> TrainingData:
        """The samples as numbers; messages name this estimator, and no learner of its choice."""
        with table_advice():
            X = check_array(
                sample.X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_min_samples=2,
                estimator=self,
                input_name="X",
            )
        check_squares(X)
        n = len(sample)
        return TrainingData(X, sample.y, sample.weights, n_given=n, table=X, stored=X)

    def _samples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Sample, Sample]:
        """All samples, and those of positive weight."""
        X = split_by_rows(self.learner, X)
        validate_data(self, X, skip_check_array=True)
        tags = get_tags(self).input_tags
        given = Sample.of(*indexable(X, y), pairwise=tags.pairwise)
        sample = given.weighted(sample_weight)
        self._kept = sample.kept if tags.three_d_array else None
        return given, sample

    def _fit_stages(
        self,
        sample: Sample,
        splits: list[Split] | None,
        choose: Callable[[Iterable[Fit]], Fit],
    ) -> Self:
        """Fit both stages with the learner, or with each that is compared, and keep the best."""
        with reported_steps(self, 2) as report:
            if self._chooses_learner():
                learners = self._learners(sample, splits)
                report()
                found = choose(self._fit_both(learner, sample, splits) for learner in learners)
            else:
                found = self._fit_both(self.learner, sample, splits, report)
            report()
        return self._keep(found)

    def _fit_both(
        self,
        learner: Any,
        sample: Sample,
        splits: list[Split] | None,
        report: Callable[[], None] = lambda: None,
    ) -> Fit:
        """Learn a kernel, and fit the second stage to its Gram matrix."""
        learner, gram = learn_gram(learner, sample, self._task)
        report()
        if self.predictor is not None:
            return _learned(learner) | {"predictor_": fitted(clone(self.predictor), gram, sample)}
        return _learned(learner) | self._fit_predictor(learner, gram, sample, splits)

    def _fit_predictor(
        self, learner: Any, gram: Array, sample: Sample, splits: list[Split] | None
    ) -> Fit:
        """Choose the penalty, and fit the predictor to the learned Gram matrix."""
        raise NotImplementedError

    def _learned_gram(self, learner: Any, centered: Array, sample: Sample) -> LearnedGram:
        """The learned kernel, to be evaluated in folds."""
        return LearnedGram(learner, centered, sample, self._task, self.nested, self.n_jobs)

    def _keep(self, found: Fit) -> Self:
        """Set fitted attributes."""
        for name, value in found.items():
            setattr(self, name, value)
        return self


def _learned(learner: Any) -> Fit:
    """The fitted learner, and what it learned."""
    names = ("kernel_", "weights_", "alignment_", "history_", "n_iter_")
    return {"learner_": learner, **{name: getattr(learner, name) for name in names}}


def _held_out_residuals(model: NystroemModel, data: TrainingRows) -> Array:
    """Residuals of some rows, each predicted by the fit without its fold, as often as it counts."""
    assert data.positions is not None
    n = len(data.y)
    rows = np.unique(np.linspace(0, n - 1, min(n, _RESIDUAL_ROWS)).round().astype(int))
    predicted = model.out_of_fold(data.X[rows], data.positions[rows])
    residuals = np.asarray(data.y[rows] - model.decode(predicted))
    return np.asarray(data.weights.take(rows).repeated(residuals))


def _named(data: TrainingRows, rows: NDArray[np.intp]) -> Features:
    """Some samples, as a data frame where the table is one whose columns a kernel may name."""
    names = getattr(data.names, "columns", None)
    if names is None or issparse(data.X):
        return data.X[rows]
    return type(data.names)(dict(zip(names, data.X[rows].T, strict=True)))
