"""scikit-learn's callbacks are notified of the fit and of each step of every estimator."""

from typing import Any

import pytest
from learner_cases import LEARNERS, problem
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone

from mercer import (
    BayesianMKLRegressor,
    ContinuousMKLClassifier,
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    KernelStackingClassifier,
    MKLClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

pytestmark = pytest.mark.usefixtures("few_folds")
STEPS: dict[str, BaseEstimator] = {
    "mkl": MKLClassifier(),
    "cr": ContinuousMKLClassifier(tol=0.1),
    "bayes-r": BayesianMKLRegressor([Gaussian(), "linear"], n_starts=1),
    "logistic": KernelLogisticRegression([Gaussian(), "linear"]),
    "poisson": KernelPoissonRegressor([Gaussian(), "linear"]),
    "ordinal": KernelOrdinalClassifier([Gaussian(), "linear"]),
    "stacking": KernelStackingClassifier([Gaussian(), "linear"]),
}
"""An estimator of each objective that takes `verbose`."""
REPORTING = ("uniform", "hsic-2", "alignf", "ca", "ca-stagewise", "cka-ard", "evidence", "agop")
ALL: dict[str, BaseEstimator] = {
    **{name: LEARNERS[name] for name in (*REPORTING, "boosted-trees")},
    "two-stage": TwoStageClassifier(),
    "two-stage-r": TwoStageRegressor(UniformCombination(), alpha=1.0),
    "two-stage-nystroem": TwoStageClassifier(approximation="nystroem", n_components=10),
    **STEPS,
}


class Ledger:
    """A callback that records the tasks that begin and end."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []

    def setup(self, *args: object, **kwargs: object) -> None:
        """Do nothing, as the protocol allows."""

    def teardown(self, *args: object, **kwargs: object) -> None:
        """Do nothing, as the protocol allows."""

    def on_fit_task_begin(self, estimator: object, context: Any, **kwargs: object) -> None:
        """Record the beginning of a task."""
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator: object, context: Any, **kwargs: object) -> None:
        """Record the end of a task."""
        self.ended.append(context.task_name)


@pytest.mark.parametrize("name", ALL)
def test_steps_are_reported_and_change_nothing(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rich")
    learner, (X, y) = ALL[name], problem("binary")
    assert isinstance(learner, callback.CallbackSupportMixin)
    silent = clone(learner).fit(X, y)
    assert capsys.readouterr().out == ""
    ledger = Ledger()
    shown = clone(learner).set_callbacks(callback.ProgressBar(), ledger)
    if name in STEPS:
        shown.set_params(verbose=True)
    assert_array_equal(shown.fit(X, y).weights_, silent.weights_)
    assert sorted(ledger.begun) == sorted(ledger.ended)
    n_steps = ledger.ended.count("step")
    assert n_steps >= 1
    if name.startswith("ca"):
        assert n_steps == shown.n_iter_
    printed = capsys.readouterr().out
    assert type(learner).__name__ in printed
    if name in STEPS:
        assert_a_line_for_each(n_steps, type(learner).__name__, printed)


def assert_a_line_for_each(n_steps: int, name: str, printed: str) -> None:
    """Check what a verbose fit has printed, except for the progress bar."""
    lines = [line for line in printed.splitlines() if line.startswith(f"[{name}]")]
    steps = [line for line in lines if "] step " in line]
    assert len(steps) == n_steps
    for number, line in enumerate(steps, 1):
        assert line.startswith(f"[{name}] step {number}")
    assert all("of memory" in line for line in lines[:-n_steps])
