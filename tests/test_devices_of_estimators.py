"""Estimators with `device`, and tables that are arrays of other libraries than NumPy."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from device_cases import LIBRARIES, as_card
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import log_loss

import mercer
from mercer import (
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian

X, Y = make_friedman1(160, n_features=5, noise=0.3, random_state=0)
MANY, Y_MANY = make_friedman1(1100, n_features=5, noise=0.3, random_state=1)
GRADES = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
FEATURES, FIXED = "nystroem", UniformCombination([Gaussian(1.0)])

ESTIMATORS = [
    (TwoStageRegressor(), X, Y),
    (TwoStageRegressor(FIXED, alpha=[1e-3, 0.1], approximation=FEATURES), MANY, Y_MANY),
    (TwoStageClassifier(), X, GRADES),
    (TwoStageClassifier(FIXED, approximation=FEATURES), MANY, Y_MANY > 14.0),
    (KernelStackingRegressor([Gaussian("median"), "laplacian"]), X, Y),
    (KernelStackingRegressor([Gaussian(1.0)], approximation=FEATURES), MANY, Y_MANY),
    (KernelStackingClassifier([Gaussian("median")]), X, GRADES > 0),
    (KernelLogisticRegression(alpha=0.1), X, GRADES),
    (KernelOrdinalClassifier(kernels=[Gaussian(1.0)], alpha=0.1), X, GRADES),
    (KernelPoissonRegressor(kernels=[Gaussian(1.0)], alpha=0.1), X, GRADES.astype(float)),
]


def named(case):
    model = case[0]
    return f"{type(model).__name__}-{getattr(model, 'approximation', 'exact')}"


def outputs(model, X):
    proba = getattr(model, "predict_proba", None)
    return model.predict(X) if proba is None else proba(X)


@pytest.mark.parametrize("case", ESTIMATORS, ids=named)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_card_predicts_what_the_processor_predicts(case, library):
    model, table, target = case
    expected = outputs(model.fit(table, target), table[:50])
    with as_card(library, least_rows=100) as card:
        model.set_params(device="cuda")
        try:
            found = outputs(model.fit(table, target), table[:50])
        finally:
            model.set_params(device="cpu")
    assert card.n_arrays
    # Conjugate gradients of fits to all pairs end at a tolerance of 1e-3.
    spread = np.std(expected)
    rounding = 5e-3 if getattr(model, "approximation", "") == FEATURES else 1e-6
    np.testing.assert_allclose(found, expected, atol=rounding * spread, rtol=rounding)


def test_default_stacks_on_a_card_are_as_accurate():
    """They learn relevance from more rows, so that predictions differ."""
    made, labels = make_classification(
        500, n_features=5, n_informative=4, n_redundant=0, random_state=0
    )
    losses = []
    with as_card("array_api_strict", least_rows=200):
        for device in ("cpu", "cuda"):
            model = KernelStackingClassifier(device=device).fit(made[:300], labels[:300])
            losses.append(log_loss(labels[300:], model.predict_proba(made[300:])))
            assert model.loo_predictions_.shape == (300, 2)
    assert losses[1] < 1.1 * losses[0]


@pytest.mark.parametrize("case", ESTIMATORS[::3], ids=named)
def test_devices_are_checked_before_any_work(case):
    model, table, target = case
    fitted = type(model)(**model.get_params(deep=False)).fit(table[:60], target[:60])
    before = outputs(fitted, table[:5])
    with pytest.raises(ValueError, match="device"):
        fitted.set_params(device="tpu").fit(table, target)
    # The earlier fit is kept, and predicts although its device does not exist.
    np.testing.assert_array_equal(outputs(fitted, table[:5]), before)


@pytest.mark.parametrize("case", ESTIMATORS[:1] + ESTIMATORS[6:8], ids=named)
def test_models_fitted_on_a_card_are_loaded_without_one(case, tmp_path, monkeypatch):
    model, table, target = case
    with as_card("array_api_strict", least_rows=100):
        fitted = type(model)(**{**model.get_params(deep=False), "device": "cuda"})
        expected = outputs(fitted.fit(table, target), table[:20])
        mercer.save(fitted, tmp_path / "model.mercer")
    monkeypatch.setattr("mercer._gram.devices.find_spec", lambda name: None)
    loaded = mercer.load(tmp_path / "model.mercer")
    assert loaded.device == "cuda"
    np.testing.assert_allclose(outputs(loaded, table[:20]), expected, rtol=1e-9)


def test_two_fits_at_once():
    model = TwoStageRegressor(device="cuda")
    with as_card("array_api_strict", least_rows=100), ThreadPoolExecutor(2) as pool:
        seeds = [0, 1]
        tables = [make_friedman1(150, 5, noise=1.0, random_state=seed) for seed in seeds]
        fits = pool.map(lambda data: mercer.TwoStageRegressor(device="cuda").fit(*data), tables)
        found = [fit.predict(X[:10]) for fit in fits]
        expected = [model.fit(*data).predict(X[:10]) for data in tables]
    # Each fit changes the number of threads of the other's products, and thereby their rounding,
    # which small penalties magnify.
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_many_rows_are_predicted_on_a_card(monkeypatch):
    model = TwoStageRegressor(alpha=1e-2, approximation=FEATURES, device="cuda")
    monkeypatch.setattr("mercer._nystroem.second_stage.MANY_VALUES", 1)
    with as_card("array_api_strict") as card:
        model.fit(MANY, Y_MANY)
        before, found = card.n_arrays, model.predict(X)
        assert card.n_arrays > before
    np.testing.assert_allclose(found, model.set_params(device="cpu").predict(X), rtol=1e-6)


SCRIPT = """
import numpy as np
import pytest
import array_api_strict as xp
from sklearn import config_context
from sklearn.datasets import make_friedman1
from mercer import KernelLogisticRegression, KernelStackingRegressor, TwoStageClassifier
from mercer import TwoStageRegressor

