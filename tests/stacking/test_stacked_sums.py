"""Predictions of members as sums of kernel values, on the views that members use."""

import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from stacking_cases import ESTIMATORS, labels, problem, target_for

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._estimators.stacking.table_views import TableViews
from mercer._gram.dense import unit_rows
from mercer.kernels import Gaussian

X, RESPONSES = problem(n=120)
NEW = problem(n=300, seed=1)[0]


def responses(model: Any, table: Any) -> np.ndarray:
    """Predicted responses or probabilities."""
    return np.asarray(getattr(model, "predict_proba", model.predict)(table))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_members_predict_by_centered_kernel_values(estimator: Any) -> None:
    for table, targets in (
        (X, target_for(estimator, RESPONSES)),
        (X, RESPONSES > 0.5),
        (sp.csr_array(np.where(X > 0.0, X, 0.0)), target_for(estimator, RESPONSES)),
    ):
        model = estimator().fit(table, targets)
        views = model._views_of(sp.csr_array(NEW) if sp.issparse(table) else NEW)
        for member in model._members:
            if member.unit is not None:
                training = model._training[member.view]
                rows = unit_rows(member.kernel, member.unit, views[member.view], training)
                found = member.deviations(views[member.view], training)
                assert_allclose(found, member.predictor.deviations(rows), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_predictions_change_nothing_in_a_stack(estimator: Any) -> None:
    model = estimator().fit(X, target_for(estimator, RESPONSES))
    before, state = pickle.dumps(model), dict(vars(model))
    expected = responses(model, NEW)
    assert len(pickle.dumps(model)) == len(before)
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is value for name, value in state.items())
    fresh = pickle.loads(before)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: responses(fresh, NEW), range(8)):
            assert_array_equal(found, expected)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_only_views_that_members_use_are_computed(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = estimator([Gaussian(2.0)]).fit(X, target_for(estimator, RESPONSES))
    used = {member.view for member in model._members}
    asked: list[str] = []
    transforms = TableViews.transforms

    def recorded(self: TableViews, table: Any, names: Sequence[Any]) -> Any:
        asked.extend(names)
        return transforms(self, table, names)

    monkeypatch.setattr(TableViews, "transforms", recorded)
    responses(model, NEW)
    assert sorted(asked) == sorted(used | {"unclipped"})


def test_intervals_of_a_stack_read_the_first_view() -> None:
    model = KernelStackingRegressor().fit(X, RESPONSES)
    ends, predicted = model.predict_interval(NEW), model.predict(NEW)
    assert ((ends[:, 0] <= predicted) & (predicted <= ends[:, 1])).mean() > 0.95


def test_a_stack_without_members_predicts_the_mean() -> None:
    flat = KernelStackingRegressor().fit(X, np.ones(120))
    assert_allclose(flat.predict(NEW), 1.0)
    few = KernelStackingClassifier().fit(X, labels(RESPONSES))
    assert responses(few, NEW[:1]).shape == (1, 3)
