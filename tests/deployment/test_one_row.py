"""Predictions of fitted models: rows are validated once, and threads predict the same."""

import sys
from functools import partial
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from deployment_cases import N, fitted, leaf_stack, rows
from numpy.testing import assert_array_equal
from sklearn.utils import check_array

import mercer
from mercer import compress

NEW = rows()[N:]
MODELS: dict[str, Any] = {
    "two-stage": partial(fitted, "regression", "two-stage, projections"),
    "Nyström": partial(fitted, "regression", "two-stage, Nyström"),
    "one-stage": partial(fitted, "regression", "one-stage"),
    "Bayesian": partial(fitted, "two classes", "Bayesian"),
    "stack": partial(fitted, "two classes", "stacking"),
    "leaves": leaf_stack,
    "compressed": lambda: compress(leaf_stack(), rows(400, seed=5), n_components=20),
}
every_model = pytest.mark.parametrize("name", MODELS)


def validations(model: Any) -> int:
    """How often a prediction validates its row; machines of scikit-learn validate kernel values."""
    found = []

    def record(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is check_array.__code__:
            found.extend([frame] * (np.shape(frame.f_locals["array"]) == (1, NEW.shape[1])))

    model.predict(NEW[:1])  # What is computed once is not counted.
    before = sys.getprofile()
    sys.setprofile(record)
    try:
        model.predict(NEW[:1])
    finally:
        sys.setprofile(before)
    return len(found)


@every_model
def test_rows_are_validated_once(name: str) -> None:
    assert validations(MODELS[name]()) == 1


@every_model
def test_threads_predict_what_one_does(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    mercer.save(model, tmp_path / "model.skops")
    expected = model.predict(NEW)
    # No thread has used it before, so that what is computed once is computed by several.
    fresh, together, found = mercer.load(tmp_path / "model.skops"), Barrier(8), list[np.ndarray]()

    def predict() -> None:
        together.wait()
        found.extend(fresh.predict(NEW) for _ in range(5))

    threads = [Thread(target=predict) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    for each in found:
        assert_array_equal(each, expected)
