"""scikit-learn's fit callbacks (progress bars), silently absent before scikit-learn 1.9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["CallbackSupportMixin", "step_reporter", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method: Method) -> Method:
        """The method itself: this scikit-learn has no callbacks."""
        return method


def step_reporter(estimator: Any, n_steps: int | None = None) -> Callable[..., None]:
    """A function that tells an estimator's callbacks of one more step each time it is called.

    Parameters
    ----------
    estimator : estimator
        Within a `fit` decorated by `with_callbacks`.
    n_steps : int, default=None
        Number of steps, None where it is not known in advance.
    """
    if not hasattr(estimator, "_init_callback_context"):
        return lambda *_: None
    context = estimator._init_callback_context(max_subtasks=n_steps)
    context.call_on_fit_task_begin(estimator=estimator)

    def report(*_: Any) -> None:
        step = context.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=estimator)
        step.call_on_fit_task_end(estimator=estimator)

    return report
