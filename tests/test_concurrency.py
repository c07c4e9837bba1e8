"""Fits in threads, in processes and after a fork: the same numbers, and they can be interrupted."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread
from typing import Any

import numpy as np
import pytest
from learner_cases import LEARNERS, problem
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_info

from mercer import (
    BayesianMKLClassifier,
    ContinuousMKLClassifier,
    HSICClustering,
    KernelStackingClassifier,
    MKLClassifier,
    MultipleKernelClustering,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer._gram.devices import _FULL_PRECISION
from mercer._gram.threads import GIVEN_CORES
from mercer.kernels import Gaussian

pytestmark = pytest.mark.usefixtures("few_folds")
MODELS: dict[str, BaseEstimator] = {
    "uniform": LEARNERS["uniform"],
    "ca": LEARNERS["ca"],
    "evidence": LEARNERS["evidence"],
    "mkl": MKLClassifier(),
    "cr": ContinuousMKLClassifier(max_kernels=3, tol=0.1),
    "bayes": BayesianMKLClassifier([Gaussian(), "linear"], tol=0.5),
    "two-stage": TwoStageClassifier(),
    "two-stage-r": TwoStageRegressor(),
    "stacking": KernelStackingClassifier([Gaussian(), "linear"]),
    "hsic-clusters": HSICClustering(2),
    "mk-clusters": MultipleKernelClustering(n_clusters=2),
}


def numbers(model: BaseEstimator, X: Any) -> Any:
    """What a fitted model answers."""
    for method in ("decision_function", "predict", "transform"):
        if hasattr(model, method):
            return getattr(model, method)(X)
    raise AssertionError(model)


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_fits_in_threads_give_the_same_numbers() -> None:
    X, y = problem("binary")
    alone = {name: numbers(clone(model).fit(X, y), X) for name, model in MODELS.items()}
    before, together = blas_threads(), Barrier(2)

    def fit(name: str) -> Any:
        return numbers(clone(MODELS[name]).fit(X, y), X)

    def fit_all(turn: int) -> list[tuple[str, Any]]:
        together.wait()
        names = [*MODELS][turn:] + [*MODELS][:turn]
        return [(name, fit(name)) for name in names]

    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(fit_all, (0, 6)):
            for name, values in found:
                np.testing.assert_allclose(values, alone[name], rtol=1e-9, atol=1e-12)
    assert blas_threads() == before


_FEWER_CORES = """
import numpy as np
from threadpoolctl import threadpool_info
from mercer import MKLClassifier
from mercer._gram.tiles import n_threads

def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

seen = set()

def kernel(X, Z=None):
    seen.update(blas_threads())
    return X @ (X if Z is None else Z).T

X = np.random.default_rng(0).normal(size=(40, 3))
before = blas_threads()
MKLClassifier([kernel, "linear"]).fit(X, X[:, 0] > 0)
print(max(before), max(seen), n_threads(), blas_threads() == before)
"""


def test_fits_use_no_more_threads_than_the_process_has_cores() -> None:
    many = {"OPENBLAS_NUM_THREADS": "4", "MKL_NUM_THREADS": "4", "LOKY_MAX_CPU_COUNT": "1"}
    given = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-c", _FEWER_CORES]
    found = subprocess.run(command, env=given | many, capture_output=True, text=True, check=True)
    before, most, tiles, restored = found.stdout.split()
    if before == "1":
        pytest.skip("the linear-algebra library has one thread, whatever it is told")
    assert (most, tiles, restored) == ("1", "1", "True")


_PROCESSES = """
import hashlib, os, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
sys.path.insert(0, sys.argv[1])
from sklearn.base import clone
from learner_cases import problem
from test_concurrency import MODELS, numbers

NAMES = ("uniform", "mkl", "two-stage-r", "mk-clusters")

def digests(_=None):
    X, y = problem("binary")
    answers = [numbers(clone(MODELS[name]).fit(X, y), X) for name in NAMES]
    return [hashlib.sha256(values.tobytes()).hexdigest() for values in answers]

def predicted(models):
    X, _ = problem("binary")
    return [hashlib.sha256(numbers(m, X).tobytes()).hexdigest() for m in models]

if __name__ == "__main__":
    X, y = problem("binary")
    here = digests()
    for method, n in (("fork", 2), ("spawn", 1)):
        with ProcessPoolExecutor(n, mp_context=get_context(method)) as pool:
            assert list(pool.map(digests, range(n))) == [here] * n, method
            models = [clone(MODELS[name]).fit(X, y) for name in NAMES]
            assert pool.submit(predicted, models).result() == here, method
    assert digests() == here
    print("the same")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_fits_in_processes_and_after_a_fork_give_the_same_bits(tmp_path: Any) -> None:
    script = tmp_path / "processes.py"
    script.write_text(_PROCESSES)
    tests = str(__file__).rpartition("/")[0]
    command = [sys.executable, str(script), tests]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.stdout == "the same\n", run.stderr[-2000:]


class StoppedError(Exception):
    """Raised in a fit that another thread stopped."""


class StopWhenAsked:
    """A callback that ends a fit at its next step once `asked` is set."""

    def __init__(self) -> None:
        self.begun, self.asked = Event(), Event()

    def setup(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing, as the protocol allows."""

    def teardown(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing, as the protocol allows."""

    def on_fit_task_begin(self, estimator: Any, context: Any, *args: Any, **kwargs: Any) -> None:
        """Wait for the other thread once, and stop."""
        self.begun.set()
        self.asked.wait(60)

    def on_fit_task_end(self, estimator: Any, context: Any, *args: Any, **kwargs: Any) -> None:
        """Stop."""
        if self.asked.is_set():
            raise StoppedError


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_in_a_thread_can_be_interrupted(name: str) -> None:
    pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    X, y = problem("binary")
    model, stop = clone(MODELS[name]), StopWhenAsked()
    expected = numbers(clone(model).fit(X, y), X)
    before, raised = blas_threads(), list[BaseException]()

    def fit() -> None:
        try:
            model.set_callbacks(stop).fit(X, y)
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=fit, daemon=True)
    thread.start()
    assert stop.begun.wait(60)
    stop.asked.set()
    thread.join(60)
    assert [type(error) for error in raised] == [StoppedError]
    with pytest.raises(AttributeError):  # A NotFittedError is one.
        numbers(model, X)
    assert blas_threads() == before
    np.testing.assert_allclose(numbers(model.set_callbacks().fit(X, y), X), expected, rtol=1e-9)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
@pytest.mark.parametrize("shared", [GIVEN_CORES, _FULL_PRECISION])
def test_a_fork_while_another_thread_holds_a_lock_leaves_it_open(shared: Any) -> None:
    held, ended = Event(), Event()

    def hold() -> None:
        with shared._lock:
            held.set()
            assert ended.wait(60)

    thread = Thread(target=hold)
    thread.start()
    assert held.wait(60)
    if not (child := os.fork()):
        os._exit(0 if shared._lock.acquire(blocking=False) else 1)
    status = os.waitpid(child, 0)[1]
    ended.set()
    thread.join()
    assert status == 0
