"""Base class of the two-stage estimators, which are exact or use Nyström features."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import singledispatch
from itertools import chain
from numbers import Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, check_array, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, indexable, validate_data

from mercer._blocks import tables
from mercer._blocks.approximation import EXACT_ROWS, check_approximation, fits_exactly
from mercer._blocks.blocks import BlockSource
from mercer._blocks.own_encoders import OwnEncoder, check_encoder, encoded, fit_encoder, on_numbers
from mercer._data.arrays import owned
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
from mercer._estimators.two_stage.exact_stages import ExactStage, SecondStage, best
from mercer._estimators.two_stage.feature_stage import FeatureStage
from mercer._estimators.two_stage.kernel_choice import (
    CandidateKernel,
    choose_form,
    comparable,
    isotropic_kernels,
)
from mercer._estimators.two_stage.learned_gram import rows_of
from mercer._gram.dense import UnitScale, as_stack
from mercer._gram.devices import on_device
from mercer._gram.expansion import (
    THE_TABLE,
    KernelExpansion,
    Scale,
    of_rows_as_they_are,
)
from mercer._gram.kernel_sums import KernelSum, RecalledSum, RecalledSumMixin, used_rows
from mercer._gram.sample_expansion import expansion_at_samples, expansion_of_votes
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.calibration import calibrated_expansion
from mercer._model_selection.scoring import checked_scorer
from mercer._model_selection.updates import NOT_SUMS, UpdatesMixin
from mercer._nystroem.second_stage import NystroemModel, row_sums
from mercer._search.records import KernelTermsMixin
from mercer._search.targets import Target
from mercer._solvers.ridge import Ridge
from mercer._solvers.svm import machine_coefficients, pair_votes
from mercer.kernels import Kernel, WeightedSum
from mercer.kernels._column_names import with_names
from mercer.kernels._distances import check_squares

FirstStage: TypeAlias = CandidateKernel | KernelLearner
"""A kernel, or a learner that is fitted."""


class TwoStage(
    RecalledSumMixin,
    UpdatesMixin,
    KernelTermsMixin,
    FittedAttributesMixin,
    CallbackSupportMixin,
    BaseEstimator,
):
    """Base class of the two-stage estimators, with both stages, predictions, tags and checks."""

    _task: ClassVar[Literal["classification", "regression"]]
    _penalty: ClassVar[str]
    _target_checks: ClassVar[dict[str, Any]] = {}
    """Arguments for the target in scikit-learn's `validate_data`."""
    _compares_machines: ClassVar[bool] = False
    """Whether learners are compared by their exact second stages."""

    learner: BaseEstimator | str | None
    cv: CrossValidator
    scoring: Scoring
    encoder: OwnEncoder
    approximation: str
    n_components: int | str
    random_state: RandomState
    device: str
    alpha: Any = "auto"
    C_: float
    alpha_: float
    cv_correct_: Array
    cv_residuals_: Array
    cv_results_: dict[str, Array]
    encoder_: TransformerMixin | None
    _encoded: dict[str, Any]
    learner_: KernelLearner
    n_features_in_: int
    kernel_: WeightedSum
    predictor_: Any
    temperature_: Any
    candidates_: list[CandidateKernel]
    _kept: NDArray[np.intp] | None = None
    """Columns of stacks that belong to samples of positive weight; None for all columns."""
    _held_out: Any
    _residual_masses: Any

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
        function = None if self._is_approximate() else _kernel_sum(self)
        if function is None or isinstance(X, BlockSource):
            return self._for_rows(X, getattr(self.predictor_, method))
        values = function(on_numbers(self)._validated(encoded(self, X)))
        if is_classifier(self):
            labels = self.predictor_.classes_
            if len(labels) == 2:
                decisions = values[:, 0]
                return labels[(decisions >= 0.0).astype(int)] if method == "predict" else decisions
            votes = pair_votes(values, len(labels))
            return labels[votes.argmax(axis=1)] if method == "predict" else votes
        return values.reshape(len(values), *self.predictor_.dual_coef_.shape[1:])

    def _validated(self, X: Features) -> Features:
        """Validate rows on which the kernel of a learner is evaluated."""
        finite = "allow-nan" if self.learner_.kernel_.accepts_missing else True
        checks: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        with table_advice(self):
            return validate_data(self, X, reset=False, ensure_all_finite=finite, **checks)

    def _for_rows(self, X: Table, function: Callable[[Features], Array]) -> Array:
        """Apply a function to the input of the second stage: kernel values, or rows of features."""
        if self._is_approximate():
            return tables.predict_rows(self, X, function)
        if isinstance(X, BlockSource):
            raise ValueError(
                f"This {type(self).__name__} was fitted to all samples exactly, and predicts "
                f"tables in memory; got a {type(X).__name__}. Read it with pandas.read_parquet, or "
                "fit with approximation='nystroem'."
            )
        known = on_numbers(self)
        return np.asarray(function(known._kernel_rows(encoded(self, X))))

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
        # An invalid learner may have no tags; `fit` raises an error for it.
        if chosen(self.learner) or not hasattr(self.learner, "__sklearn_tags__"):
            tags.input_tags.sparse = True
        elif not isinstance(self.learner, type):
            tags.input_tags = get_tags(self.learner).input_tags
        return tags

    def _kernel_rows(self, X: Features) -> Array:
        """Evaluate the kernel at new samples, less its offset."""
        # The learner checks input that is not a table, and stacks, whose layout depends on it.
        is_table = len(getattr(X, "shape", ())) == 2
        if is_table and not get_tags(self).input_tags.three_d_array:
            with table_advice(self):
                validate_data(self, X, reset=False, skip_check_array=True)
        return np.asarray(rows_of(self._learner_for(X), self._kept_columns(X)), dtype=float)

    def _learner_for(self, X: Features) -> KernelLearner:
        """Return the learner; for a table without names, one that does not warn of it again."""
        learner = self.learner_
        if not hasattr(X, "columns") and hasattr(learner, "feature_names_in_"):
            learner = copy(learner)
            del learner.feature_names_in_
        return learner

    def _check_settings(self) -> None:
        """Raise an error if a setting is invalid, before the fit."""
        learner = self.learner
        named = isinstance(learner, str)
        learns = hasattr(learner, "fit") and hasattr(learner, "transform")
        is_default = learner is None or (named and learner == "auto")
        if not is_default and (not learns or isinstance(learner, type)):
            raise (ValueError if named else TypeError)(
                "learner must be 'auto', None or a kernel learner such as ContinuousAlignment(); "
                f"got {_instead(learner)}"
            )
        check_folds(self.cv)
        check_encoder(self.encoder)
        check_approximation(self.approximation, n_components=self.n_components)

    @serial_algebra()
    def _fit_stages(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample
    ) -> Self:
        """Fit both stages with the given learner, or with each candidate, and keep the best fit."""
        self._check_settings()
        X, y = tables.as_source(X, y)
        precomputed = get_tags(self).input_tags.three_d_array
        if precomputed and self.approximation == "nystroem":
            raise ValueError(
                'approximation="nystroem" needs samples by features; with precomputed kernels, '
                'pass approximation="exact".'
            )
        approximation = "exact" if precomputed else self.approximation
        exact = fits_exactly(self, X, sample_weight, approximation)
        check_in_use(self, self._penalty, exact=exact)
        X = fit_encoder(self, X, y, sample_weight)
        stage: Any
        unit = 1.0
        if exact:
            stage = self._exact_stage(*tables.in_memory(X, y), sample_weight, groups)
            unit = stage.sample.weights.unit
            stage = stage if unit == 1.0 else stage.in_units(unit)
        else:
            stage = self._feature_stage(X, y, sample_weight, groups)
        if self.scoring is not None:
            classes = fitted_classes(self) if self._task == "classification" else None
            checked_scorer(self.scoring, stage.sample.y, stage.sample.weights, classes)
        with reported_steps(self, 2) as report:
            firsts, candidates, target = self._first_stages(stage)
            if not exact:
                stage = replace(stage, candidates=candidates)
            learned = (stage.learn(first, target) for first in firsts)
            first = next(learned)
            report()
            found = best(stage.evaluate(one) for one in chain([first], learned))
            report()
        candidates = [
            replace(one, alpha=unit * one.alpha) for one in found.candidates or candidates
        ]
        factor = unit if self._penalty == "alpha" else 1.0 / unit
        return self._store(found.rescaled(self._penalty, factor), candidates)

    def _store(self, found: SecondStage, candidates: Sequence[CandidateKernel]) -> Self:
        """Set the fitted attributes from the best evaluation."""
        learner, held_out = found.learner, found.held_out
        if not hasattr(learner, "n_features_in_"):
            known = on_numbers(self)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(known, name):
                    setattr(learner, name, getattr(known, name))
            learner.kernel_ = with_names(learner.kernel_, known)
        self.learner_, self.kernel_, self.weights_ = learner, learner.kernel_, learner.weights_
        self.alignment_, self.history_ = learner.alignment_, learner.history_
        self.n_iter_, self.predictor_ = learner.n_iter_, found.predictor
        penalty = "alpha" if self._is_approximate() else self._penalty
        results: dict[str, object] = {
            "candidates_": list(candidates) or None,
            f"{penalty}_": found.penalty,
            "cv_results_": found.results,
            "cv_residuals_": held_out.residuals,
            "cv_correct_": held_out.correct,
            "temperature_": found.calibration,
            "_residual_masses": held_out.masses,
            "_held_out": held_out.given,
            "_recalled": RecalledSum(),
        }
        for name in (name for name, value in results.items() if value is not None):
            setattr(self, name, results[name])
        return self

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
            on_numbers(self), X, y, sample_weight, groups, random_state=state, **self._target_checks
        )
        check_squares(drawn.X)
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

    def _first_stages(
        self, stage: ExactStage | FeatureStage
    ) -> tuple[list[FirstStage], list[CandidateKernel], Target | None]:
        """Return kernels or learners to compare, the candidate kernels, and the target of kernels.

        The first is the one with the lowest leave-one-out error or, if `cv` is given, the lowest
        error in its folds. With ``learner="auto"``, it is a learner that predicts clearly better
        than a sum of isotropic kernels, if there is one, or else this sum. With a scorer, the
        second stages of all candidates are compared. With support vector machines, those of the
        candidates with nearly the lowest error are compared. In ridge regression without a scorer,
        and on Nyström features, there is only the first.
        """
        if not chosen(self.learner):
            given: BaseEstimator = self.learner
            return [given], [], None
        exact, scored = isinstance(stage, ExactStage), self.scoring is not None
        machines = exact and self._compares_machines
        compared = machines or (exact and scored)
        if self.learner is None:
            assert isinstance(stage.sample, TrainingData)
            target = stage.sample.target(self._task)
            candidates = isotropic_kernels(
                stage.sample,
                self._given_folds(stage),
                classes=self._task == "classification",
                machines=machines,
            )
            near = candidates if scored else comparable(candidates)
            return near if compared else near[:1], candidates, target
        sums, data = ContinuousAlignment(task=self._task), self._numbers(stage.sample)
        known = data.samples(), data.target(self._task)
        form = choose_form(*known, sums._growth(), self._given_folds(stage))
        found: list[FirstStage] = [form, sums]
        found = found[1:] if isinstance(form, ContinuousAlignment) else found
        return found if compared else found[:1], [], None

    def _given_folds(self, stage: ExactStage | FeatureStage) -> list[Split] | None:
        """Return the folds of `cv` in which the learner is chosen, or None if there are none."""
        if self.cv is None or not isinstance(stage, ExactStage):
            return None
        return stage.splits or None

    def _numbers(self, sample: Sample) -> TrainingData:
        """Validate the samples as numbers, with error messages that name this estimator."""
        if isinstance(sample, TrainingData):
            return sample
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
        X = owned(X, sample.X)
        return TrainingData.of_numbers(replace(sample, X=X))

    def _samples(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample
    ) -> tuple[Sample, Sample]:
        """Return all samples, and the samples of positive weight, as numbers without a learner."""
        X = getattr(self.learner, "as_input", lambda X: X)(X)
        validate_data(on_numbers(self), X, skip_check_array=True)
        tags = get_tags(self).input_tags
        X, y = indexable(X, y)
        given = Sample.of(X, y, pairwise=tags.pairwise).grouped(groups)
        sample = given.weighted(sample_weight)
        sample = sample if self.learner is not None else self._numbers(sample)
        sample = with_copies(sample) if self.cv is None else sample
        self._kept = sample.kept if tags.three_d_array else None
        return given, sample


