"""The graphics card on which large matrices are computed, if a fit or a prediction asks for one."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from threading import RLock
from typing import Any

import numpy as np

from mercer._data.arrays import array_api_compat
from mercer._data.locks import add_lock
from mercer._data.types import Array
from mercer._data.validation import check_choice, warn
from mercer._gram.memory import memory_size

DEVICES = ("cpu", "cuda", "auto")
"""Values of the parameter `device`."""

LEAST_ROWS = 1000
"""Factors of smaller matrices take the processor a few milliseconds, about as long as the transfer
to a card and the start of its programs take."""

_SPARE = 0.1
"""The part of a card's free memory that is left to the workspaces of its libraries."""

TILE_BYTES = 256 * 2**20
"""Temporary arrays on a card have at most about this size."""


@dataclass(frozen=True)
class Device:
    """A device and the array library that computes on it.

    Attributes
    ----------
    xp : module
        Namespace of the library, with the names of the array API standard.
    device : object
        The device, as the library names it.
    """

    xp: Any
    device: Any

    def put(self, values: Array) -> Any:
        """Copy an array of NumPy to the device.

        Parameters
        ----------
        values : ndarray
        """
        # Some libraries do not accept arrays with negative strides.
        values = np.ascontiguousarray(values)
        return self.xp.asarray(values, device=self.device, copy=True)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return zeros on the device."""
        return self.xp.zeros(shape, dtype=dtype, device=self.device)

    @property
    def free_memory(self) -> float | None:
        """Number of bytes that can be allocated on the device, None if it is unknown."""
        cuda = getattr(_torch(), "cuda", None) if str(self.device).startswith("cuda") else None
        if cuda is None:
            return None
        # Memory that PyTorch keeps for later arrays is free, too.
        kept = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
        return float(cuda.mem_get_info(self.device)[0] + kept)

    @contextmanager
    def in_full_precision(self) -> Iterator[None]:
        """Compute products in single precision with all of its digits, within the context.

        Programs that train neural networks often let PyTorch drop digits, by
        ``torch.set_float32_matmul_precision("high")``.
        """
        if not self.xp.__name__.endswith("torch"):
            yield
            return
        with _FULL_PRECISION:
            yield

    def release(self) -> None:
        """Return memory that the library keeps for later arrays to the card."""
        if str(self.device).startswith("cuda"):
            _torch().cuda.empty_cache()


class _FullPrecision:
    """PyTorch's setting for products in single precision, which belongs to the process.

    The first thread that enters the context sets it, and the last one that leaves it restores the
    setting of before, because fits in several threads begin and end in any order.
    """

    _lock: RLock

    def __init__(self) -> None:
        add_lock(self)
        self._n_inside, self._before = 0, "highest"

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._before = _torch().get_float32_matmul_precision()
                _torch().set_float32_matmul_precision("highest")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                _torch().set_float32_matmul_precision(self._before)


_FULL_PRECISION = _FullPrecision()
"""The setting, with the number of fits and predictions that need it."""

_CURRENT: ContextVar[Device | None] = ContextVar("device", default=None)
"""The device of the fit or the prediction that runs in this thread; None for the processor."""


def current_device() -> Device | None:
    """Return the device on which this thread computes large matrices; None for the processor."""
    return _CURRENT.get()


@contextmanager
def computing_on(device: Device | None) -> Iterator[None]:
    """Compute large matrices on a device within the context, in this thread.

    Parameters
    ----------
    device : Device or None
        None for the processor.
    """
    token = _CURRENT.set(device)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def device_named(name: str) -> Device | None:
    """Return the device for a value of the parameter `device`.

    Parameters
    ----------
    name : {"cpu", "cuda", "auto"}

    Returns
    -------
    Device or None
        None for the processor.

    Raises
    ------
    ImportError
        If "cuda" is asked for and PyTorch is not installed.
    ValueError
        If "cuda" is asked for and PyTorch finds no card, or for another name.

    Notes
    -----
    PyTorch is imported for "cuda" and, if it is installed, for "auto". This takes a few seconds.
    """
    check_choice("device", name, DEVICES)
    if name == "cpu" or (name == "auto" and find_spec("torch") is None):
        return None
    if find_spec("torch") is None:
        raise ImportError(
            'device="cuda" needs PyTorch, which is not installed: pip install "mercer[gpu]".'
        )
    torch = _torch()
    if not torch.cuda.is_available():
        if name == "auto":
            return None
        raise ValueError(
            f'device="cuda" was asked for, but PyTorch {torch.__version__} finds no card, or no '
            'driver for it. device="auto" uses the processor where there is none.'
        )
    return library_device("torch", torch.device("cuda", torch.cuda.current_device()))


def device_of(array: Any) -> Device | None:
    """Return the card that an array of PyTorch is on; None if it is in memory.

    Parameters
    ----------
    array : array
        An array of another library than NumPy.
    """
    if not (array_api_compat.is_torch_array(array) and array.device.type == "cuda"):
        return None
    return library_device("torch", array.device)


def library_device(name: str, device: Any) -> Device:
    """Return a device of an array library.

    Parameters
    ----------
    name : str
        Name of a library of the array API standard, such as "torch".
    device : object
        The device, as the library names it.
    """
    library = importlib.import_module(name)
    return Device(array_api_compat.array_namespace(library.zeros(1)), device)


def device_with_room(n_bytes: float, purpose: str) -> Device | None:
    """Return the current device if it has room for arrays; warn, and return None, if it has not.

    Parameters
    ----------
    n_bytes : float
    purpose : str
        Purpose of the arrays, for the message.

    Warns
    -----
    UserWarning
        If the arrays do not fit into the free memory of the card.
    """
    device = current_device()
    free = None if device is None else device.free_memory
    if free is not None and n_bytes > (1.0 - _SPARE) * free:
        warn(
            f"The card has {memory_size(free)} of free memory, and {purpose} needs "
            f"{memory_size(n_bytes)}: it is computed on the processor."
        )
        return None
    return device


def _torch() -> Any:
    return importlib.import_module("torch")