X, y = make_friedman1(80, n_features=5, random_state=0)
labels = (y > np.median(y)).astype(np.int64)
there = xp.Device("device1")

def put(values, device=there):
    return xp.asarray(values, device=device)

def back(values):
    assert values.device == there, values
    return np.asarray(values.to_device(xp.Device("CPU_DEVICE")))

with config_context(array_api_dispatch=True):
    for model, target in [
        (TwoStageRegressor(), y),
        (KernelStackingRegressor(["rbf"]), y),
        (TwoStageClassifier(C=1.0), labels),
        (KernelLogisticRegression(alpha=0.1), labels),
    ]:
        expected = model.fit(X, target).predict(X)
        found = model.fit(put(X), put(target), sample_weight=put(np.ones(80))).predict(put(X))
        np.testing.assert_allclose(back(found), expected, rtol=1e-8)
        if hasattr(model, "predict_proba"):
            assert back(model.predict_proba(put(X))).shape == (80, 2)
            assert back(model.predict_set(put(X))).dtype == bool
        if hasattr(model, "predict_interval"):
            assert back(model.predict_interval(put(X))).shape == (80, 2)
        assert isinstance(model.predict(X), np.ndarray)
    model = TwoStageRegressor(approximation="nystroem", n_components=20).fit(put(X), put(y))
    assert model.prepare_updates(put(X), put(y)).update(put(X), put(y)) is model
    words = TwoStageClassifier(C=1.0).fit(put(X), np.array(["a", "b"])[labels])
    assert set(words.predict(put(X))) == {"a", "b"}
    with pytest.raises(ValueError, match="several devices, .*CPU_DEVICE.* and .*device1"):
        TwoStageRegressor().fit(put(X), put(y, xp.Device("CPU_DEVICE")))
    try:
        import torch
    except ImportError:
        print("no torch")
    else:
        X, y = torch.tensor(X), torch.tensor(y)
        model = TwoStageRegressor().fit(X, y)
        assert isinstance(model.predict(X), torch.Tensor)
        assert model.score(X, y) > 0.9
        with pytest.raises(ValueError, match="requires gradients"):
            model.fit(X.clone().requires_grad_(), y)
        with pytest.raises(ValueError, match="requires gradients"):
            model.predict(X.clone().requires_grad_())
        for dtype in (torch.float16, torch.bfloat16):
            with pytest.raises(ValueError, match=r"torch\\.b?float16 have too few digits"):
                model.fit(X.to(dtype), y)
    print("done")
"""


def test_tables_of_other_libraries_give_arrays_of_these():
    """scikit-learn's setting needs a variable that is read when SciPy is imported."""
    pytest.importorskip("array_api_strict")
    command, variables = [sys.executable, "-c", SCRIPT], {**os.environ, "SCIPY_ARRAY_API": "1"}
    run = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("done\n")
