"""ARD kernels whose width penalty, or number of iterations, held-out samples choose."""

from typing import Any

import numpy as np
import pytest
from ard_cases import ard_learner, every_criterion, table, widths
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import KFold
from two_stage_cases import shuffled

from mercer import ContinuousAlignment, TwoStageClassifier
from mercer._data.sample import content_ranks
from mercer._gram.samples import Samples
from mercer._model_selection import held_out, penalty_choice
from mercer._model_selection.penalty_choice import (
    PENALTIES,
    RELATIVE_FORMS,
    STOPS,
    candidate_penalties,
)
from mercer._search.parameter_search import STRENGTHS
from mercer.datasets import make_relevance
from mercer.kernels import Gaussian, Kernel, Linear, OnColumns

AUTOMATIC: dict[str, Any] = {
    "penalty": ard_learner(),
    "stop": ard_learner(early_stopping=True),
    "sum": ContinuousAlignment(
        Gaussian(ard=True), width_penalty="auto", width_penalty_on="inverse_widths", random_state=0
    ),
}
every_automatic = pytest.mark.parametrize("learner", AUTOMATIC.values(), ids=AUTOMATIC)


def kernels_by_fold(
    monkeypatch: pytest.MonkeyPatch, learner: Any, X: Any, y: Any
) -> list[list[Kernel]]:
    """The kernels that are learned in each fold of a choice."""
    found: list[list[Kernel]] = []

    def recorded(learn: Any, *problem: Any) -> np.ndarray:
        def recording(inside: Samples, known: Any) -> list[Kernel]:
            kernels = list(learn(inside, known))
            found.append(kernels)
            return kernels

        return held_out.held_out_losses(recording, *problem)

    with monkeypatch.context() as patch:
        patch.setattr(penalty_choice, "held_out_losses", recorded)
        clone(learner).fit(X, y)
    return found


def no_choice(*_: Any) -> np.ndarray:
    raise AssertionError("nothing is left to choose")


# --- what is chosen ----------------------------------------------------------------------------


def test_noise_is_hardly_ever_fitted() -> None:
    """By chance, a kernel is better by a standard error in one draw of eight (5 and 3 of 40)."""
    penalized, stopped = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(50, 4)), rng.integers(0, 2, size=50)
        fit = ard_learner(random_state=seed).fit(X, y)
        penalized.append(fit.width_penalty_ == np.inf)
        assert (np.ptp(fit.kernel_.theta) == 0.0) == penalized[-1]
        stopped.append(ard_learner(early_stopping=True).fit(X, y).early_stopping_ == 0)
    assert sum(penalized) >= 7
    assert sum(stopped) >= 7


def test_features_of_unequal_relevance_have_their_own_widths() -> None:
    X, y = make_relevance(70, gamma=40.0, n_features=8, random_state=0)
    fit = ard_learner(width_penalty_on=None).fit(X, y)
    assert fit.width_penalty_ in STRENGTHS
    assert fit.width_penalty_on_ in RELATIVE_FORMS
    assert widths(fit).argmin() == 7
    assert widths(fit)[7] < 0.7 * np.delete(widths(fit), 7).min()
    assert ard_learner(early_stopping=True).fit(X, y).early_stopping_ in STOPS


