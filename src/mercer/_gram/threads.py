"""Numbers of threads of numerical libraries in a process, and locks that outlive a fork."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import RLock
from typing import Any
from weakref import WeakSet

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

_owners = WeakSet[Any]()
"""Objects with a lock, which is replaced in a forked process."""


def add_lock(owner: object) -> None:
    """Give an object the attribute `_lock`, and each forked process a lock of its own.

    A fork copies the lock, but not the thread that would open it.
    """
    owner._lock = RLock()  # type: ignore[attr-defined]
    _owners.add(owner)


def _renew() -> None:
    for owner in list(_owners):
        owner._lock = RLock()


if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(after_in_child=_renew)


@lru_cache(maxsize=2)
def _pools(user_api: str) -> ThreadpoolController:
    """Return the thread pools of linear-algebra libraries ("blas") or of OpenMP ("openmp")."""
    return ThreadpoolController().select(user_api=user_api)


def blas_threads() -> list[int]:
    """Return the number of threads of each linear-algebra library that is loaded."""
    return [int(pool.num_threads or 1) for pool in _pools("blas").lib_controllers]


@lru_cache(maxsize=1)
def n_given_cores() -> int:
    """Return the number of cores that this process may use.

    The affinity of the process, limits of control groups (as set by containers) and joblib's
    variable ``LOKY_MAX_CPU_COUNT`` may leave fewer cores than the machine has. The linear-algebra
    library heeds only the affinity.
    """
    return int(cpu_count())


class _SharedLimit:
    """A limit on the number of threads of the linear-algebra library, for the whole process.

    The first thread that enters the context sets the limit, and the last thread that leaves it
    restores the previous numbers, because fits in several threads begin and end in any order.
    Numbers that another limit has set meanwhile are not changed.

    Parameters
    ----------
    limit : callable
        A function that returns the largest number of threads.
    """

    _lock: RLock

    def __init__(self, limit: Callable[[], int]) -> None:
        add_lock(self)
        self._n_inside = self._n_lifted = 0
        self._most = limit
        self._before, self._now = list[int](), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._before, self._now = blas_threads(), 0
                if max(self._before, default=1) > (most := self._most()):
                    self._set(most)
            self._n_inside += 1

    @contextmanager
    def lifted(self, most: int) -> Iterator[None]:
        """Raise the limit to another number of threads while it is set, for this context."""
        with self._lock:
            self._n_lifted += 1
            if self._n_inside and self._now:
                self._set(most)
        try:
            yield
        finally:
            with self._lock:
                self._n_lifted -= 1
                if not self._n_lifted and self._n_inside and self._now:
                    self._set(self._most())

    def _set(self, n_threads: int) -> None:
        """Set the number of threads of libraries that had as many or more before."""
        for pool, before in zip(_pools("blas").lib_controllers, self._before, strict=True):
            _set_threads(pool, min(n_threads, before))
        self._now = n_threads

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside or not self._now:
                return
            for pool, before in zip(_pools("blas").lib_controllers, self._before, strict=True):
                if pool.num_threads == min(self._now, before):
                    _set_threads(pool, before)


def _set_threads(pool: Any, n_threads: int) -> None:
    """Set the number of threads of a library, whichever thread of the process has set it before.

    In newer versions of threadpoolctl, a number that one thread has set is silently kept if another
    thread sets it. A limit of several threads would then remain after the last one has left it.
    """
    getattr(pool, "_real_set_num_threads", pool.set_num_threads)(n_threads)


_ONE_THREAD = _SharedLimit(lambda: 1)
"""The limit to one thread, which counts the threads of the process that need it."""

GIVEN_CORES = _SharedLimit(n_given_cores)
"""The limit to as many threads as the process may use cores; all fits enter this context."""


@contextmanager
def more_blas_threads(n_threads: int) -> Iterator[None]:
    """Let the library use more threads than one in :func:`one_blas_thread`, for this context.

    The number holds for all threads of the process. Outside that context, nothing changes.
    """
    with _ONE_THREAD.lifted(n_threads):
        yield


@contextmanager
def one_blas_thread(n_openmp: int | None = None) -> Iterator[None]:
    """Limit the linear-algebra library to one thread while any thread is in this context.

    The context is also used around functions of other libraries that set this limit and restore the
    previous one.

    Parameters
    ----------
    n_openmp : int, default=None
        Number of OpenMP threads for the thread that is in the context; None leaves it unchanged.
        Each thread of the process has its own number.
    """
    # The end of the outer context lets other threads set limits again.
    with _pools("openmp").limit(limits=n_openmp), _ONE_THREAD:
        yield
