"""Fits and predictions on a card, and of tables that are arrays of other libraries than NumPy."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn import get_config

from mercer._data.arrays import array_api_compat, is_foreign, is_out_of_memory, namespace, to_numpy
from mercer._data.types import Method
from mercer._data.validation import warn
from mercer._gram.devices import Device, computing_on, device_named, device_of

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
    """Return the device of the parameter `device`, None where there is no card.

    Parameters
    ----------
    estimator : estimator
    """
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
