"""The learner of the lowest left-out error where none is given, and learner="auto"."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from ard_cases import table
from numpy.testing import assert_allclose, assert_array_equal
from reference import left_out_kernel_ridge
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from two_stage_cases import centered, isotropic

from mercer import ContinuousAlignment, TwoStageClassifier, TwoStageRegressor, UniformCombination
from mercer._estimators.two_stage import kernel_choice, two_stage
from mercer._estimators.two_stage.kernel_choice import (
    FORMS,
    CandidateKernel,
    choose_form,
    comparable,
)
from mercer._gram.samples import Samples
from mercer._search.targets import as_target
from mercer.kernels import Gaussian, Kernel, Laplacian, WeightedSum

pytestmark = pytest.mark.filterwarnings("ignore:The best (C|alpha):UserWarning")


def smooth(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A function of the distance, for which the Gaussian kernel is best."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.exp(-0.2 * (X**2).sum(axis=1))


def additive(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A sum of functions with kinks, for which the product Laplacian is best."""
    X = np.random.default_rng(1).normal(size=(n, 4))
    return X, np.abs(X).sum(axis=1)


def relative_error(kernel: Kernel, X: np.ndarray, y: np.ndarray, alpha: float) -> float:
    """Error of refits, relative to that of the means of all others."""
    gram = kernel(X)
    unit = np.trace(centered(gram)) / len(X)
    wrong = y - left_out_kernel_ridge(gram / unit, y, alpha)
    others = (y.sum() - y) / (len(y) - 1)
    return float((wrong**2).sum() / ((y - others) ** 2).sum())


# --- candidates --------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [smooth, additive])
def test_errors_are_those_of_refits(problem: Any) -> None:
    X, y = problem()
    found = isotropic(X, y, "regression")
    assert [type(c.kernel) for c in found] == (
        [Gaussian, Laplacian] if problem is smooth else [Laplacian, Gaussian]
    )
    assert found[0].loo_error < found[1].loo_error
    for candidate in found:
        expected = relative_error(candidate.kernel, X, y, candidate.alpha)
        assert_allclose(candidate.loo_error, expected, rtol=1e-4)
        assert candidate.description == candidate.kernel.describe()


def test_no_octave_is_better() -> None:
    X, y = additive()
    best = isotropic(X, y, "regression")[0]
    kernel: Any = best.kernel
    for factor in (0.5, 2.0):
        other = kernel.with_theta(kernel.theta + np.log(factor))
        for alpha in 10.0 ** np.arange(-9, 2):
            assert best.loo_error < 1.01 * relative_error(other, X, y, alpha)


# --- the estimators ----------------------------------------------------------------------------


def test_gaussians_of_support_vector_machines_are_wider() -> None:
    X, y = smooth()
    labels = (y > np.median(y)).astype(int)
    found = isotropic(X, labels, "classification"), isotropic(X, np.eye(2)[labels], "regression")
    wide, narrow = (
        next(k.bandwidth for k in (c.kernel for c in kernels) if isinstance(k, Gaussian))
        for kernels in found
    )
    assert_allclose(wide, 2.0 * np.asarray(narrow), rtol=1e-6)


def test_only_near_errors_are_compared_further() -> None:
    found = [CandidateKernel("", Gaussian(1.0), error, 1.0) for error in (0.5, 0.59, 0.61)]
    assert comparable(found) == found[:2]
    assert comparable(found[:1]) == found[:1]


def test_the_regressor_takes_the_lowest_error() -> None:
    X, y = additive()
    model = TwoStageRegressor().fit(X, y)
    assert isinstance(model.kernel_.kernels[0], Laplacian)
    assert model.kernel_.kernels[0].norm == 1.0
    learner = UniformCombination([model.candidates_[0].kernel])
    own = TwoStageRegressor(learner, alpha=model.alpha_).fit(X, y)
    assert_allclose(own.predict(X), model.predict(X), rtol=1e-12)
    assert model.learner is None