def chosen(learner: object) -> bool:
    """Return whether the kernel or its form is chosen by the estimator."""
    return learner is None or isinstance(learner, str)


# --- expansions of predictions -------------------------------------------------------------------


@singledispatch
def second_stage_expansion(predictor: Pipeline, model: BaseEstimator) -> KernelExpansion:
    """Write the prediction of a second stage as an expansion.

    Parameters
    ----------
    predictor : object
        A second stage that was fitted to a Gram matrix, or to Nyström features. If its type is not
        registered, it is a support vector machine on the centered kernel.
    model : TwoStage
        The fitted estimator to which the predictor belongs.

    Returns
    -------
    KernelExpansion
        An expansion of the responses in regression. In classification, an expansion of log-odds or
        scores of classes if there are probabilities, or else of decision values.
    """
    if len(predictor.classes_) == 2:
        found = of_kernel(model, *_linear_in_rows(predictor), "decision value")
    else:
        # Votes of machines are no sum of kernel values.
        outputs = tuple(map(str, fitted_classes(model)))
        known = model.learner_, predictor.decision_function, outputs
        found = expansion_of_votes(*known, samples=model._samples_of_learner)
    if hasattr(model, "temperature_"):
        return calibrated_expansion(found, model.temperature_, fitted_classes(model))
    return found


