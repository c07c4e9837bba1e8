"""scikit-learn's callbacks are notified of the fit and of each step of every learner."""

from __future__ import annotations

from typing import Any

import pytest
from learner_cases import LEARNERS, problem
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone

from mercer import ContinuousMKLClassifier, MKLClassifier

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

ALL: dict[str, BaseEstimator] = {
    **LEARNERS,
    "mkl": MKLClassifier(),
    "cr": ContinuousMKLClassifier(),
}
every_learner = pytest.mark.parametrize("learner", ALL.values(), ids=ALL)


@every_learner
def test_callbacks_are_supported(learner: BaseEstimator) -> None:
    assert isinstance(learner, callback.CallbackSupportMixin)


@every_learner
def test_a_progress_bar_changes_nothing(learner: BaseEstimator, capsys: Any) -> None:
    pytest.importorskip("rich")
    X, y = problem("binary")
    silent = clone(learner).fit(X, y)
    shown = clone(learner).set_callbacks(callback.ProgressBar())
    assert_array_equal(shown.fit(X, y).weights_, silent.weights_)
    assert type(learner).__name__ in capsys.readouterr().out


class Ledger:
    """A callback that records the tasks that begin and end."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []

    def setup(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing, as the protocol allows."""

    def teardown(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing, as the protocol allows."""

    def on_fit_task_begin(self, estimator: Any, context: Any, *args: Any, **kwargs: Any) -> None:
        """Record the beginning of a task."""
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, *args: Any, **kwargs: Any) -> None:
        """Record the end of a task."""
        self.ended.append(context.task_name)


@pytest.mark.parametrize("name", ALL)
def test_each_step_is_a_task_that_begins_and_ends(name: str) -> None:
    X, y = problem("binary")
    ledger = Ledger()
    fitted = clone(ALL[name]).set_callbacks(ledger).fit(X, y)
    assert sorted(ledger.begun) == sorted(ledger.ended)
    assert ledger.ended.count("step") >= 1
    if name.startswith("ca"):
        assert ledger.ended.count("step") == fitted.n_iter_
