"""Left-out predictions of stacks, computed when they are first read."""

import copy
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from inspect import getmembers
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.pipeline import make_pipeline

from mercer import (
    GradientOuterProduct,
    KernelStackingClassifier,
    KernelStackingRegressor,
    load,
    save,
)
from mercer._estimators.stacking import left_out_predictions
from mercer._estimators.stacking.candidates import learn_widths
from mercer.kernels import Gaussian

X, RESPONSES = make_friedman1(350, noise=1.0, random_state=0)
LABELS = (RESPONSES > 14.0).astype(int)
TASKS = [(KernelStackingRegressor, RESPONSES), (KernelStackingClassifier, LABELS)]
NAMES = {"loo_predictions_", "loo_score_"}


@pytest.fixture(params=TASKS, ids=["regressor", "classifier"])
def small(request: pytest.FixtureRequest, few_folds: None) -> Any:
    """A stack of two kernels."""
    kind, y = request.param
    return kind(["linear", Gaussian()]).fit(X[:60], y[:60])


def test_they_are_computed_once_and_do_not_change_predictions(small: Any) -> None:
    before, present = small.predict(X[90:]), NAMES & set(dir(small))
    found = small.loo_predictions_
    assert not present
    assert set(dir(small)) >= NAMES
    assert small.loo_predictions_ is found
    np.testing.assert_array_equal(small.predict(X[90:]), before)


def test_several_threads_read_them(small: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda name: getattr(small, name), ["loo_score_"] * 8))
    assert len(set(found)) == 1


def test_they_are_computed_again_after_a_failure(small: Any) -> None:
    with (
        patch.object(left_out_predictions, "left_out_predictions", side_effect=MemoryError),
        pytest.raises(MemoryError),
    ):
        _ = small.loo_score_
    assert np.isfinite(small.loo_score_)


COPIES = pytest.mark.parametrize(
    "copied", [copy.copy, lambda model: pickle.loads(pickle.dumps(model))], ids=["copy", "pickle"]
)


@COPIES
def test_copies_compute_them_when_they_are_read(small: Any, copied: Any) -> None:
    with patch.object(left_out_predictions, "left_out_predictions", side_effect=AssertionError):
        other = copied(small)
    assert not NAMES & set(dir(other))
    found = other.loo_predictions_
    assert not NAMES & set(dir(small)) or copied is copy.copy  # It shares them.
    np.testing.assert_array_equal(found, small.loo_predictions_)
    with patch.object(left_out_predictions, "left_out_predictions", side_effect=AssertionError):
        np.testing.assert_array_equal(copied(small).loo_predictions_, found)


def test_copies_do_not_depend_on_the_model() -> None:
    model = KernelStackingRegressor(["linear"]).fit(X[:60], RESPONSES[:60])
    other = copy.copy(model)
    model.fit(X[60:100], RESPONSES[60:100])
    expected = clone(model).fit(X[:60], RESPONSES[:60])
    np.testing.assert_array_equal(other.loo_predictions_, expected.loo_predictions_)
    intervals = [one.predict_interval(X[100:]) for one in (other, expected)]
    np.testing.assert_array_equal(*intervals)


def test_displays_compute_nothing(small: Any) -> None:
    with patch.object(left_out_predictions, "left_out_predictions", side_effect=AssertionError):
        assert repr(small) + small._repr_html_() + make_pipeline(small)._repr_html_()
        assert not NAMES & {name for name, _ in getmembers(small)}
    assert np.isfinite(small.loo_score_)
    assert {name for name, _ in getmembers(small)} >= NAMES


@contextmanager
def read_in_another_thread(model: Any) -> Iterator[tuple[Future[float], Event]]:
    """Yield a score that a thread has begun to compute, and an event for which it waits.

    Other processes do not wait.
    """
    parent, begun, ended = os.getpid(), Event(), Event()
    compute = left_out_predictions.left_out_predictions

    def slow(*args: Any) -> Any:
        if os.getpid() == parent:
            begun.set()
            assert ended.wait(60)
        return compute(*args)

    slowly = patch.object(left_out_predictions, "left_out_predictions", slow)
    with ThreadPoolExecutor(1) as pool, slowly:
        reading = pool.submit(lambda: model.loo_score_)
        assert begun.wait(60)
        yield reading, ended


def test_a_model_is_pickled_while_another_thread_reads(small: Any) -> None:
    with read_in_another_thread(small) as (reading, ended):
        other = pickle.loads(pickle.dumps(small))
        ended.set()
        assert other.loo_score_ == reading.result(60)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
