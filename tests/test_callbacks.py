"""scikit-learn's callbacks are notified of the fit and of each step of every estimator."""

from __future__ import annotations

from typing import Any

import pytest
from learner_cases import LEARNERS, problem
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone

from mercer import (
    L1SVM,
    L2KRR,
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ContinuousMKLClassifier,
    ContinuousMKLRegressor,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    MKLRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

STEPS: dict[str, BaseEstimator] = {
    "mkl": MKLClassifier(),
    "mkl-r": MKLRegressor(),
    "l1-svm": L1SVM(),
    "l2-krr": L2KRR(),
    "cr": ContinuousMKLClassifier(),
    "cr-r": ContinuousMKLRegressor(),
    "bayes": BayesianMKLClassifier(),
    "bayes-r": BayesianMKLRegressor(),
    "two-stage": TwoStageClassifier(),
    "two-stage-r": TwoStageRegressor(),
    "two-stage-given": TwoStageRegressor(UniformCombination(), alpha=1.0),
    "two-stage-nystroem": TwoStageClassifier(approximation="nystroem", n_components=10),
    "stacking": KernelStackingClassifier(),
    "stacking-r": KernelStackingRegressor(),
}
"""The estimators that take `verbose`."""
ALL: dict[str, BaseEstimator] = {**LEARNERS, **STEPS}
every_learner = pytest.mark.parametrize("learner", ALL.values(), ids=ALL)
every_verbose = pytest.mark.parametrize("model", STEPS.values(), ids=STEPS)


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


@every_verbose
def test_a_verbose_fit_prints_a_line_for_each_step(
    model: BaseEstimator, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = problem("binary")
    ledger = Ledger()
    clone(model).set_params(verbose=True).set_callbacks(ledger).fit(X, y)
    printed = capsys.readouterr().out.splitlines()
    lines = [line for line in printed if "] step " in line]
    assert len(lines) == ledger.ended.count("step")
    assert all("of memory" in line for line in printed[: -len(lines)])
    for number, line in enumerate(lines, 1):
        assert line.startswith(f"[{type(model).__name__}] step {number}")
    clone(model).fit(X, y)
    assert capsys.readouterr().out == ""


@every_verbose
def test_verbose_is_true_or_false(model: BaseEstimator) -> None:
    with pytest.raises((TypeError, ValueError), match="verbose"):
        clone(model).set_params(verbose="yes").fit(*problem("binary"))


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
