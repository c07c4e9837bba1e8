"""What a user asks for as candidates: the default ones, others, or both."""

from inspect import Signature, signature
from typing import Any, Self

from mercer._stacking.candidates import (
    Candidate,
    given_candidates,
    isotropic_candidates,
)
from mercer._stacking.table_views import TableViews, ViewName


class TakesCandidates:
    """A class whose `candidates` other estimators would call kernels: it says so."""

    __signature__: Signature

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = signature(cls.__init__).parameters.values()
        cls.__signature__ = Signature([one for one in own if one.name != "self"])

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if "kernels" in kwargs:  # Other estimators call candidates so.
            raise TypeError(f'{cls.__name__} takes candidates=["default", Linear()], not kernels.')
        return super().__new__(cls)


def has_default(sources: Any) -> bool:
    """Whether the default candidates are among those that a user asks for.

    Parameters
    ----------
    sources : sequence of kernels, names of kernels, callables or kernel learners, "default" or None
    """
    listed = sources if _lists(sources) else [sources]
    return any(one is None or (isinstance(one, str) and one == "default") for one in listed)


def views_of(sources: Any, views: TableViews) -> list[ViewName]:
    """The views that candidates are evaluated on.

    Parameters
    ----------
    sources : sequence of kernels, names of kernels, callables or kernel learners, "default" or None
    views : TableViews
    """
    usual = [*views.names()] if has_default(sources) else []
    return [*usual, "given"] if _others(sources) or not usual else usual


def first_candidates(sources: Any, views: TableViews, table: Any) -> list[Candidate]:
    """The candidates that are evaluated first: the default families of one width, and those given.

    Parameters
    ----------
    sources : sequence of kernels, names of kernels, callables or kernel learners, "default" or None
    views : TableViews
    table : array-like, sparse matrix or data frame of shape (n_samples, n_features)

    Raises
    ------
    ValueError, TypeError
        As of `given_candidates`.
    """
    if not has_default(sources):
        return given_candidates(sources, table)
    others = _others(sources)
    given = given_candidates(others, table) if others else []
    return [*isotropic_candidates(views.names()), *given]


def _others(sources: Any) -> list[Any]:
    """The candidates beside the default ones."""
    return [one for one in sources if not has_default(one)] if _lists(sources) else []


def _lists(sources: Any) -> bool:
    return isinstance(sources, list | tuple)