@second_stage_expansion.register
def _(predictor: Ridge, model: BaseEstimator) -> KernelExpansion:
    coefficients, constant = _linear_of_ridge(predictor)
    # Rounding leaves a sum of coefficients, which the offset of a wide kernel would magnify.
    rest = getattr(model.kernel_, "offset", 0.0) * coefficients.sum(axis=0)
    return of_kernel(model, coefficients, constant - rest, "response")


@second_stage_expansion.register
def _(predictor: NystroemModel, model: BaseEstimator) -> KernelExpansion:
    term, constant = predictor.term()
    training = {THE_TABLE: term.centers}
    found = KernelExpansion([term], constant, "response", training)
    if predictor.calibration is None:
        return found.decoded(predictor.encoding)
    return calibrated_expansion(found, predictor.calibration, fitted_classes(model))


@singledispatch
def _linear_in_rows(predictor: Pipeline) -> tuple[Array, Array]:
    """Return a second stage as a linear function of kernel values less the kernel's offset.

    Parameters
    ----------
    predictor : Pipeline or Ridge
        A support vector machine on the centered kernel, or a ridge regression.

    Returns
    -------
    coefficients : ndarray of shape (n_fitted, n_outputs)
        With one output for each pair of more than two classes, which votes for one of them.
    constant : ndarray of shape (n_outputs,)
    """
    center, machine = predictor
    dual, intercepts = machine_coefficients(machine, len(center.K_fit_rows_))
    coefficients, constant = of_rows_as_they_are(UnitScale(center.K_fit_rows_, 1.0), dual)
    return coefficients, constant + intercepts


