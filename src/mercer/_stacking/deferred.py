"""Fitted attributes that are computed when one of them is first read."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any


class Deferred:
    """A fitted attribute that an estimator computes when it is first read.

    It is not a data descriptor, so that the value hides it from then on.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        estimator._complete()
        try:
            return vars(estimator)[self.name]
        except KeyError:
            message = f"{type(estimator).__name__!r} object has no attribute {self.name!r}"
            raise AttributeError(message) from None


class DeferredMixin:
    """An estimator with deferred attributes, which are computed before it is copied or saved."""

    def _defer(self, compute: Callable[[], None]) -> None:
        """Forget the attributes of an earlier fit, and compute them by a function when needed."""
        for kind in type(self).__mro__:
            for name, attribute in vars(kind).items():
                if isinstance(attribute, Deferred):
                    vars(self).pop(name, None)
        self._pending = compute, RLock()

    def _complete(self) -> None:
        """Compute what was deferred, once, also where several threads read it."""
        if (pending := vars(self).get("_pending")) is None:
            return
        compute, lock = pending
        with lock:
            if vars(self).get("_pending") is pending:
                compute()
                del self._pending

    def __getstate__(self) -> Any:
        self._complete()
        return super().__getstate__()
