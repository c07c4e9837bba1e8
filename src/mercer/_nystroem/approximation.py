"""Whether a second stage is exact or on Nyström features, and on how many."""

from __future__ import annotations

from typing import Any

from mercer._gram.tiles import check_gram_memory
from mercer._validation import check_choice, check_number

EXACT_ROWS = 3000
"""With ``approximation="auto"`` tables of at most this many rows are fitted exactly, which takes a
few seconds (benchmarks/large_tables.py)."""

_COMPONENTS, _FEWER_COMPONENTS = 1500, 1000
"""Default numbers of centers of smaller and of larger tables; the time of a fit is quadratic in it
(benchmarks/large.py, estimators)."""

_MANY_ROWS = 50_000
"""Tables of more rows than this are the larger ones."""


def check_approximation(approximation: Any, n_components: Any) -> None:
    """Refuse settings that are no choice, before any work.

    Parameters
    ----------
    approximation : {"auto", "exact", "nystroem"}
    n_components : int or "auto"

    Raises
    ------
    ValueError
        If one is neither.
    """
    check_choice("approximation", approximation, ("auto", "exact", "nystroem"))
    if not (isinstance(n_components, str) and n_components == "auto"):
        check_number("n_components", n_components, whole=True, low=1.0)


def is_exact(approximation: str, n_rows: int, n_matrices: int = 4, *, announcer: str = "") -> bool:
    """Whether a table is fitted exactly.

    Parameters
    ----------
    approximation : {"auto", "exact", "nystroem"}
    n_rows : int
    n_matrices : int, default=4
        Number of Gram matrices that an exact fit has in memory at a time.
    announcer : str, default=""
        The name of an estimator that prints how much memory an exact fit needs.

    Raises
    ------
    MemoryError
        If an exact fit is asked for that needs more memory than there is.
    """
    exact = n_rows <= EXACT_ROWS if approximation == "auto" else approximation == "exact"
    if exact:
        advice = "use approximation='nystroem'"
        check_gram_memory(n_rows, n_matrices, advice, announcer=announcer)
    return exact


def number_of_components(n_components: int | str, n_rows: int) -> int:
    """Number of centers of a table.

    Parameters
    ----------
    n_components : int or "auto"
        At most `n_rows` are used.
    n_rows : int
    """
    if isinstance(n_components, str):
        n_components = _COMPONENTS if n_rows <= _MANY_ROWS else _FEWER_COMPONENTS
    return min(int(n_components), n_rows)
