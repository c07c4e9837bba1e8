"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings
from sklearn.utils import Bunch

from mercer.datasets import load

# The same examples on every machine, however slow it is.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def data() -> Callable[[str], Bunch]:
    """The loader of real data sets; tests that ask for it are skipped without ``MERCER_DATA``."""
    if not os.environ.get("MERCER_DATA"):
        pytest.skip("real data: MERCER_DATA is not set")
    return load