def test_a_process_forked_while_another_thread_reads_computes_its_own(small: Any) -> None:
    with read_in_another_thread(small) as (reading, ended):
        if not (child := os.fork()):
            signal.alarm(60)  # A process that waits for a lock ends with this signal.
            os._exit(0 if np.isfinite(small.loo_score_) else 1)
        status = os.waitpid(child, 0)[1]
        ended.set()
        assert np.isfinite(reading.result(60))
    assert status == 0


def test_pickles_hold_little_more_than_the_model(small: Any) -> None:
    before = len(pickle.dumps(small))
    _ = small.loo_score_
    assert before < 1.6 * len(pickle.dumps(small))


def test_saved_models_have_them(small: Any, tmp_path: Path) -> None:
    save(make_pipeline(small), tmp_path / "model")
    loaded = load(tmp_path / "model")[-1]
    with patch.object(left_out_predictions, "left_out_predictions", side_effect=AssertionError):
        np.testing.assert_array_equal(loaded.loo_predictions_, small.loo_predictions_)
        assert loaded.loo_score_ == small.loo_score_


def test_models_are_saved_without_them(small: Any, tmp_path: Path) -> None:
    with patch.object(left_out_predictions, "left_out_predictions", side_effect=AssertionError):
        save(small, tmp_path / "model", complete=False)
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X[90:]), small.predict(X[90:]))
    assert not hasattr(loaded, "loo_score_")
    with pytest.raises(AttributeError, match="save it with complete=True"):
        _ = loaded.loo_predictions_
    intervals = getattr(loaded, "predict_interval", getattr(loaded, "predict_set", None))
    assert intervals is not None
    with pytest.raises((AttributeError, ValueError), match="saved"):
        intervals(X[90:])
    save(loaded, tmp_path / "again", complete=False)
    with pytest.raises(AttributeError, match="save it with complete=True"):
        save(loaded, tmp_path / "again")
    with pytest.raises(ValueError, match="complete must be True or False"):
        save(loaded, tmp_path / "again", complete="no")  # type: ignore[arg-type]


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize(("kind", "y"), TASKS, ids=["regressor", "classifier"])
def test_they_are_those_of_the_parameters_of_the_fit(kind: Any, y: Any) -> None:
    model = kind([GradientOuterProduct(n_iter=1), Gaussian()], max_samples=500)
    fitted, expected = (clone(model).fit(X[:90], y[:90]) for _ in range(2))
    expected = expected.loo_predictions_
    fitted.set_params(random_state=7, candidates=["linear"], max_samples=20, scoring="unknown")
    assert np.isfinite(fitted.loo_score_)
    np.testing.assert_array_equal(fitted.loo_predictions_, expected)


def test_another_fit_forgets_them() -> None:
    model = KernelStackingRegressor(["linear"])
    with pytest.raises(AttributeError, match="has no attribute 'loo_score_'"):
        _ = model.loo_score_
    assert len(model.fit(X[:60], RESPONSES[:60]).loo_predictions_) == 60
    model.fit(X[:50], RESPONSES[:50])
    assert not NAMES & set(dir(model))
    assert len(model.loo_predictions_) == 50


@pytest.mark.parametrize(
    "settings", [{"scoring": "r2"}, {"random_state": np.random.RandomState(0)}]
)
def test_scorers_and_generators_take_their_turn_in_the_fit(settings: Any) -> None:
    model = KernelStackingRegressor(["linear"], **settings).fit(X[:60], RESPONSES[:60])
    assert set(dir(model)) >= NAMES


@pytest.mark.usefixtures("few_folds")
def test_halves_take_the_kernels_that_were_learned_from_them() -> None:
    # All parts of the table find normal quantiles better.
    skewed = np.exp(norm.ppf(np.clip(X[:80], 1e-3, 1.0 - 1e-3)) * 2.0)
    learned = []

    def counted(X: Any, *args: Any, **kwargs: Any) -> Any:
        learned.append(len(X))
        return learn_widths(X, *args, **kwargs)

    def predictions() -> Any:
        learned.clear()
        with patch("mercer._estimators.stacking.candidates.learn_widths", counted):
            return KernelStackingRegressor().fit(skewed, RESPONSES[:80]).loo_predictions_

    shared, n_shared = predictions(), sorted(learned)
    with patch.object(left_out_predictions, "kernels_learned_from", lambda *_: {}):
        alone = predictions()
    # Searches from kernels of quarters end elsewhere than the first searches on halves.
    assert np.corrcoef(shared, alone)[0, 1] > 0.995
    assert n_shared == [20] * 4 + [40] * 2 + [80]
    assert sorted(learned) == [20] * 4 + [40] * 4 + [80]
