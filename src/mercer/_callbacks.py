"""Reports of fits: scikit-learn's callbacks (none before 1.9), and hooks of passes over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from time import perf_counter
from typing import Any

from mercer._typing import Method

__all__ = [
    "CallbackSupportMixin",
    "current_hooks",
    "pass_hooks",
    "reported_steps",
    "with_callbacks",
]

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


def _ignored(n_rows: int) -> None:
    """Disregard a number of rows."""


@dataclass(frozen=True)
class PassHooks:
    """What is called during passes over all rows, and where these run.

    Attributes
    ----------
    on_start : callable
        Called with the number of rows that the passes of a fit will read altogether.
    on_rows : callable
        Called with numbers of rows that were done.
    client : distributed.Client, default=None
        Cluster for sources that can be divided among workers.
    """

    on_start: Callable[[int], None] = _ignored
    on_rows: Callable[[int], None] = _ignored
    client: Any = None


_CURRENT: ContextVar[PassHooks] = ContextVar("mercer_pass_hooks")
"""The hooks of the fits inside `pass_hooks`; estimators' parameters have no place for them."""


@contextmanager
def pass_hooks(
    on_start: Callable[[int], None] = _ignored,
    on_rows: Callable[[int], None] = _ignored,
    *,
    client: Any = None,
) -> Iterator[None]:
    """Report the passes over all rows of fits inside the block, and run them on a cluster.

    Parameters
    ----------
    on_start : callable, default=nothing
        Called with the number of rows that the passes of a fit will read altogether.
    on_rows : callable, default=nothing
        Called with numbers of rows that were done.
    client : distributed.Client, default=None
        Cluster for sources that can be divided among workers, such as `mercer.ParquetSource`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor, UniformCombination, pass_hooks
    >>> X, y = make_friedman1(200, random_state=0)
    >>> model = TwoStageRegressor(UniformCombination(), approximation="nystroem", n_components=20)
    >>> done = []
    >>> with pass_hooks(on_rows=done.append):
    ...     model = model.fit(X, y)
    >>> sum(done) >= 200
    True
    """
    token = _CURRENT.set(PassHooks(on_start, on_rows, client))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_hooks() -> PassHooks:
    """How the passes of a fit are to be run; by default silently, in this process."""
    return _CURRENT.get(PassHooks())
