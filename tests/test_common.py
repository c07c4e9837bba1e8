"""scikit-learn's own checks of every estimator, in its defaults and in other settings."""

from typing import Any

import numpy as np
import pytest
from learner_cases import ESTIMATORS as KINDS
from learner_cases import LEARNERS
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from mercer import (
    BAHSIC,
    L1SVM,
    L2KRR,
    AlignmentMaximization,
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ContinuousAlignment,
    ContinuousMKLClassifier,
    ContinuousMKLRegressor,
    EvidenceMaximization,
    ForestKernel,
    GradientOuterProduct,
    HSICClustering,
    HSICWeights,
    KernelLogisticRegression,
    KernelOptimization,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    MKLRegressor,
    MultipleKernelClustering,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._estimators.kernel_learner import KernelLearner
from mercer.kernels import ExponentialPower, Gaussian, Laplacian, Linear, Missing

pytestmark = pytest.mark.usefixtures("few_folds")

DEFAULTS = [kind() for kind in KINDS.values()]
SETTINGS = [
    UniformCombination([Gaussian(), Linear(per_feature=True)], normalize="trace"),
    HSICWeights([Linear(per_feature=True), Gaussian()], norm="cka", output_kernel="balanced"),
    AlignmentMaximization(signs="free", clip_spectrum=True),
    ContinuousAlignment(step="stagewise"),
    ContinuousAlignment([Gaussian(ard=True), "linear"], max_kernels=3, tol=0.1),
    ContinuousAlignment(scaling=KernelOptimization(Gaussian(ard=True), width_penalty=0.3)),
    KernelOptimization(Gaussian(ard=True), "cka", early_stopping=3),
    EvidenceMaximization(ExponentialPower(ard=True), max_iter=20, output_kernel="balanced"),
    ForestKernel("extra-trees", n_trees=5, min_samples_leaf=1),
    GradientOuterProduct(n_iter=1, diagonal=False, random_state=3),
    TwoStageClassifier(KernelOptimization(output_kernel="balanced"), C=1.0),
    TwoStageClassifier(UniformCombination([Missing(Gaussian()), Missing(Linear())])),
    MKLClassifier(norm=2, loss="logistic"),
    MKLClassifier([Gaussian(), Linear(per_feature=True)], loss="squared", fit_intercept=False),
    MKLRegressor(norm=1, loss="epsilon_insensitive"),
    L2KRR(center="uniform", normalize=None, tol=1e-6),
    BayesianMKLClassifier([Linear(per_feature=True)], objective="mkl", norm=2.0),
    BayesianMKLRegressor(["linear"], likelihood="laplace", objective="vb", noise=0.5, n_starts=1),
    BAHSIC(1, kernel=Laplacian(2.0)),
    HSICClustering(method="spectral"),
    MultipleKernelClustering(
        [Linear(per_feature=True)], weight_penalty=0.0, weights_init="kernels"
    ),
]
STAND_INS = [
    KernelStackingClassifier([Gaussian(), "linear"]),
    KernelStackingRegressor([Gaussian(), "linear"]),
    BayesianMKLClassifier([Gaussian(), "linear"], tol=0.5),
    ContinuousMKLClassifier(tol=0.1, max_kernels=2),
    TwoStageClassifier(C=1.0),
    *(kind([Gaussian(), "linear"]) for kind in (L1SVM, L2KRR, MKLClassifier, MKLRegressor)),
    BayesianMKLRegressor([Gaussian(), "linear"], n_starts=1),
    ContinuousMKLRegressor(tol=0.1, max_kernels=2),
    ContinuousAlignment(tol=0.1, max_kernels=2),
]
"""They stand in for the defaults of their classes, which take two to four times as long."""
_STAND_IN = {type(made): made for made in STAND_INS}
ESTIMATORS = [_STAND_IN.get(type(made), made) for made in DEFAULTS]

OF_SETTINGS: dict[str, str] = {
    "check_classifiers_train": "decisions, and tables of single precision",
    "check_regressors_train": "the same",
    "check_clustering": "the same",
    "check_transformer_general": "transform is fit_transform, in single precision too",
    "check_transformer_preserve_dtypes": "kernels compute in the type of the table",
    "check_classifiers_classes": "names of classes reach every loss",
    "check_class_weight_classifiers": "weights reach every loss and criterion",
    "check_sample_weight_equivalence_on_dense_data": "the same",
    "check_estimators_dtypes": "whole numbers and lists reach every kernel",
    "check_fit2d_1feature": "kernels of each feature, and ARD, of a single one",
    "check_fit_idempotent": "draws and searches begin anew",
    "check_methods_subset_invariance": "blocks of rows",
    "check_methods_sample_order_invariance": "the same",
    "check_estimators_overwrite_params": "kernels and learners that are parameters are cloned",
    "check_estimators_pickle": "what is stored depends on the objective and on the kernels",
}
"""The checks that settings may change, and by what; the others are of the class and its defaults,
or of what stands in for them."""

REPEATED = {
    *("check_classifiers_train", "check_regressors_train", "check_transformer_general"),
    *("check_clustering", "check_estimators_pickle"),
}
"""These checks make the same assertions on the same numbers again: writable, read-only, and in
single precision."""


def impossible_checks(estimator: BaseEstimator) -> set[str]:
    """Return the checks that an estimator cannot pass."""
    found = set()
    bayesian = isinstance(estimator, BayesianMKLClassifier)
    without_intercept = bayesian or not getattr(estimator, "fit_intercept", True)
    if isinstance(estimator, ClassifierMixin) and without_intercept and estimator.kernels:
        # Without an intercept, values vanish or change sign away from the data, unless kernels are
        # large everywhere, as those of features are not.
        found.add("check_class_weight_classifiers")
    if isinstance(estimator, KernelOrdinalClassifier):
        # Names of grades have no order of their own.
        found.add("check_classifiers_classes")
    if isinstance(estimator, NOT_REPETITIONS):
        found |= {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}
    return found


NOT_REPETITIONS = (
    # `transform` has a column for each training sample, and the check compares fits on different
    # numbers of samples.
    KernelLearner,
    # Probabilities, or support vector machines, are found in folds, which hold out a row with all
    # of its weight, but the copies of a row one by one; so are left-out errors.
    *(MKLClassifier, L1SVM, ContinuousMKLClassifier),
    *(KernelStackingClassifier, KernelStackingRegressor),
    *(KernelLogisticRegression, KernelOrdinalClassifier, KernelPoissonRegressor),
)
"""Weights of these are not what repeated rows are to seven digits; the tests of weights compare
kernels, coefficients and objectives for each of them."""


def is_run(estimator: BaseEstimator, check: Any) -> bool:
    """Return whether no other case asserts the same, or almost the same, of an estimator."""
    name, keywords = check.func.__name__, check.keywords
    if name in impossible_checks(estimator) or (name in REPEATED and not keywords):
        return False
    if any(estimator is made for made in SETTINGS):
        return name in OF_SETTINGS and ("train" not in name or "X_dtype" in keywords)
    reads_as_regressor = isinstance(estimator, KernelStackingClassifier | TwoStageClassifier)
    if name == "check_estimator_sparse_array" and reads_as_regressor:
        return False
    return name != "check_estimator_sparse_matrix" and "X_dtype" not in keywords


def without_repetitions(checks: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Leave out the cases that are not run."""
    names, cases = checks.args
    needed = [case for case in cases if is_run(*getattr(case, "values", case))]
    return pytest.mark.parametrize(names, needed, **checks.kwargs)


def test_every_estimator_is_checked() -> None:
    checked = {type(estimator) for estimator in DEFAULTS}
    assert {type(learner) for learner in LEARNERS.values()} <= checked
    assert len(checked) == 28


@pytest.mark.filterwarnings("ignore:No number of centers that was tried:UserWarning")
@pytest.mark.filterwarnings("ignore:The best (C|alpha):UserWarning")
@pytest.mark.filterwarnings("ignore:The learned kernel is constant:UserWarning")
@pytest.mark.filterwarnings("ignore:The criterion still changed")
@pytest.mark.filterwarnings("ignore:Stopped after")
@pytest.mark.filterwarnings("ignore:The objective is as low without any kernel:UserWarning")
@without_repetitions(parametrize_with_checks([*ESTIMATORS, *SETTINGS]))
def test_estimator_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("task", "auto"),
        ("output_kernel", None),
        ("random_state", 0),
        ("weight_penalty", 1.0),
        ("n_jobs", None),
    ],
)
def test_a_parameter_has_one_default_in_all_estimators(name: str, default: Any) -> None:
    found = [getattr(made, name) for made in DEFAULTS if name in made.get_params(deep=False)]
    assert found
    assert all(type(value) is type(default) and value == default for value in found)


@pytest.mark.parametrize("kind", [TwoStageClassifier, TwoStageRegressor])
def test_two_stage_estimators_have_few_parameters(kind: Any) -> None:
    names = set(kind().get_params(deep=False)) - {"device"}
    assert len(names) <= 9


def test_widths_are_penalized_by_default_where_one_kernel_is_learned() -> None:
    name = "width_penalty"
    having = [made for made in DEFAULTS if name in made.get_params(deep=False)]
    penalized = [type(made).__name__ for made in having if getattr(made, name) == "auto"]
    assert penalized == ["KernelOptimization"]
    assert {getattr(made, name) for made in having} == {"auto", 0.0}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "estimator", [made for made in ESTIMATORS if has_fit_parameter(made, "sample_weight")], ids=repr
)
def test_the_type_of_weights_does_not_matter(estimator: BaseEstimator) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    y = (y > 0.0).astype(int) if isinstance(estimator, ClassifierMixin) else np.abs(y)
    weights = rng.integers(1, 4, 30)
    method = "predict" if hasattr(estimator, "predict") else "transform"
    one, other = (
        getattr(clone(estimator).fit(X, y, sample_weight=weights.astype(kind)), method)(X)
        for kind in (np.float64, object)
    )
    np.testing.assert_array_equal(other, one)
