"""Numbers of threads of the linear-algebra library and of OpenMP, shared by a process."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=2)
def _pools(user_api: str) -> ThreadpoolController:
    """Return the thread pools of linear-algebra libraries ("blas") or of OpenMP ("openmp")."""
    return ThreadpoolController().select(user_api=user_api)


def blas_threads() -> list[int]:
    """Return the number of threads of each linear-algebra library that is loaded."""
    return [int(pool.num_threads or 1) for pool in _pools("blas").lib_controllers]


class _OneThread:
    """A limit of the linear-algebra library to one thread, for the whole process.

    The first thread that enters the context sets the limit, and the last thread that leaves it
    restores the previous limits, because fits in several threads begin and end in any order.
    """

    def __init__(self) -> None:
        self._lock, self._n_inside = Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                before, limit = blas_threads(), _pools("blas").limit(limits=1)
                # In newer versions of threadpoolctl, no other thread can change limits that one
                # thread has set.
                self._limit = None if blas_threads() == before else limit
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside and self._limit is not None:
                self._limit.restore_original_limits()


_ONE_THREAD = _OneThread()
"""The limit shared by the process, which counts the threads that need it."""


@contextmanager
def one_blas_thread(n_openmp: int | None = None) -> Iterator[None]:
    """Limit the linear-algebra library to one thread while any thread is in this context.

    It is also used around functions of other libraries that set this limit and restore the previous
    one.

    Parameters
    ----------
    n_openmp : int, default=None
        Number of OpenMP threads for the thread that is in the context; None leaves it unchanged.
        Each thread of the process has its own number.
    """
    # The end of the outer context lets other threads set limits again.
    with _pools("openmp").limit(limits=n_openmp), _ONE_THREAD:
        yield
