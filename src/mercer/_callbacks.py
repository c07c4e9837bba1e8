"""scikit-learn's fit callbacks, such as progress bars; before scikit-learn 1.9 they do nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from time import perf_counter
from typing import Any

from mercer._typing import Method

__all__ = ["CallbackSupportMixin", "reported_steps", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _decorated
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An empty stand-in, as this scikit-learn has no callbacks."""

    def _decorated(method: Method) -> Method:
        return method


def with_callbacks(method: Method) -> Method:
    """Return a `fit` that ends its callbacks however it ends: scikit-learn's decorator, typed."""
    decorated: Method = _decorated(method)
    return decorated


@contextmanager
def reported_steps(estimator: Any, n_steps: int | None = None) -> Iterator[Callable[..., None]]:
    """Notify an estimator's callbacks of its fit and of each step of the fit.

    Parameters
    ----------
    estimator : estimator
        The context must be entered within a `fit` that `with_callbacks` decorates.
    n_steps : int, default=None
        Number of steps; None if it is not known in advance.

    Yields
    ------
    callable
        It must be called after each step, and ignores its arguments.
    """
    printed = _printed_steps(estimator, n_steps)
    if not hasattr(estimator, "_init_callback_context"):
        yield printed
        return
    context = estimator._init_callback_context(max_subtasks=n_steps)
    context.call_on_fit_task_begin(estimator=estimator)

    def report(*_: Any) -> None:
        printed()
        step = context.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=estimator)
        step.call_on_fit_task_end(estimator=estimator)

    yield report
    context.call_on_fit_task_end(estimator=estimator)


def _printed_steps(estimator: Any, n_steps: int | None) -> Callable[..., None]:
    """Return what prints a line for each step of an estimator that has `verbose=True`."""
    if not getattr(estimator, "verbose", False):
        return lambda *_: None
    numbers, start, name = count(1), perf_counter(), type(estimator).__name__
    of_all = "" if n_steps is None else f" of {n_steps}"

    def report(*_: Any) -> None:
        line = f"[{name}] step {next(numbers)}{of_all}, {perf_counter() - start:.1f} s"
        print(line)  # noqa: T201

    return report
