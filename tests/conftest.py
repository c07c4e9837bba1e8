"""Fixtures shared by all tests."""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaign import Asked
from hypothesis import HealthCheck, settings
from sklearn.datasets import make_blobs, make_classification, make_friedman1
from sklearn.utils import Bunch, check_random_state
from threadpoolctl import threadpool_limits

import mercer
from experiments.data_sets import load_data_set
from mercer.datasets import make_sine

# The same examples on every machine, however slow it is.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """Cases of the campaign are a third of all; what is not run is not collected."""
    Asked.campaign = config.option.markexpr != "not campaign"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """What a test draws without a `random_state` is the same in every run."""
    check_random_state(None).seed(0)


# The cases of modules, which are made while they are imported.
check_random_state(None).seed(0)


@pytest.fixture(scope="session", autouse=True)
def _one_thread_each() -> Iterator[None]:
    """Processes that share the tests leave each other a core."""
    with threadpool_limits(1 if "PYTEST_XDIST_WORKER" in os.environ else None):
        yield


@pytest.fixture(scope="session")
def data() -> Callable[[str], Bunch]:
    """The loader of real data sets; tests that ask for it are skipped without ``MERCER_DATA``."""
    if not os.environ.get("MERCER_DATA"):
        pytest.skip("real data: MERCER_DATA is not set")
    return load_data_set


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two processes; tests that ask for it are skipped without Dask."""
    distributed = pytest.importorskip("distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    """The client of the cluster, which is the current one."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a model of 40 rows of the sine problem."""
    path = tmp_path_factory.mktemp("models") / "model.skops"
    X, y = make_sine(40, random_state=0)
    mercer.save(mercer.TwoStageClassifier(C=1.0).fit(X, y), path)
    return path


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """Where a changed file is written."""
    return tmp_path / "changed.skops"


def leave_out_halves(patch: pytest.MonkeyPatch) -> None:
    for module in ("combination", "evaluation", "default_estimators"):
        patch.setattr(f"mercer._estimators.stacking.{module}.N_FOLDS", 2)
    patch.setattr("mercer._estimators.stacking.default_estimators._C_GRID", (1.0, 100.0))


@pytest.fixture
def few_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stacks leave out halves of the rows, for tests that are not of left-out predictions.

    They try two values of C. That takes a tenth of the time.
    """
    leave_out_halves(monkeypatch)


@pytest.fixture(scope="module")
def few_folds_throughout() -> Iterator[None]:
    """As `few_folds`, also for what the tests of a file share."""
    with pytest.MonkeyPatch.context() as patch:
        leave_out_halves(patch)
        yield


@pytest.fixture
def learned_in_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two-stage estimators learn every kernel anew in each fold."""
    monkeypatch.setattr("mercer._estimators.two_stage.learned_gram.NESTED_ABOVE", -1)


@pytest.fixture
def binary():
    X, y = make_classification(120, 6, n_informative=4, flip_y=0.1, class_sep=1.0, random_state=0)
    return X, np.array(["no", "yes"])[y]


@pytest.fixture
def three_classes():
    return make_blobs(90, centers=3, cluster_std=2.0, random_state=1)


@pytest.fixture
def regression():
    return make_friedman1(80, n_features=6, noise=0.5, random_state=0)
