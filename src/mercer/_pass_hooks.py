"""Hooks of passes over all rows: their progress, and the cluster that they run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


def _ignored(n_rows: int) -> None:
    """Disregard a number of rows."""


@dataclass(frozen=True)
class PassHooks:
    """Functions that passes over all rows call, and the cluster that they run on.

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
    """The hooks of the current fit; by default none, in this process."""
    return _CURRENT.get(PassHooks())
