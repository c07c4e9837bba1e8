"""scikit-learn's fit callbacks are told of the steps of every learner."""

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


def test_each_step_is_reported() -> None:
    """One task a step, within the fit's own."""
    X, y = problem("binary")

    class Counter:
        """The callback protocol, and nothing else."""

        def __init__(self) -> None:
            self.begun: list[str] = []
            self.ended: list[str] = []

        def setup(self, *args: Any, **kwargs: Any) -> None:
            pass

        def teardown(self, *args: Any, **kwargs: Any) -> None:
            pass

        def on_fit_task_begin(
            self, estimator: Any, context: Any, *args: Any, **kwargs: Any
        ) -> None:
            self.begun.append(context.task_name)

        def on_fit_task_end(self, estimator: Any, context: Any, *args: Any, **kwargs: Any) -> None:
            self.ended.append(context.task_name)

    for name, learner in ALL.items():
        counter = Counter()
        fitted = clone(learner).set_callbacks(counter).fit(X, y)
        assert counter.begun.count("step") == counter.ended.count("step") >= 1, name
        if name.startswith("ca"):
            assert counter.ended.count("step") == fitted.n_iter_


@every_learner
def test_begun_tasks_are_ended(learner: BaseEstimator) -> None:
    """The fit's own too."""

    class Ledger:
        """The callback protocol, counting what begins and ends."""

        def __init__(self) -> None:
            self.open: list[str] = []

        def setup(self, *_: Any, **__: Any) -> None:
            """Nothing."""

        def teardown(self, *_: Any, **__: Any) -> None:
            """Nothing."""

        def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
            self.open.append(context.task_name)

        def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> None:
            self.open.remove(context.task_name)

    X, y = problem("binary")
    ledger = Ledger()
    clone(learner).set_callbacks(ledger).fit(X, y)
    assert ledger.open == []
