"""A result that is computed when it is first requested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, Generic, TypeVar

from mercer._data.locks import add_lock

Result = TypeVar("Result")

_keeps_inputs: ContextVar[bool] = ContextVar("keeps_inputs", default=True)


class Once(Generic[Result]):
    """A result that is computed when it is first requested; its inputs are stored until then.

    Pickles and copies contain either the result or its inputs, and compute nothing. If several
    threads request the result, they wait for the first of them. After an error, the next request
    computes the result again.

    Parameters
    ----------
    compute : callable
        Function without arguments that returns the result; picklable and immutable.
    """

    _lock: RLock

    def __init__(self, compute: Callable[[], Result] | None) -> None:
        add_lock(self)
        self._compute, self._results = compute, list[Result]()

    @classmethod
    def of(cls, result: Result) -> Once[Result]:
        """Return an instance whose result is known."""
        found = cls(None)
        found._results = [result]
        return found

    @property
    def is_known(self) -> bool:
        """Whether the result has been computed."""
        return bool(self._results)

    def __call__(self) -> Result:
        with self._lock:
            if not self._results:
                if self._compute is None:
                    raise AttributeError(
                        "Left-out predictions were not computed before the model was saved: save "
                        "it with complete=True, or fit it again."
                    )
                self._results = [self._compute()]
                self._compute = None
            return self._results[0]

    def __getstate__(self) -> dict[str, object]:
        # The inputs are read before the result, because the result is set before they are dropped.
        compute = self._compute if _keeps_inputs.get() else None
        results = self._results
        return {"compute": None if results else compute, "results": list(results)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        add_lock(self)
        self._compute, self._results = state["compute"], state["results"]


@contextmanager
def without_inputs() -> Iterator[None]:
    """Enter a context in which pickles contain known results but no inputs of unknown ones."""
    token = _keeps_inputs.set(False)
    try:
        yield
    finally:
        _keeps_inputs.reset(token)
