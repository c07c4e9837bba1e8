"""The graphics card on which large matrices are computed, and fits and predictions on it."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from threading import RLock
from typing import Any, TypeVar, cast

import numpy as np
from sklearn import get_config

from mercer._data.arrays import array_api_compat, is_foreign, is_out_of_memory, namespace, to_numpy
from mercer._data.types import Array, Method
from mercer._data.validation import check_choice, warn
from mercer._gram.memory import memory_size
from mercer._gram.threads import add_lock

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
        """Copy an array of NumPy to the device."""
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


Result = TypeVar("Result")


def computed_on(device: Device | None, function: Callable[[], Result]) -> Result:
    """Call a function that computes large matrices on a device.

    If the memory of the device is used up, the function is called again, and uses the processor.
    The memory is freed in any case, also if the function is interrupted.

    Parameters
    ----------
    device : Device or None
        None for the processor.
    function : callable

    Warns
    -----
    UserWarning
        If the memory of the device is used up.
    """
    if device is None:
        return function()
    try:
        with computing_on(device), device.in_full_precision():
            return function()
    except BaseException as error:
        # The local variables of the calls that have ended refer to arrays on the device.
        traceback.clear_frames(error.__traceback__)
        if not is_out_of_memory(error):
            raise
    finally:
        device.release()
    warn(
        "The memory of the card is used up by this and other processes: everything is computed "
        "again, on the processor."
    )
    return function()


def fitted_on_device(
    name: str, fit: Callable[..., Result], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Result:
    """Call a fit with arrays of NumPy, on the device of the parameter `device` or of the arrays.

    Parameters
    ----------
    name : {"cpu", "cuda", "auto"}
        The device, unless arrays are on a card.
    fit : callable
    args, kwargs : sequence and mapping of object
        Arguments of the fit.

    Raises
    ------
    ImportError, ValueError
        If there is no such device, or if arrays are on several devices, have few digits or require
        gradients.
    """
    given = [value for value in [*args, *kwargs.values()] if _is_converted(value)]
    found = {str(array_api_compat.device(array)) for array in given}
    if len(found) > 1:
        raise ValueError(
            f"Arrays are on several devices, {' and '.join(sorted(found))}: move them to one."
        )
    device = (device_of(given[0]) if given else None) or device_named(name)
    args = [_converted(value) for value in args]
    kwargs = {key: _converted(value) for key, value in kwargs.items()}
    return computed_on(device, lambda: fit(*args, **kwargs))


def on_device(method: Method) -> Method:
    """Return a method of a fitted estimator that computes on the device of the estimator or of `X`.

    If `X` is an array of another library and scikit-learn's `array_api_dispatch` is set, the result
    is one, too, on the same device. An estimator that was fitted on a card predicts on the
    processor where there is no card.

    Parameters
    ----------
    method : callable
        A method whose first argument is the table X.
    """

    @wraps(method)
    def predict(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        is_converted = _is_converted(X)
        device = (device_of(X) if is_converted else None) or fitted_device(self)
        given = [_converted(value) for value in (X, *args)]
        named = {key: _converted(value) for key, value in kwargs.items()}
        found = computed_on(device, lambda: method(self, *given, **named))
        return _as_given(found, X) if is_converted else found

    return cast(Method, predict)


def fitted_device(estimator: Any) -> Device | None:
    """Return the device of the parameter `device`, None where there is no card."""
    try:
        return device_named(getattr(estimator, "device", "cpu"))
    except (ImportError, ValueError):
        return None


def _is_converted(values: object) -> bool:
    """Return whether an argument is converted to an array of NumPy, and its result back."""
    return get_config()["array_api_dispatch"] and is_foreign(values)


def _converted(values: Any) -> Any:
    """Return an array of another library as an array of NumPy; other objects as they are."""
    if not _is_converted(values):
        return values
    if getattr(values, "requires_grad", False):
        raise ValueError(
            "An array requires gradients, which are not computed through fits and predictions: "
            "pass array.detach()."
        )
    if str(values.dtype).rsplit(".", 1)[-1] in ("float16", "bfloat16"):
        raise ValueError(f"Arrays of {values.dtype} have too few digits: pass float32 or float64.")
    return to_numpy(values)


def _as_given(found: Any, X: Any) -> Any:
    """Return numbers as an array of the library and on the device of `X`; others as they are."""
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
        return found
    return namespace(X).asarray(found, device=array_api_compat.device(X))