def test_the_classifier_takes_the_most_accurate_of_the_near() -> None:
    X, y = additive()
    labels = (y > np.median(y)).astype(int)
    model = TwoStageClassifier().fit(X, labels)
    fitted = [
        TwoStageClassifier(UniformCombination([c.kernel])).fit(X, labels)
        for c in comparable(model.candidates_)
    ]
    scores = [other.cv_correct_.mean() for other in fitted]
    best = fitted[int(np.argmax(scores))]
    assert model.cv_correct_.mean() == max(scores)
    # Machines are solved to a tolerance of 1e-9.
    assert_allclose(model.decision_function(X), best.decision_function(X), rtol=1e-7)


def test_without_folds_the_error_decides() -> None:
    X, y = additive()
    model = TwoStageClassifier(C=1.0).fit(X, y > np.median(y))
    assert model.kernel_.kernels[0].theta == pytest.approx(model.candidates_[0].kernel.theta)


# --- folds and grids ---------------------------------------------------------------------------


def test_folds_of_responses_are_shuffled(learned_in_folds: None) -> None:
    x = np.sort(np.random.default_rng(0).uniform(-3.0, 3.0, size=80))
    model = TwoStageRegressor(UniformCombination([Gaussian(1.0)]))
    scores = model.fit(x[:, None], np.sin(x)).cv_results_
    assert min(scores[f"split{i}_test_score"].max() for i in range(5)) > 0.9


def test_alpha_is_searched_beyond_its_grid() -> None:
    x = np.linspace(0.0, 3.0, 40)
    model = TwoStageRegressor(UniformCombination([Gaussian(2.0)])).fit(x[:, None], np.sin(x))
    grid = model.cv_results_["param_alpha"]
    assert grid.min() < 1e-6
    assert_allclose(np.diff(np.log10(grid)), -0.5)


# --- learner="auto" ----------------------------------------------------------------------------


SUM, _, PRODUCT, ARD, _, PROJECTION = FORMS


