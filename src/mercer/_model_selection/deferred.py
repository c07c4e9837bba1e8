"""Results that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, cast

from mercer._gram.threads import add_lock

Result_co = TypeVar("Result_co", covariant=True)


_keeps_inputs: ContextVar[bool] = ContextVar("keeps_inputs", default=True)


class Deferred(Generic[Result_co]):
    """A result that is computed when it is first read; what it is computed from is kept until then.

    Pickles and copies contain either the result or the inputs, and compute nothing. If several
    threads read the result, they wait for the first of them. After an error, the next reading
    computes it again.

    Parameters
    ----------
    inputs : callable or None
        A function without arguments that computes the result, and that can be pickled.
    """

    def __init__(self, inputs: Callable[[], Result_co] | None) -> None:
        add_lock(self)
        self._inputs, self._found = inputs, cast(Result_co | None, None)

    @property
    def is_known(self) -> bool:
        """Whether the result has been computed."""
        return self._found is not None

    def __call__(self) -> Result_co:
        with self._lock:  # type: ignore[attr-defined]
            if self._found is None:
                if self._inputs is None:
                    raise AttributeError(
                        "This result was not computed before the model was saved: save it with "
                        "complete=True, or fit it again."
                    )
                self._found, self._inputs = self._inputs(), None
            return self._found

    def __getstate__(self) -> dict[str, object]:
        # The inputs are read before the result, which is set before inputs are dropped.
        inputs = self._inputs if _keeps_inputs.get() else None
        found = self._found
        return {"_inputs": inputs if found is None else None, "_found": found}

    def __setstate__(self, state: dict[str, Any]) -> None:
        add_lock(self)
        vars(self).update(state)


@contextmanager
def without_inputs() -> Iterator[None]:
    """Enter a context in which pickles contain known results but no inputs of unknown ones."""
    token = _keeps_inputs.set(False)
    try:
        yield
    finally:
        _keeps_inputs.reset(token)
