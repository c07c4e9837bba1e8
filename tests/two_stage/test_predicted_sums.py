"""Predictions as sums of kernel values at training samples, which are prepared once."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils import validation

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._estimators.two_stage.learned_gram import rows_of
from mercer._gram import kernel_sums
from mercer._gram.kernel_sums import KernelSum
from mercer.kernels import Gaussian, Laplacian, Missing

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(80, 3)), RNG.normal(size=(300, 3))
RESPONSES = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.2 * RNG.normal(size=80)
LABELS = np.array(["high", "low"])[(RESPONSES < 0.8).astype(int)]

LEARNERS = [
    None,
    "auto",
    ContinuousAlignment(max_kernels=3),
    UniformCombination([Gaussian(2.0), Gaussian(0.5), Laplacian(2.0, norm=1.0)]),
]


def kernel_values(model: Any, table: Any) -> np.ndarray:
    """The kernel between rows and all training samples, as the second stage was fitted to it."""
    return np.asarray(rows_of(model.learner_, table), dtype=float)


@pytest.mark.parametrize("learner", LEARNERS, ids=["none", "auto", "continuous", "sum"])
def test_predictions_are_those_of_the_second_stage(learner: Any) -> None:
    weights = RNG.integers(0, 3, size=80)
    for given in (None, weights):
        model = TwoStageRegressor(learner).fit(X, RESPONSES, given)
        expected = model.predictor_.predict(kernel_values(model, NEW))
        assert_allclose(model.predict(NEW), expected, rtol=1e-9, atol=1e-9)
        machine = TwoStageClassifier(learner).fit(X, LABELS, given)
        rows = kernel_values(machine, NEW)
        decisions = machine.predictor_.decision_function(rows)
        assert_allclose(machine.decision_function(NEW), decisions, rtol=1e-9, atol=1e-9)
        assert_array_equal(machine.predict(NEW), machine.predictor_.predict(rows))
        assert_array_equal(machine.predict_proba(NEW)[:, 1] > 0.5, decisions > 0.0)


@pytest.mark.parametrize("learner", LEARNERS, ids=["none", "auto", "continuous", "sum"])
def test_machines_of_several_classes_vote(learner: Any) -> None:
    classes = np.array(["high", "low", "middle"])[np.digitize(RESPONSES, [0.3, 1.2])]
    model = TwoStageClassifier(learner).fit(X, classes, RNG.integers(0, 3, size=80))
    rows = kernel_values(model, NEW)
    votes = model.predictor_.decision_function(rows)
    assert_allclose(model.decision_function(NEW), votes, rtol=1e-9, atol=1e-9)
    assert_array_equal(model.predict(NEW), model.predictor_.predict(rows))
    assert_array_equal(model.predict(NEW), model.classes_[model.predict_proba(NEW).argmax(axis=1)])


def test_copies_predict_from_their_own_parts() -> None:
    model = TwoStageRegressor(alpha=1.0).fit(X, RESPONSES)
    expected = model.predict(NEW)
    for made in (copy, deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        other = made(model)
        assert_array_equal(other.predict(NEW), expected)
        other.predictor_ = TwoStageRegressor(alpha=100.0).fit(X, RESPONSES).predictor_
        assert np.abs(other.predict(NEW) - expected).max() > 0.01
        assert_array_equal(model.predict(NEW), expected)
    assert vars(clone(model)).keys() == vars(TwoStageRegressor()).keys()


def test_a_decision_value_of_zero_predicts_the_same_class_as_the_machine() -> None:
    symmetric = np.array([[-1.0], [1.0]])
    model = TwoStageClassifier(UniformCombination([Gaussian(1.0)]), C=1.0).fit(symmetric, [0, 1])
    assert model.decision_function([[0.0]])[0] == 0.0
    expected = model.predictor_.predict(kernel_values(model, np.zeros((1, 1))))
    assert_array_equal(model.predict([[0.0]]), expected)


def test_several_responses_and_classes_keep_their_shapes() -> None:
    both = np.column_stack([RESPONSES, X[:, 2]])
    assert TwoStageRegressor().fit(X, both).predict(NEW).shape == (300, 2)
    assert TwoStageRegressor().fit(X, RESPONSES[:, None]).predict(NEW).shape == (300, 1)
    three = np.digitize(RESPONSES, [0.3, 1.2])
    assert TwoStageClassifier().fit(X, three).decision_function(NEW).shape == (300, 3)


def test_sparse_tables_single_precision_and_missing_values() -> None:
    expected = TwoStageRegressor(alpha=1.0).fit(X, RESPONSES).predict(NEW)
    sparse = TwoStageRegressor(alpha=1.0).fit(sp.csr_array(X), RESPONSES)
    for table in (NEW, sp.csr_array(NEW), sp.coo_array(NEW)):
        assert_allclose(sparse.predict(table), expected, rtol=1e-6, atol=1e-9)
    single = TwoStageRegressor(alpha=1.0).fit(X.astype(np.float32), RESPONSES)
    assert_allclose(single.predict(NEW.astype(np.float32)), expected, rtol=1e-4, atol=1e-4)
    holes, some = X.copy(), NEW.copy()
    holes[::7, 1] = some[::5, 1] = np.nan
    model = TwoStageRegressor(UniformCombination([Missing(Gaussian(2.0))])).fit(holes, RESPONSES)
    expected = model.predictor_.predict(kernel_values(model, some))
    assert_allclose(model.predict(some), expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="NaN"):
        single.predict(some)


def test_sums_without_coefficients_are_constant() -> None:
    found = KernelSum.at_used(Gaussian(1.0), X, np.zeros((80, 2)), np.array([1.0, 2.0]))
    assert found.samples.shape == (0, 3)
    assert_array_equal(found(NEW[:2]), [[1.0, 2.0], [1.0, 2.0]])


def test_large_tables_are_scaled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    coefficients, constant = RNG.normal(size=(80, 1)), np.zeros(1)
    kept, anew = (KernelSum(Gaussian(1.0), X, coefficients, constant) for _ in range(2))
    expected = kept(NEW)
    monkeypatch.setattr(kernel_sums, "_KEPT_VALUES", 10)
    assert_array_equal(anew(NEW), expected)
    assert set(vars(kept)) - set(vars(anew)) == {"_known"}


def test_a_clipped_spectrum_is_kept() -> None:
    learner = AlignmentMaximization([Gaussian(2.0), Gaussian(0.5)], signs="free")
    learner.set_params(clip_spectrum=True)
    model = TwoStageRegressor(learner, alpha=1.0).fit(X, RESPONSES)
    expected = model.predictor_.predict(kernel_values(model, NEW))
    assert_allclose(model.predict(NEW), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", [TwoStageRegressor(), TwoStageClassifier()], ids=str)
def test_predictions_change_nothing_in_a_model(model: Any) -> None:
    targets = RESPONSES if isinstance(model, TwoStageRegressor) else LABELS
    model.fit(X, targets)
    before, state = pickle.dumps(model), dict(vars(model))
    expected = model.predict(NEW)
    assert pickle.dumps(model) == before
    assert vars(model) == state
    assert_array_equal(pickle.loads(before).predict(NEW), expected)
    with ThreadPoolExecutor(4) as threads:
        fresh = pickle.loads(before)
        for found in threads.map(lambda _: fresh.predict(NEW), range(8)):
            assert_array_equal(found, expected)


def test_another_fit_predicts_anew_and_parameters_that_are_set_do_not() -> None:
    model = TwoStageRegressor(alpha=1.0).fit(X, RESPONSES)
    expected = model.predict(NEW)
    model.set_params(learner=ContinuousAlignment(), alpha=5.0)
    assert_array_equal(model.predict(NEW), expected)
    model.fit(X, -2.0 * RESPONSES)
    assert np.abs(model.predict(NEW) - expected).max() > 0.1
    assert_allclose(
        model.set_params(learner=None, alpha=1.0).fit(X, RESPONSES).predict(NEW), expected
    )


@pytest.mark.parametrize("model", [TwoStageRegressor(), TwoStageClassifier()], ids=str)
def test_new_rows_are_validated_once(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model.fit(X, RESPONSES if isinstance(model, TwoStageRegressor) else LABELS)
    shapes: list[tuple[int, ...]] = []
    check = validation._assert_all_finite

    def counted(values: Any, *args: Any, **kwargs: Any) -> None:
        shapes.append(np.shape(values))
        check(values, *args, **kwargs)

    monkeypatch.setattr(validation, "_assert_all_finite", counted)
    model.predict(NEW)
    assert shapes == [NEW.shape]


def test_messages_name_the_model() -> None:
    model = TwoStageClassifier().fit(X, LABELS)
    with pytest.raises(ValueError, match="TwoStageClassifier is expecting 3 features"):
        model.predict(NEW[:, :2])
