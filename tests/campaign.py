"""Products of cases, of which the ordinary run has a part and the campaign has all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pytest


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
    return found
