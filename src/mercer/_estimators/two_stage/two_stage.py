"""Base class of the two-stage estimators, which are exact or use Nyström features."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, indexable, validate_data

from mercer._blocks import tables
from mercer._blocks.approximation import EXACT_ROWS, check_approximation, fits_exactly
from mercer._blocks.blocks import BlockSource
from mercer._data.classes import fitted_classes
from mercer._data.copies import with_copies
from mercer._data.cross_validation import check_folds
from mercer._data.encoded_targets import encode_target
from mercer._data.folds import Split, sample_rows
from mercer._data.sample import Sample
from mercer._data.types import (
    Array,
    CrossValidator,
    Features,
    PerSample,
    RandomState,
    Scoring,
    Table,
)
from mercer._data.validation import table_advice
from mercer._estimators.fits import (
    CallbackSupportMixin,
    FittedAttributesMixin,
    reported_steps,
)
from mercer._estimators.kernel_estimator import TrainingData, new_samples
from mercer._estimators.kernel_learner import KernelLearner
from mercer._estimators.learners import ContinuousAlignment
from mercer._estimators.two_stage.checks import (
    check_in_use,
    check_learner,
    check_predictor,
    first_stage,
    split_by_rows,
)
from mercer._estimators.two_stage.feature_stage import FeatureStage
from mercer._estimators.two_stage.learned_gram import rows_of
from mercer._estimators.two_stage.learner_choice import (
    EvaluatedLearner,
    choose_form,
    comparable,
    isotropic_learners,
)
from mercer._estimators.two_stage.second_stage_expansion import second_stage_expansion
from mercer._estimators.two_stage.second_stages import Evaluation, ExactStage, best
from mercer._gram.dense import as_stack
from mercer._gram.device_calls import on_device
from mercer._gram.expansion import KernelExpansion
from mercer._model_selection.scoring import checked_scorer
from mercer._model_selection.updates import NOT_SUMS, UpdatesMixin
from mercer._nystroem.second_stage import NystroemModel, row_sums
from mercer._search.records import KernelTermsMixin
from mercer._solvers.ridge import Ridge
from mercer.kernels import WeightedSum
from mercer.kernels._distances import check_squares

Candidates: TypeAlias = list[EvaluatedLearner]


class TwoStage(
    UpdatesMixin, KernelTermsMixin, FittedAttributesMixin, CallbackSupportMixin, BaseEstimator
):
    """Base class of the two-stage estimators, with both stages, predictions, tags and checks."""

    _task: ClassVar[Literal["classification", "regression"]]
    _fits_task: ClassVar[Callable[[BaseEstimator], bool]]
    _penalty: ClassVar[str]
    _target_checks: ClassVar[dict[str, Any]] = {}
    """Arguments for the target in scikit-learn's `validate_data`."""
    _compares_machines: ClassVar[bool] = False
    """Whether learners are compared by their exact second stages."""

    learner: BaseEstimator | str | None
    predictor: BaseEstimator | None
    cv: CrossValidator
    scoring: Scoring
    approximation: str
    n_components: int | str
    random_state: RandomState
    device: str
    alpha: Any = "auto"
    alpha_: float
    cv_residuals_: Array
    cv_results_: dict[str, Array]
    learner_: KernelLearner
    n_features_in_: int
    kernel_: WeightedSum
    predictor_: Any
    candidates_: list[EvaluatedLearner]
    _kept: NDArray[np.intp] | None = None
    """Columns of stacks that belong to samples of positive weight; None for all columns."""
    _held_out: Any

    @on_device
    def predict(self, X: Features) -> Array:
        """Predict class labels, or responses.

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

    def _second_stage(self, X: Table, method: str) -> Array:
        """Return the result of a method of the second stage for the rows of X."""
        check_is_fitted(self)
        return self._for_rows(X, getattr(self.predictor_, method))

    def _for_rows(self, X: Table, function: Callable[[Features], Array]) -> Array:
        """Apply a function to the input of the second stage: kernel values, or rows of features."""
        if self._is_approximate():
            found: Array = tables.predict_rows(self, X, function)
            return found
        if isinstance(X, BlockSource):
            raise ValueError(
                f"This {type(self).__name__} was fitted to all samples exactly, and predicts "
                f"tables in memory; got a {type(X).__name__}. Read it with pandas.read_parquet, or "
                "fit with approximation='nystroem'."
            )
        return np.asarray(function(self._kernel_rows(X)))

    def _expansion(self) -> KernelExpansion:
        return second_stage_expansion(self.predictor_, self)

    def _samples_of_learner(self, X: Features) -> Features:
        """Validate new samples, and return them in the layout that the learner takes."""
        return new_samples(self.learner_, self._kept_columns(X))

    def _kept_columns(self, X: Features) -> Features:
        """Return a stack without the columns of training samples of weight zero."""
        if self._kept is None:
            return X
        shape = self.n_features_in_, self.learner_._n_fitted_kernels()
        return as_stack(X, shape)[:, self._kept]

    def _is_approximate(self) -> bool:
        """Return whether the second stage was fitted on Nyström features."""
        return isinstance(getattr(self, "predictor_", None), NystroemModel)

    def _check_updates(self) -> None:
        if not self._is_approximate() or self.predictor_.held_out is not None:
            raise TypeError(NOT_SUMS.format(type(self).__name__))

    def _sum_rows(self, rows: Sample) -> None:
        self._sums = row_sums(self.predictor_, rows)

    def _add_rows(self, rows: Sample) -> None:
        sums = self._sums.plus(rows)
        self._sums, self.predictor_ = sums, sums.fitted(self.predictor_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        learner = first_stage(self.learner)
        # An invalid learner may have no tags; `fit` raises an error for it.
        if hasattr(learner, "__sklearn_tags__") and not isinstance(learner, type):
            tags.input_tags = get_tags(learner).input_tags
        return tags

    def _kernel_rows(self, X: Features) -> Array:
        """Evaluate the learned kernel at new samples, less its offset for ridge regression."""
        # The learner checks input that is not a table, and stacks, whose layout depends on it.
        is_table = len(getattr(X, "shape", ())) == 2
        if is_table and not get_tags(self).input_tags.three_d_array:
            with table_advice(self):
                validate_data(self, X, reset=False, skip_check_array=True)
        samples, is_ridge = self._kept_columns(X), isinstance(self.predictor_, Ridge)
        return np.asarray(rows_of(self.learner_, samples, less_offset=is_ridge), dtype=float)

    def _check_settings(self) -> None:
        """Raise an error if a setting is invalid, before the fit."""
        check_learner(self.learner)
        check_folds(self.cv)
        check_approximation(self.approximation, n_components=self.n_components)
        if self.predictor is not None:
            check_predictor(self.predictor, self._task, type(self)._fits_task)

    def _fit_stages(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample
    ) -> Self:
        """Fit both stages with the given learner, or with each candidate, and keep the best fit."""
        self._check_settings()
        X, y = tables.as_source(X, y)
        exact = self._fits_exactly(X, sample_weight)
        check_in_use(self, self._penalty, exact=exact)
        stage: Any
        if exact:
            stage = self._exact_stage(*tables.in_memory(X, y), sample_weight, groups)
        else:
            stage = self._feature_stage(X, y, sample_weight, groups)
        if self.scoring is not None:
            classes = fitted_classes(self) if self._task == "classification" else None
            checked_scorer(self.scoring, stage.sample.y, stage.sample.weights, classes)
        with reported_steps(self, 2) as report:
            learners, candidates = self._learners(stage)
            if not exact:
                stage = replace(stage, candidates=candidates)
            if self._chooses_learner():
                report()
                found = best(stage.evaluate(stage.learn(learner)) for learner in learners)
            else:
                learned = stage.learn(learners[0])
                report()
                found = stage.evaluate(learned)
            report()
        return self._store(found, found.candidates or candidates)

    def _store(self, found: Evaluation, candidates: Sequence[EvaluatedLearner]) -> Self:
        """Set the fitted attributes from the best evaluation."""
        learner, penalty, held_out = found.learner, found.penalty, found.held_out
        self.learner_, self.kernel_, self.weights_ = learner, learner.kernel_, learner.weights_
        self.alignment_, self.history_ = learner.alignment_, learner.history_
        self.n_iter_, self.predictor_ = learner.n_iter_, found.predictor
        results: dict[str, object] = {
            "candidates_": list(candidates) or None,
            "cv_results_": penalty and penalty.results,
            "cv_residuals_": held_out.residuals,
            "cv_correct_": held_out.correct,
            "temperature_": found.calibration,
            "_residual_masses": held_out.masses,
            "_held_out": held_out.given,
        }
        if penalty is not None:
            results[f"{penalty.name}_"] = penalty.value
        self.__dict__.update({name: value for name, value in results.items() if value is not None})
        return self

    def _fits_exactly(self, X: Table, sample_weight: PerSample) -> bool:
        """Return whether the second stage is fitted exactly rather than on Nyström features.

        Raises
        ------
        ValueError
            If an approximation is requested, but `predictor` or the learner needs Gram matrices.
        MemoryError
            If an exact fit needs more memory than is available.
        """
        exact_only = self.predictor is not None or get_tags(self).input_tags.three_d_array
        if exact_only and self.approximation == "nystroem":
            raise ValueError(
                'approximation="nystroem" needs samples by features; with precomputed kernels, or '
                'a predictor on these, pass approximation="exact".'
            )
        approximation = "exact" if exact_only else self.approximation
        return fits_exactly(self, X, sample_weight, approximation)

    @abstractmethod
    def _exact_stage(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample
    ) -> ExactStage:
        """Return the second stage on the Gram matrix of all samples."""

    def _feature_stage(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample
    ) -> FeatureStage:
        """Return the second stage on Nyström features of a large table, with rows drawn from it."""
        state = self.random_state
        drawn = tables.drawn_rows(
            self, X, y, sample_weight, groups, random_state=state, **self._target_checks
        )
        classes = self._task == "classification"
        target = encode_target(drawn.y, classification=classes, weights=drawn.weights)
        if target.classes is not None:
            check_classification_targets(drawn.y)
            if len(target.classes) < 2:
                raise ValueError("The number of classes has to be greater than one; got 1 class")
        part = sample_rows(len(drawn), EXACT_ROWS, target.codes, state)
        alphas = None if isinstance(self.alpha, str) else np.atleast_1d(self.alpha)
        settings = self.scoring, self.n_components, state, self._task
        return FeatureStage(drawn, target, part, alphas, *settings)

    def _chooses_learner(self) -> bool:
        """Return whether this estimator chooses the learner."""
        return self.learner is None or isinstance(self.learner, str)

    def _learners(self, stage: ExactStage | FeatureStage) -> tuple[list[KernelLearner], Candidates]:
        """Return the learners to compare by their second stages, and isotropic candidates.

        The first learner is the one with the lowest leave-one-out error or, if `cv` is given, the
        lowest error in its folds. With ``learner="auto"``, it is a learner that predicts clearly
        better than a sum of isotropic kernels, if there is one, or else this sum. With a scorer,
        the second stages of all candidates are compared. With support vector machines, those of the
        candidates with nearly the lowest error are compared. In ridge regression without a scorer,
        and on Nyström features, there is only the first learner.
        """
        if not self._chooses_learner():
            given: BaseEstimator = self.learner
            return [given], []
        exact, splits = isinstance(stage, ExactStage), self._given_folds(stage)
        machines, scored = exact and self._compares_machines, self.scoring is not None
        data = self._validated(stage.sample)
        candidates: Candidates = []
        if self.learner is None:
            candidates = isotropic_learners(data, self._task, splits, machines=machines)
            near = candidates if scored else comparable(candidates)
            found = [candidate.learner for candidate in near]
        else:
            sums = ContinuousAlignment(task=self._task)
            form = choose_form(data.samples(), data.target(self._task), sums._growth(), splits)
            found = [sums] if isinstance(form, ContinuousAlignment) else [form, sums]
        return found if machines or (exact and scored) else found[:1], candidates

    def _given_folds(self, stage: ExactStage | FeatureStage) -> list[Split] | None:
        """Return the folds of `cv` in which the learner is chosen, or None if there are none."""
        if self.cv is None or not isinstance(stage, ExactStage):
            return None
        return stage.splits or None

    def _validated(self, sample: Sample) -> TrainingData:
        """Validate the samples as numbers, with error messages that name this estimator."""
        with table_advice(self):
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
        return TrainingData(
            X, sample.y, sample.weights, n_given=n, groups=sample.groups, table=X, stored=X
        )

    def _samples(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample
    ) -> tuple[Sample, Sample]:
        """Return all samples, and the samples of positive weight."""
        X = split_by_rows(self.learner, X)
        validate_data(self, X, skip_check_array=True)
        tags = get_tags(self).input_tags
        X, y = indexable(X, y)
        given = Sample.of(X, y, pairwise=tags.pairwise).grouped(groups)
        sample = given.weighted(sample_weight)
        sample = with_copies(sample) if self.cv is None else sample
        self._kept = sample.kept if tags.three_d_array else None
        return given, sample