@_linear_in_rows.register
def _linear_of_ridge(predictor: Ridge) -> tuple[Array, Array]:
    coefficients = predictor.dual_coef_.reshape(len(predictor.dual_coef_), -1)
    return coefficients, np.atleast_1d(predictor.intercept_)


def _kernel_sum(model: TwoStage) -> KernelSum | None:
    """Return the function that an exact second stage predicts with.

    None if the second stage needs the kernel with all samples.
    """
    learner, predictor = model.learner_, model.predictor_
    samples = getattr(learner, "X_fit_", None)
    if samples is None or not isinstance(learner, KernelLearner):
        return None
    if getattr(learner, "projection_", None) is not None:
        return None

    def made() -> KernelSum:
        return KernelSum.at_used(learner.kernel_, samples, *_linear_in_rows(predictor))

    return model._recalled.of((predictor, learner.kernel_, samples), made)


def of_kernel(
    model: BaseEstimator, coefficients: Array, intercept: Array, scale: Scale
) -> KernelExpansion:
    """Return an expansion in the kernel at the training samples with nonzero coefficients.

    Parameters
    ----------
    model : TwoStage
    coefficients : ndarray of shape (n_samples, n_outputs)
    intercept : ndarray of shape (n_outputs,)
    scale : str
        See :class:`KernelExpansion`.
    """
    # The coefficients of support vector machines sum to zero only up to rounding.
    found = expansion_at_samples(
        model.learner_,
        np.where(used_rows(coefficients)[:, None], coefficients, 0.0),
        intercept,
        scale,
        samples=model._samples_of_learner,
    )
    names = tuple(map(str, fitted_classes(model))) if is_classifier(model) else ()
    outputs = names[1:] if len(names) == 2 and len(intercept) == 1 else names
    return replace(found, outputs=outputs)


