"""Base class of the two-stage estimators: both stages, exact or on Nyström features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_array, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, indexable, validate_data

from mercer._blocks import tables
from mercer._blocks.blocks import BlockSource
from mercer._blocks.passes import current_hooks
from mercer._blocks.tables import DrawnSample
from mercer._data.copies import with_copies
from mercer._data.cross_validation import check_folds
from mercer._data.folds import Split, sample_rows
from mercer._data.sample import EncodedTarget, Sample, encode_target
from mercer._kernel_estimator import CallbackSupportMixin, TrainingData, reported_steps
from mercer._learners import ContinuousAlignment
from mercer._model_selection.intervals import interval_rows
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.residual_scale import HeldOutResiduals
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem, rescaled_kernel
from mercer._records import KernelTermsMixin
from mercer._solvers.grids import grid_results
from mercer._two_stage.first_stage import (
    Fit,
    LearnedGram,
    check_in_use,
    check_learner,
    check_predictor,
    first_stage,
    fitted,
    for_task,
    learn_gram,
    most_accurate,
    split_by_rows,
)
from mercer._two_stage.learner_choice import (
    EvaluatedLearner,
    choose_form,
    comparable,
    group_folds,
    isotropic_learners,
)
from mercer._typing import Array, Features
from mercer._validation import check_bool, check_number, table_advice
from mercer.kernels._distances import check_squares

_RESIDUAL_ROWS = 5000
"""Prediction intervals on Nyström features come from the residuals of at most this many rows."""


@dataclass(frozen=True)
class ExactRows:
    """All samples, to whose Gram matrices second stages are fitted.

    Attributes
    ----------
    sample : Sample
    splits : list of (ndarray, ndarray), or None
        Training and held-out samples, by which the penalty is chosen.
    """

    sample: Sample
    splits: list[Split] | None
    is_exact: ClassVar[bool] = True

    def fit(self, model: TwoStage, learner: Any, report: Callable[[], None]) -> Fit:
        """Learn a kernel, and fit the second stage to its Gram matrix.

        Parameters
        ----------
        model : TwoStage
            Holds the settings of both stages.
        learner : estimator
        report : callable
            Called after the first stage.
        """
        learned = learn_gram(learner, self.sample, model._task)
        report()
        if model.predictor is None:
            return _learned(learned.learner) | model._fit_predictor(learned, self.splits)
        predictor = fitted(clone(model.predictor), learned.gram, self.sample)
        return _learned(learned.learner) | {"predictor_": predictor}


@dataclass(frozen=True)
class FeatureRows:
    """Rows drawn from a large table; ridge regression on features is fitted to all of its rows.

    Attributes
    ----------
    drawn : DrawnSample
    target : EncodedTarget
    part : ndarray of int
        Those of the rows that the kernel is learned from.
    """

    drawn: DrawnSample
    target: EncodedTarget
    part: NDArray[np.intp]
    splits: ClassVar[None] = None
    is_exact: ClassVar[bool] = False

    @property
    def sample(self) -> Sample:
        """The rows that the kernel is learned from."""
        return self.drawn.take(self.part)

    def fit(self, model: TwoStage, learner: Any, report: Callable[[], None]) -> Fit:
        """Learn a kernel from some rows, and fit the second stage to all; see :class:`ExactRows`.

        The penalty is chosen by five-fold cross-validation.
        """
        learner = self._rescaled(model, learner)
        report()
        n_rows = self.drawn.source.count_rows()
        current_hooks().on_start(n_rows)
        predictor = fit_nystroem(
            learner.kernel_,
            self.drawn,
            self.target.encoding,
            n_components=tables.number_of_components(model.n_components, n_rows),
            alphas=None if isinstance(model.alpha, str) else np.atleast_1d(model.alpha),
            random_state=model.random_state,
        )
        choice = predictor.choice
        results = grid_results("alpha", choice.alphas, 1.0 - choice.losses[None])
        found = {"predictor_": predictor, "alpha_": choice.alpha, "cv_results_": results}
        return _learned(learner) | found | self._held_out(predictor)

    def _rescaled(self, model: TwoStage, learner: Any) -> Any:
        """The fitted learner, its widths rescaled to all rows unless the user gave them."""
        sample, table = self.sample, self.drawn.frame(self.part)
        learner = fitted(for_task(learner, model._task), table, sample)
        if model.learner is not None and getattr(learner, "_widths_are_given", True):
            return learner
        encoding = self.target.encoding
        kernel = rescaled_kernel(learner.kernel_, self.drawn, encoding, model.random_state)
        if kernel == learner.kernel_:
            return learner
        if model.learner is None:
            learner.set_params(kernels=kernel.kernels)
            used = {"description": kernel.kernels[0].describe(), "learner": clone(learner)}
            model.candidates_[0] = replace(model.candidates_[0], **used)
        return learner._refitted(kernel.kernels, table, sample.y, sample.weights.given)

    def _held_out(self, predictor: NystroemModel) -> Fit:
        """Probabilities, or residuals, of some rows by fits without their folds."""
        n = len(self.drawn)
        rows = np.unique(np.linspace(0, n - 1, min(n, _RESIDUAL_ROWS)).round().astype(int))
        part = self.drawn.take(rows)
        predicted = predictor.out_of_fold(part.X, part.divided)
        if predictor.calibration is not None:
            probabilities = predictor.calibration.probabilities(predicted)
            codes = self.target.encoding.codes_of(part.y)
            held_out = HeldOutProbabilities(
                probabilities, codes, part.weights, part.groups, part.numbers
            )
            return {"_held_out": held_out}
        residuals = part.y - predictor.decode(predicted)
        apart = HeldOutResiduals.of(part, np.arange(len(part)), residuals)
        if part.groups is None:
            # Each as often as the row counts.
            residuals = np.asarray(part.weights.repeated(residuals))
        _, masses = interval_rows(part.groups, part.weights)
        return {"cv_residuals_": residuals, "_residual_masses": masses, "_held_out": apart}


class TwoStage(KernelTermsMixin, CallbackSupportMixin, BaseEstimator):
    """Base class of the two-stage estimators: prediction, tags, and checks of the settings."""

    _task: ClassVar[Literal["classification", "regression"]]
    _fits_task: ClassVar[Callable[[Any], bool]]
    _penalty: ClassVar[str]
    _target_checks: ClassVar[dict[str, Any]] = {}
    """Arguments of scikit-learn's `validate_data` for the target."""
    _compares_machines: ClassVar[bool] = False
    """Whether exact second stages tell which of several learners is best."""

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
    alpha: Any = "auto"
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
        return self._for_rows(X, getattr(self.predictor_, method))

    def _for_rows(self, X: Any, function: Callable[[Any], Any]) -> Array:
        """Apply a function to what the second stage is given: kernel values, or blocks of rows."""
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
        tables.check_approximation(self.approximation, self.n_components)
        check_number("max_samples", self.max_samples, whole=True, low=2)
        check_bool("verbose", self.verbose)
        if self.predictor is not None:
            check_predictor(self.predictor, self._task, type(self)._fits_task)

    def _fit_stages(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        """Fit both stages with the learner, or with each that is compared, and keep the best."""
        self._check_settings()
        X, y = tables.as_source(X, y)
        rows = self._rows(X, y, sample_weight, groups)
        with reported_steps(self, 2) as report:
            learners, learned = self._learners(rows), report
            if self._chooses_learner():
                report()
                learned = lambda: None  # noqa: E731
            found = most_accurate(rows.fit(self, learner, learned) for learner in learners)
            report()
        for name, value in found.items():
            setattr(self, name, value)
        return self

    def _rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ExactRows | FeatureRows:
        """The validated samples, of a table that is too large for an exact fit some rows.

        Raises
        ------
        ValueError
            If there are no rows, if an approximation is asked for, and `predictor` or the learner
            needs Gram matrices, or if a setting would have no effect.
        MemoryError
            If an exact fit needs more memory than there is.
        """
        exact_only = self.predictor is not None or get_tags(self).input_tags.three_d_array
        if exact_only and self.approximation == "nystroem":
            raise ValueError(
                "approximation='nystroem' needs samples by features, and no predictor of "
                "precomputed kernels."
            )
        approximation = "exact" if exact_only else self.approximation
        exact = tables.fits_exactly(self, X, sample_weight, approximation)
        check_in_use(self, self._penalty, exact=exact)
        if exact:
            return self._exact_rows(*tables.in_memory(X, y), sample_weight, groups)
        return self._feature_rows(X, y, sample_weight, groups)

    def _exact_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ExactRows:
        """All samples, with the folds that choose the penalty."""
        raise NotImplementedError

    def _feature_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> FeatureRows:
        """Rows that are drawn from a large table."""
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
        part = sample_rows(len(drawn), self.max_samples, target.codes, state)
        return FeatureRows(drawn, target, part)

    def _chooses_learner(self) -> bool:
        """Whether the learner is chosen by this estimator."""
        return self.learner is None or isinstance(self.learner, str)

    def _learners(self, rows: ExactRows | FeatureRows) -> list[Any]:
        """The learners to compare by held-out samples of the second stage, the preferred one first.

        They are those of nearly the lowest left-out error; with ``learner="auto"``, one that
        predicts clearly better, if any does, and a sum of isotropic kernels. Folds choose where
        `cv` is given. Where the second stage is ridge regression, the first is the only one.
        """
        if not self._chooses_learner():
            return [self.learner]
        splits = rows.splits if rows.splits and self.cv is not None else None
        machines = rows.is_exact and self._compares_machines
        data = self._validated(rows.sample)
        if self.learner is None:
            self.candidates_ = isotropic_learners(data, self._task, splits, machines=machines)
            found = [candidate.learner for candidate in comparable(self.candidates_)]
        else:
            sums = ContinuousAlignment(task=self._task)
            splits = splits or group_folds(data)
            form = choose_form(data.samples(), data.target(self._task), sums._growth(), splits)
            found = [sums] if isinstance(form, ContinuousAlignment) else [form, sums]
        return found if machines else found[:1]

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
        return TrainingData(
            X, sample.y, sample.weights, n_given=n, groups=sample.groups, table=X, stored=X
        )

    def _samples(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Sample, Sample]:
        """All samples, and those of positive weight."""
        X = split_by_rows(self.learner, X)
        validate_data(self, X, skip_check_array=True)
        tags = get_tags(self).input_tags
        X, y = indexable(X, y)
        given = Sample.of(X, y, pairwise=tags.pairwise).grouped(groups)
        sample = given.weighted(sample_weight)
        sample = with_copies(sample) if self.cv is None else sample
        self._kept = sample.kept if tags.three_d_array else None
        return given, sample

    def _fit_predictor(self, learned: LearnedGram, splits: list[Split] | None) -> Fit:
        """Choose the penalty, and fit the predictor to the learned Gram matrix."""
        raise NotImplementedError


def _learned(learner: Any) -> Fit:
    """The fitted learner, and what it learned."""
    names = ("kernel_", "weights_", "alignment_", "history_", "n_iter_")
    return {"learner_": learner, **{name: getattr(learner, name) for name in names}}
