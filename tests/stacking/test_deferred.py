"""Left-out predictions of stacks, computed when they are first read."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._stacking import kernel_stacking
from mercer._stacking.candidates import learn_widths

X, RESPONSES = make_friedman1(350, noise=1.0, random_state=0)
LABELS = (RESPONSES > 14.0).astype(int)
TASKS = [(KernelStackingRegressor, RESPONSES), (KernelStackingClassifier, LABELS)]
NAMES = {"loo_predictions_", "loo_score_"}


@pytest.fixture(params=TASKS, ids=["regressor", "classifier"])
def fitted(request: pytest.FixtureRequest) -> Any:
    """A stack, and the responses or labels that it is fitted to."""
    kind, y = request.param
    return kind(max_samples=500).fit(X[:90], y[:90])


def test_they_are_computed_once_and_do_not_change_predictions(fitted: Any) -> None:
    before, present = fitted.predict(X[90:]), NAMES & set(vars(fitted))
    found = fitted.loo_predictions_
    assert not present
    assert set(vars(fitted)) >= NAMES
    assert fitted.loo_predictions_ is found
    np.testing.assert_array_equal(fitted.predict(X[90:]), before)


def test_several_threads_read_them(fitted: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda name: getattr(fitted, name), ["loo_score_"] * 8))
    assert len(set(found)) == 1


def test_they_are_computed_again_after_a_failure(fitted: Any) -> None:
    with (
        patch.object(kernel_stacking, "left_out_predictions", side_effect=MemoryError),
        pytest.raises(MemoryError),
    ):
        _ = fitted.loo_score_
    assert np.isfinite(fitted.loo_score_)


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_have_them(fitted: Any, copied: Any) -> None:
    other = copied(fitted)
    assert set(vars(other)) >= NAMES
    np.testing.assert_array_equal(other.loo_predictions_, fitted.loo_predictions_)


def test_they_are_those_of_the_parameters_of_the_fit(fitted: Any) -> None:
    expected = clone(fitted).fit(X[:90], fitted_target(fitted)[:90]).loo_predictions_
    fitted.set_params(random_state=7, candidates=["linear"], max_samples=20, scoring="unknown")
    assert np.isfinite(fitted.loo_score_)
    np.testing.assert_array_equal(fitted.loo_predictions_, expected)


@pytest.mark.parametrize(("kind", "y"), TASKS, ids=["regressor", "classifier"])
def test_another_fit_forgets_them(kind: Any, y: Any) -> None:
    model = kind().fit(X[:60], y[:60])
    assert len(model.loo_predictions_) == 60
    model.fit(X[:50], y[:50])
    assert not NAMES & set(vars(model))
    assert len(model.loo_predictions_) == 50
    with pytest.raises(AttributeError, match="has no attribute 'loo_score_'"):
        _ = kind().loo_score_


def test_updates_take_those_of_the_rows_before() -> None:
    never_read, read = (KernelStackingRegressor().fit(X[:60], RESPONSES[:60]) for _ in range(2))
    assert len(read.loo_predictions_) == 60
    assert not NAMES & set(vars(never_read))
    for model in (never_read, read):
        model.update(X[60:70], RESPONSES[60:70])
    intervals = [model.predict_interval(X[70:90]) for model in (never_read, read)]
    np.testing.assert_array_equal(*intervals)


@pytest.mark.parametrize(
    "settings", [{"scoring": "r2"}, {"random_state": np.random.RandomState(0)}]
)
def test_scorers_and_generators_take_their_turn_in_the_fit(settings: Any) -> None:
    model = KernelStackingRegressor(**settings).fit(X[:60], RESPONSES[:60])
    assert set(vars(model)) >= NAMES


@pytest.mark.parametrize(("kind", "y"), TASKS, ids=["regressor", "classifier"])
def test_halves_take_the_kernels_that_were_learned_from_them(kind: Any, y: Any) -> None:
    # All parts of the table find normal quantiles better.
    skewed = np.exp(norm.ppf(np.clip(X, 1e-3, 1.0 - 1e-3)) * 2.0)
    learned = []

    def counted(X: Any, *args: Any, **kwargs: Any) -> Any:
        learned.append(len(X))
        return learn_widths(X, *args, **kwargs)

    def predictions() -> Any:
        learned.clear()
        with patch("mercer._stacking.candidates.learn_widths", counted):
            return kind().fit(skewed, y).loo_predictions_

    shared, n_shared = predictions(), sorted(learned)
    with patch.object(kernel_stacking, "kernels_learned_from", lambda *_: {}):
        alone = predictions()
    np.testing.assert_allclose(shared, alone, rtol=1e-12)
    assert n_shared == [87, 87, 88, 88, 175, 175, 350]
    assert sorted(learned) == [87, 87, 88, 88, 175, 175, 175, 175, 350]


def fitted_target(model: Any) -> Any:
    """What a stack of these tests is fitted to."""
    return LABELS if isinstance(model, KernelStackingClassifier) else RESPONSES