# --- checks of settings -------------------------------------------------------------------------


_INSTEAD: tuple[tuple[type, str], ...] = (
    (type, "the class {0.__name__}: write {0.__name__}()."),
    (str, "{0!r}. UniformCombination([{0!r}]) stands for a named kernel."),
    (
        Kernel,
        "{0!r}, a kernel: pass KernelOptimization({0!r}) to learn its parameters, or "
        "UniformCombination([{0!r}]) to use it as it is.",
    ),
    (Sequence, "{0!r}: AlignmentMaximization([...]) learns weights of listed kernels."),
)
"""Types that are not learners, and advice on what to pass instead."""


def _instead(learner: object) -> str:
    """Describe an invalid learner, with advice on what to pass instead."""
    if isinstance(learner, str) and learner == "precomputed":
        return f"{learner!r}. UniformCombination({learner!r}) takes Gram matrices."
    for kind, message in _INSTEAD:
        if isinstance(learner, kind):
            return message.format(learner)
    if not hasattr(learner, "predict"):
        return f"{learner!r}, which has no methods `fit` and `transform`."
    return (
        f"{learner!r}, which predicts and learns no kernel. A predictor follows a learner in a "
        "pipeline: make_pipeline(ContinuousAlignment(), SVC(kernel='precomputed'))."
    )


def check_in_use(estimator: BaseEstimator, penalty: str, *, exact: bool) -> None:
    """Raise an error if a setting would have no effect on the fit.

    Parameters
    ----------
    estimator : TwoStageClassifier or TwoStageRegressor
    penalty : {"C", "alpha"}
    exact : bool
        Whether the second stage is fitted exactly rather than on Nyström features.

    Raises
    ------
    ValueError
        If `cv`, `scoring` or the penalty was set, but would not affect the fit.
    """
    value = getattr(estimator, penalty)
    is_set = not (isinstance(value, str) and value == "auto")
    folds, scores = estimator.cv is not None, estimator.scoring is not None
    number = isinstance(value, Real)
    given = not chosen(estimator.learner)
    if not exact:
        unused = {"cv": folds, "C": penalty == "C" and is_set}
        unused["scoring"] = scores and penalty == "alpha" and number
        why = (
            "on Nyström features, whose penalty is chosen in five folds: pass "
            "approximation='exact', or leave {0} at its default"
        )
    else:
        unused = {"cv": penalty == "alpha" and number and folds and given}
        unused["scoring"] = scores and number and given
        why = f"if {penalty} is a number: leave {{0}} at its default, or pass {penalty}=[{{1!r}}]"
    for name in (name for name, is_unused in unused.items() if is_unused):
        raise ValueError(f"{name} has no effect {why.format(name, value)}.")