def test_each_candidate_is_the_learner_of_its_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each candidate of each fold is the learner of its penalty, fitted to that fold."""
    X, y = table(2, n=30)
    monkeypatch.setattr(penalty_choice, "_TRIAL_TOL", 1e-9)
    found = kernels_by_fold(monkeypatch, ard_learner(), X, y)
    candidates = candidate_penalties(RELATIVE_FORMS)
    assert candidates[0].strength == np.inf
    finite = [(penalty.form, penalty.strength) for penalty in candidates[1:]]
    assert finite == [(form, strength) for form in RELATIVE_FORMS for strength in STRENGTHS]
    folds = shuffled(5, X, y)
    assert len(folds) == len(found)
    for (train, _), kernels in list(zip(folds, found, strict=True))[:2]:
        assert len(kernels) == len(candidates)
        for penalty, kernel in [*zip(candidates, kernels, strict=True)][::4]:
            alone = ard_learner(
                width_penalty=penalty.strength, width_penalty_on=penalty.form, tol=1e-9
            )
            K = alone.fit(X[train], y[train]).kernels_[0](X)
            assert_allclose(kernel(X), K, atol=1e-3)


@every_automatic
def test_no_kernel_is_learned_from_the_samples_that_it_predicts(
    learner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Bounds that are not given follow the whole table.
    name = "family" if "family" in learner.get_params() else "kernel"
    family = Gaussian(ard=True, bounds=(1e-3, 1e4))
    learner = clone(learner).set_params(**{name: family})
    X = table(3, n=25)[0]
    y = X[:, 0] ** 2 + 0.1 * X[:, 1]
    here = kernels_by_fold(monkeypatch, learner, X, y)
    test = shuffled(5, X, y, KFold)[0][1]
    # Random draws follow what rows hold: those for other rows would be others.
    ranks = content_ranks(X, y)
    monkeypatch.setattr("mercer._data.sample.content_ranks", lambda *_: ranks)
    Z, z = X.copy(), y.copy()
    Z[test], z[test] = 3.0 * X[test][:, ::-1], np.roll(y[test], 1)
    there = kernels_by_fold(monkeypatch, learner, Z, z)
    assert len(here) == len(there) == 5
    grams = [np.array([k(X) for fold in found for k in fold[:9]]) for found in (here, there)]
    first = len(here[0][:9])
    assert_allclose(grams[1][:first], grams[0][:first], atol=1e-6)
    assert np.abs(grams[1][first:] - grams[0][first:]).max() > 0.1


@every_automatic
def test_selected_parameters_repeat_the_fit_without_a_choice(
    learner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table(1)
    chosen, again = clone(learner).fit(X, y), clone(learner).fit(X, y)
    assert again.kernel_ == chosen.kernel_
    assert again.selected_params() == chosen.selected_params()
    monkeypatch.setattr(penalty_choice, "held_out_losses", no_choice)
    repeated = clone(learner).set_params(**chosen.selected_params()).fit(X, y)
    assert repeated.kernel_ == chosen.kernel_
    with pytest.raises(AssertionError, match="nothing is left"):
        clone(learner).fit(X, y)


@pytest.mark.parametrize("kernel", [Linear(), OnColumns(Gaussian(), [1])])
def test_kernels_of_one_width_leave_nothing_to_choose(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(penalty_choice, "held_out_losses", no_choice)
    X, y = table()
    for stop in (False, True):
        fit = ard_learner(kernel=kernel, early_stopping=stop).fit(X, y)
        assert fit.width_penalty_ == 0.0
        assert fit.early_stopping_ is None
        assert fit.selected_params() == {"width_penalty": 0.0, "width_penalty_on": "log_widths"}
    assert ard_learner().fit(X[:, :1], y).width_penalty_ == 0.0


def test_the_choice_does_not_depend_on_the_unit_of_the_features() -> None:
    (X, y), unit = table(1), 1e-8
    plain, other = ard_learner().fit(X, y), ard_learner().fit(unit * X, y)
    assert (other.width_penalty_, other.width_penalty_on_) == (
        plain.width_penalty_,
        plain.width_penalty_on_,
    )
    assert_allclose(other.kernel_.theta - np.log(unit), plain.kernel_.theta, atol=0.02)


def test_few_samples_and_odd_tables() -> None:
    X, y = table(9)
    for n in (2, 3, 7):
        few = ard_learner().fit(X[:n], np.arange(n) % 2)
        assert np.isfinite(few.kernel_.theta).all()
        assert few.width_penalty_ > 0.0
    assert ard_learner().fit(np.ones((20, 3)), y[:20]).width_penalty_ == np.inf
    rare = np.r_[np.zeros(39, dtype=int), 1]
    assert np.isfinite(ard_learner().fit(X, rare).kernel_.theta).all()
    wide = np.random.default_rng(0).normal(size=(20, 60))
    assert np.isfinite(ard_learner().fit(wide, y[:20]).kernel_.theta).all()
    constant = ard_learner().fit(np.insert(X, 1, 7.0, axis=1), y)
    assert constant.width_penalty_ == ard_learner().fit(X, y).width_penalty_


# --- stopping ----------------------------------------------------------------------------------


@every_criterion
def test_stopping_is_a_search_of_so_many_iterations(criterion: str) -> None:
    X, y = table(1)
    isotropic = ard_learner(criterion, width_penalty=np.inf).fit(X, y)
    free = ard_learner(criterion, width_penalty=0.0).fit(X, y)
    values = []
    for limit in (0, 1, 2, 3, 1000):
        fit = ard_learner(criterion, early_stopping=limit).fit(X, y)
        assert (fit.early_stopping_, fit.width_penalty_) == (limit, 0.0)
        assert fit.n_iter_ == isotropic.n_iter_ + min(limit, free.n_iter_ - isotropic.n_iter_)
        values.append(fit.objective_)
        if limit == 0:
            assert_array_equal(fit.kernel_.theta, isotropic.kernel_.theta)
    assert np.all(np.diff(values) > 0.0)
    assert_array_equal(fit.kernel_.theta, free.kernel_.theta)


@pytest.mark.parametrize("asked", [True, False])
def test_numpys_truth_values_are_no_numbers_of_iterations(asked: bool) -> None:
    X, y = table(1)
    fit = ard_learner(early_stopping=np.bool_(asked)).fit(X, y)
    plain = ard_learner(early_stopping=asked).fit(X, y)
    assert fit.early_stopping_ == plain.early_stopping_
    assert fit.kernel_ == plain.kernel_


# --- invalid settings, before any work --------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width_penalty_on": "widths"}, 'width_penalty="auto" needs a relative penalty; got'),
        ({"early_stopping": 2.5}, "early_stopping must be an instance of int"),
    ],
)
def test_invalid_settings_raise_before_the_data_are_read(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ard_learner().set_params(**settings).fit(None, None)


# --- in folds ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The best")
def test_nested_folds_learn_with_the_penalty_that_was_chosen(
    monkeypatch: pytest.MonkeyPatch, learned_in_folds: None
) -> None:
    X, y = table(1)
    chosen = ard_learner().fit(X, y).selected_params()
    given = TwoStageClassifier(ard_learner(**chosen), cv=3).fit(X, y)
    calls: list[int] = []

    def counted(*problem: Any) -> np.ndarray:
        calls.append(1)
        return held_out.held_out_losses(*problem)

    monkeypatch.setattr(penalty_choice, "held_out_losses", counted)
    auto = TwoStageClassifier(ard_learner(), cv=3).fit(X, y)
    assert len(calls) == 1
    for name, scores in given.cv_results_.items():
        assert_array_equal(auto.cv_results_[name], scores)


def chosen_strength(X: np.ndarray, y: np.ndarray) -> float:
    learner = clone(AUTOMATIC["sum"]).set_params(width_penalty_on="widths")
    return float(learner.fit(X, y).selected_params()["width_penalty"])


def test_the_largest_of_equally_good_penalties_of_widths_is_chosen() -> None:
    """Where all features matter alike, common widths are best, and no penalty is too large."""
    X = np.random.default_rng(1).normal(size=(40, 2))
    y = (np.square(X).sum(axis=1) > 2.0).astype(int)
    assert chosen_strength(X, y) == PENALTIES[-1]


def test_penalties_of_widths_are_chosen_where_a_class_has_one_sample() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert chosen_strength(X, np.r_[np.zeros(19, dtype=int), 1]) in PENALTIES


def test_the_choice_for_columns_is_that_for_a_table_of_them() -> None:
    X, y = table(5, d=4)
    part = ard_learner(kernel=OnColumns(Gaussian(ard=True), [2, 0])).fit(X, y)
    alone = ard_learner().fit(X[:, [2, 0]], y)
    assert (part.width_penalty_, part.width_penalty_on_) == (
        alone.width_penalty_,
        alone.width_penalty_on_,
    )
    assert_allclose(part.kernel_.theta, alone.kernel_.theta, atol=1e-6)
