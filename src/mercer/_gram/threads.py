"""Numbers of threads of the linear-algebra library and of OpenMP, which a process shares."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=2)
def _pools(user_api: str) -> ThreadpoolController:
    """The thread pools of the linear-algebra libraries, "blas", or of "openmp"."""
    return ThreadpoolController().select(user_api=user_api)


def blas_threads() -> list[int]:
    """Number of threads of each linear-algebra library that is loaded."""
    return [int(pool.num_threads or 1) for pool in _pools("blas").lib_controllers]


class _OneThread:
    """A limit of the linear-algebra library to one thread, for the whole process.

    The first that enters it sets it, and the last that leaves it restores what was there before, as
    fits in several threads begin and end in any order.
    """

    def __init__(self) -> None:
        self._lock, self._n_inside = Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                before, limit = blas_threads(), _pools("blas").limit(limits=1)
                # Newer versions of threadpoolctl let no other thread change what one has set.
                self._limit = None if blas_threads() == before else limit
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside and self._limit is not None:
                self._limit.restore_original_limits()


_ONE_THREAD = _OneThread()
"""The limit of the process, which counts the threads that need it."""


@contextmanager
def one_blas_thread(n_openmp: int | None = None) -> Iterator[None]:
    """Limit the linear-algebra library to one thread, as long as any thread is in this context.

    It stands around functions of other libraries, too, that set this limit and restore what they
    found.

    Parameters
    ----------
    n_openmp : int, default=None
        The number of threads of OpenMP for the thread that is in the context, None for as many as
        before. Each thread of the process has such a number for itself.
    """
    # The end of the outer context lets other threads set limits again.
    with _pools("openmp").limit(limits=n_openmp), _ONE_THREAD:
        yield
