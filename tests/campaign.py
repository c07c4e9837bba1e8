"""Combinations of cases: the campaign has all, the ordinary run enough to cover every value."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pytest


class Asked:
    """Whether cases of the campaign are asked for; else they are not even collected."""

    campaign = True


def asked_for(cases: Iterable[Any]) -> list[Any]:
    """Return the parameters of an ordinary run, and those marked for the campaign if it is run."""
    return [case for case in cases if Asked.campaign or pytest.mark.campaign not in case.marks]


def in_campaign(*cases: Any) -> list[Any]:
    """Return cases that only the campaign has."""
    marked = pytest.mark.campaign
    return asked_for(
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marked)
        for case in cases
    )


def rotating(first: Iterable[Any], *others: Sequence[Any]) -> list[Any]:
    """Return all combinations, marked for the campaign but for one with each value of the first.

    The values of the others take turns.
    """
    found = []
    for n, value in enumerate(first):
        for rest in product(*map(enumerate, others)):
            its_turn = all(n % len(o) == i for (i, _), o in zip(rest, others, strict=True))
            marks = () if its_turn else pytest.mark.campaign
            found.append(pytest.param(value, *(other for _, other in rest), marks=marks))
    return asked_for(found)
