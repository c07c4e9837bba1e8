"""scikit-learn's fit callbacks (progress bars), silently absent before scikit-learn 1.9."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["CallbackSupportMixin", "reported_steps", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method: Method) -> Method:
        """The method itself: this scikit-learn has no callbacks."""
        return method


@contextmanager
def reported_steps(estimator: Any, n_steps: int | None = None) -> Iterator[Callable[..., None]]:
    """Tell an estimator's callbacks of its fit and of each step of it.

    Parameters
    ----------
    estimator : estimator
        Within a `fit` decorated by `with_callbacks`.
    n_steps : int, default=None
        Number of steps, None where it is not known in advance.

    Yields
    ------
    callable
        To be called after each step, with any arguments.
    """
    if not hasattr(estimator, "_init_callback_context"):
        yield lambda *_: None
        return
    context = estimator._init_callback_context(max_subtasks=n_steps)
    context.call_on_fit_task_begin(estimator=estimator)

    def report(*_: Any) -> None:
        step = context.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=estimator)
        step.call_on_fit_task_end(estimator=estimator)

    yield report
    context.call_on_fit_task_end(estimator=estimator)