@pytest.fixture
def choosing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Makes the first comparison end with a form, without any work."""

    def choose(form: Any) -> None:
        monkeypatch.setattr(two_stage, "choose_form", lambda *_: form)

    return choose


def regression(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    X = table(1, n)[0]
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1]


def by_its_own(model: Any, X: Any, y: Any) -> Any:
    """The second stage of the learner that was chosen, given by hand."""
    return clone(model).set_params(learner=clone(model.learner_)).fit(X, y)


def same_fit(model: Any, other: Any, X: Any) -> None:
    """Every fitted attribute, and predictions to the last bit."""
    names = {name for name in vars(model) if name.endswith("_")}
    assert names == {name for name in vars(other) if name.endswith("_")}
    for name in names - {"learner_", "predictor_", "temperature_", "history_", "cv_results_"}:
        assert_array_equal(getattr(model, name), getattr(other, name))
    assert repr(model.learner_) == repr(other.learner_)
    for name, scores in getattr(model, "cv_results_", {}).items():
        assert_array_equal(scores, other.cv_results_[name])
    assert_array_equal(model.predict(X), other.predict(X))


# --- what is compared --------------------------------------------------------------------------


def test_each_form_is_what_its_learner_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(2, n=30)
    samples, target = Samples(X), as_target(y)
    compared: list[Kernel] = []

    def judged(learn: Any, samples: Samples, target: Any, *_: Any, **__: Any) -> np.ndarray:
        compared.extend(learn(samples, target))
        return np.eye(len(compared))[:-1]

    monkeypatch.setattr(kernel_choice, "held_out_losses", judged)
    choose_form(samples, target, ContinuousAlignment()._growth())
    assert len(compared) == len(FORMS)
    for form, kernel in zip(FORMS, compared, strict=True):
        learner = clone(form).fit(X, y)
        learned = WeightedSum(learner.kernels_, learner.weights_)
        assert_allclose(kernel(X), learned(X), atol=1e-6)


# --- what is chosen ----------------------------------------------------------------------------


def test_relevance_is_found() -> None:
    X = np.random.default_rng(0).normal(size=(150, 5))
    y = np.sin(3.0 * X[:, 4]) > 0.0
    model = TwoStageClassifier("auto").fit(X, y)
    assert model.kernel_.relevance(5).argmax() == 4
    same_fit(model, by_its_own(model, X, y), X)


def test_columns_that_tell_known_groups_are_left_to_isotropic_kernels() -> None:
    """The last of three columns tells the group of a row, and nothing of other groups."""
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(10), 4)
    marks, levels = rng.normal(size=10)[groups], rng.normal(size=10)[groups]
    X = np.column_stack([rng.normal(size=(40, 2)), marks + 0.01 * rng.normal(size=40)])
    y = levels + 0.1 * rng.normal(size=40)
    alone, together = (TwoStageRegressor("auto").fit(X, y, groups=g) for g in (None, groups))
    assert not isinstance(alone.learner_, ContinuousAlignment)
    assert isinstance(together.learner_, ContinuousAlignment)


def test_noise_is_left_to_isotropic_kernels() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, size=40)
    model = TwoStageClassifier("auto").fit(X, y)
    assert repr(model.learner_) == repr(ContinuousAlignment(task="classification"))
    same_fit(model, TwoStageClassifier(ContinuousAlignment()).fit(X, y), X)


# --- the second stage --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "settings"),
    [(SUM, {}), (ARD, {"C": 2.0}), (PROJECTION, {"C": [0.5, 8.0], "cv": 3})],
)
def test_a_classifier_is_that_of_its_learner(
    form: Any, settings: dict[str, Any], choosing: Callable[[Any], None]
) -> None:
    choosing(form)
    X, y = table(3)
    model = TwoStageClassifier("auto", **settings).fit(X, y)
    same_fit(model, by_its_own(model, X, y), X)
    first = TwoStageClassifier(ContinuousAlignment(), **settings).fit(X, y)
    other = TwoStageClassifier(form, **settings).fit(X, y)
    if "C" in settings and settings["C"] == 2.0:
        assert_array_equal(model.decision_function(X), other.decision_function(X))
        return
    as_accurate = other.cv_correct_.mean() >= first.cv_correct_.mean()
    expected = other if as_accurate else first
    assert_array_equal(model.decision_function(X), expected.decision_function(X))
    assert_array_equal(model.cv_correct_, expected.cv_correct_)


@pytest.mark.parametrize(("form", "alpha"), [(PRODUCT, "auto"), (ARD, 0.1)])
def test_a_regressor_is_that_of_its_learner(
    form: Any, alpha: Any, choosing: Callable[[Any], None]
) -> None:
    choosing(form)
    X, y = regression()
    Y = np.column_stack([y, 1e3 * X[:, 1] ** 2])
    model = TwoStageRegressor("auto", alpha=alpha).fit(X, Y)
    same_fit(model, by_its_own(model, X, Y), X)
    assert type(model.learner_) is type(form)


def test_probabilities(choosing: Callable[[Any], None]) -> None:
    choosing(ARD)
    X, y = table(3)
    model = TwoStageClassifier("auto").fit(X, y)
    assert_array_equal(model.predict_proba(X), by_its_own(model, X, y).predict_proba(X))


class Uneven(StratifiedKFold):
    """Folds that differ at every call."""

    n_calls = 0

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        Uneven.n_calls += 1
        self.random_state = Uneven.n_calls
        return super().split(X, y, groups)


def test_contenders_meet_the_same_folds(choosing: Callable[[Any], None]) -> None:
    choosing(ARD)
    X, y = table(3)
    before = Uneven.n_calls
    TwoStageClassifier("auto", cv=Uneven(3, shuffle=True)).fit(X, y)
    assert Uneven.n_calls == before + 1
    folds = StratifiedKFold(3)
    given = TwoStageClassifier("auto", cv=folds).fit(X, y)
    once = TwoStageClassifier("auto", cv=folds.split(X, y)).fit(X, y)
    assert_array_equal(once.cv_correct_, given.cv_correct_)


# --- little data, and none ---------------------------------------------------------------------


def test_two_features_are_told_apart_where_one_decides() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.sin(3.0 * X[:, 0])
    model = TwoStageRegressor("auto").fit(X, y)
    relevance = model.kernel_.relevance(2)
    assert relevance[0] > 2.0 * relevance[1]
    same_fit(model, by_its_own(model, X, y), X)


@pytest.mark.filterwarnings("ignore:The learned kernel is constant")
def test_constant_features_predict_a_constant(choosing: Callable[[Any], None]) -> None:
    choosing(PROJECTION)
    X, y = np.ones((20, 2)), np.arange(20) % 2
    assert np.unique(TwoStageClassifier("auto", C=1.0).fit(X, y).predict(X)).size == 1
