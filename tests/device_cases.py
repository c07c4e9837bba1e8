"""Devices of the tests: the strict library of the standard and, if it is installed, PyTorch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from mercer._gram import devices, factors
from mercer._gram.devices import Device, library_device
from mercer._search import evidence

LIBRARIES = ("array_api_strict", "torch")


def device_in_memory(library: str) -> Device:
    """A device in the memory of the processor; arrays of NumPy are not accepted on it."""
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    # Arrays on the second device of the strict library are not converted to NumPy by accident.
    return library_device(
        library, module.Device("device1") if library == "array_api_strict" else "cpu"
    )


class Counted(Device):
    """A device that counts the arrays put on it, with a given free memory."""

    free: float | None = None
    n_arrays: int = 0

    def put(self, values: Any) -> Any:
        object.__setattr__(self, "n_arrays", self.n_arrays + 1)
        return super().put(values)

    @property
    def free_memory(self) -> float | None:
        return self.free


@contextmanager
def as_card(library: str, least_rows: int = 1, free: float | None = None) -> Iterator[Counted]:
    """Let ``device="cuda"`` stand for a device in memory, also for small matrices."""
    found = device_in_memory(library)
    device = Counted(found.xp, found.device)
    object.__setattr__(device, "free", free)
    original = devices.device_named

    def named(name: str) -> Device | None:
        return device if name == "cuda" else original(name)

    with (
        mock.patch.object(devices, "device_named", named),
        mock.patch.object(factors, "LEAST_ROWS", least_rows),
        mock.patch.object(evidence, "LEAST_ROWS", least_rows),
    ):
        yield device
