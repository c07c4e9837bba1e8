"""learner="auto": what is compared, what is chosen, and what the second stage makes of it."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from ard_cases import table
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC, SVR

from mercer import ContinuousAlignment, TwoStageClassifier, TwoStageRegressor
from mercer._estimators.two_stage import learner_choice, two_stage
from mercer._estimators.two_stage.learner_choice import FORMS, choose_form
from mercer._gram.samples import Samples
from mercer._search.targets import as_target
from mercer.kernels import Kernel, WeightedSum

pytestmark = pytest.mark.filterwarnings("ignore:The best (C|alpha):UserWarning")

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

    monkeypatch.setattr(learner_choice, "held_out_losses", judged)
    choose_form(samples, target, ContinuousAlignment()._growth())
    assert len(compared) == len(FORMS)
    for form, kernel in zip(FORMS, compared, strict=True):
        learner = clone(form).fit(X, y)
        learned = WeightedSum(learner.kernels_, learner.weights_)
        assert_allclose(kernel(X), learned(X), atol=1e-6)


@pytest.mark.parametrize("chosen", range(len(FORMS)))
def test_the_form_of_the_least_loss_is_chosen(chosen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(2, n=20)
    losses = np.ones((len(FORMS), 10))
    losses[chosen] = 0.5
    monkeypatch.setattr(learner_choice, "held_out_losses", lambda *_, **__: losses)
    form = choose_form(Samples(X), as_target(y), ContinuousAlignment()._growth())
    assert form == FORMS[chosen]


def test_held_out_samples_play_no_part_in_the_kernels_they_judge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = regression(20)
    original = learner_choice.held_out_losses

    def first_fold(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        found: list[Any] = []

        def spying(learn: Any, *problem: Any, **settings: Any) -> np.ndarray:
            def noted(inside: Samples, part: Any) -> Any:
                if not found:
                    found.extend(learn(inside, part))
                return found

            return original(noted, *problem, **settings)

        with monkeypatch.context() as patch:
            patch.setattr(learner_choice, "held_out_losses", spying)
            growth = ContinuousAlignment()._growth()
            choose_form(Samples(X), as_target(y), growth)
        return np.array([kernel(regression(20)[0]) for kernel in found])

    test = next(KFold(3, shuffle=True, random_state=0).split(X))[1]
    Z, z = X.copy(), y.copy()
    Z[test], z[test] = 3.0 * X[test][:, ::-1], np.roll(y[test], 1)
    assert_allclose(first_fold(Z, z), first_fold(X, y), atol=1e-6)


# --- what is chosen ----------------------------------------------------------------------------


def test_relevance_is_found() -> None:
    X = np.random.default_rng(0).normal(size=(150, 5))
    y = np.sin(3.0 * X[:, 4]) > 0.0
    model = TwoStageClassifier("auto").fit(X, y)
    assert model.kernel_.relevance(5).argmax() == 4
    same_fit(model, by_its_own(model, X, y), X)


def test_noise_is_left_to_isotropic_kernels() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, size=40)
    model = TwoStageClassifier("auto").fit(X, y)
    assert repr(model.learner_) == repr(ContinuousAlignment(task="classification"))
    same_fit(model, TwoStageClassifier(ContinuousAlignment()).fit(X, y), X)


# --- the second stage --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "settings"),
    [(SUM, {}), (ARD, {"C": 2.0}), (PROJECTION, {"C": [0.5, 8.0], "cv": 3, "nested": True})],
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


def test_probabilities_and_predictors(choosing: Callable[[Any], None]) -> None:
    choosing(ARD)
    X, y = table(3)
    model = TwoStageClassifier("auto").fit(X, y)
    assert_array_equal(model.predict_proba(X), by_its_own(model, X, y).predict_proba(X))
    svc = TwoStageClassifier("auto", predictor=SVC(kernel="precomputed")).fit(X, y)
    assert not hasattr(svc, "C_")
    same_fit(svc, by_its_own(svc, X, y), X)
    svr = TwoStageRegressor("auto", predictor=SVR(kernel="precomputed")).fit(*regression())
    same_fit(svr, by_its_own(svr, *regression()), X)


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
