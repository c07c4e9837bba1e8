"""Behavior shared by all fits: they discard earlier results, and notify callbacks of each step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, cast

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from mercer._data.types import Method
from mercer._gram.devices import fitted_on_device
from mercer._gram.threads import GIVEN_CORES

__all__ = ["CallbackSupportMixin", "FittedAttributesMixin", "reported_steps", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _decorated
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A placeholder for versions of scikit-learn without callbacks."""

    def _decorated(method: Method) -> Method:
        return method


class FittedAttributesMixin:
    """Error messages of attributes that an estimator has once it is fitted, or in some settings."""

    _conditions: ClassVar[dict[str, str]] = {
        "feature_names_in_": "X is a table whose column names are all strings"
    }
    """When an estimator has an attribute, by its name; those of base classes also apply."""

    if not TYPE_CHECKING:  # Otherwise, every attribute would count as known.

        def __getattr__(self, name: str) -> Any:
            """Raise an error that asks for a fit, or names the settings that give an attribute."""
            if name.startswith("_"):
                return object.__getattribute__(self, name)  # This raises the usual error.
            if name.endswith("_") and not any(
                one.endswith("_") and one[0] != "_" for one in vars(self)
            ):
                raise NotFittedError(
                    f"This {type(self).__name__} instance is not fitted yet, and has no attribute "
                    f"{name!r}. Call 'fit' with appropriate arguments first."
                )
            for base in type(self).__mro__:
                if condition := vars(base).get("_conditions", {}).get(name):
                    raise AttributeError(
                        f"This {type(self).__name__} has no attribute {name!r}, which it has only "
                        f"if {condition}."
                    )
            return object.__getattribute__(self, name)


_NO_RESULTS = ("_skl", "_metadata_request", "_callback", "_parent_callback")
"""Prefixes of attributes in which scikit-learn stores callbacks, requests and output settings."""


def with_callbacks(method: Method) -> Method:
    """Return a `fit` that discards earlier results, and ends its callbacks even if it fails.

    If the fit fails, the estimator keeps its earlier state. Fits use no more threads than there are
    cores available to the process, and may compute on a card; see
    :func:`mercer._gram.devices.fitted_on_device`.

    Parameters
    ----------
    method : callable
        The method `fit`. scikit-learn's own decorator is also applied; it ends the callbacks.
    """
    decorated = _decorated(method)

    @wraps(method)
    def fit(self: BaseEstimator, *args: Any, **kwargs: Any) -> Any:
        state = vars(self)
        before = dict(state)
        for name in _results(self):
            del state[name]
        try:
            with GIVEN_CORES:
                device = getattr(self, "device", "cpu")
                return fitted_on_device(device, partial(decorated, self), args, kwargs)
        except BaseException:
            for name in _results(self):
                del state[name]
            state.update(before)
            raise

    return cast(Method, fit)


def _results(estimator: BaseEstimator) -> list[str]:
    """Return the names of the attributes that a fit has set on the estimator."""
    return [
        name
        for name in vars(estimator)
        if (name.startswith("_") or name.endswith("_")) and not name.startswith(_NO_RESULTS)
    ]


@contextmanager
def reported_steps(
    estimator: BaseEstimator, n_steps: int | None = None
) -> Iterator[Callable[..., None]]:
    """Notify an estimator's callbacks of its fit and of each step of the fit.

    Parameters
    ----------
    estimator : estimator
        Its `fit`, within which the context is entered, must be decorated by `with_callbacks`.
    n_steps : int, default=None
        Number of steps; None if it is not known in advance.

    Yields
    ------
    callable
        A function to be called after each step; it ignores its arguments.
    """
    printed = _printed_steps(estimator, n_steps)
    if not hasattr(estimator, "_init_callback_context"):
        yield printed
        return
    context = estimator._init_callback_context(max_subtasks=n_steps)
    context.call_on_fit_task_begin(estimator=estimator)

    def report(*_: object) -> None:
        printed()
        step = context.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=estimator)
        step.call_on_fit_task_end(estimator=estimator)

    yield report
    context.call_on_fit_task_end(estimator=estimator)


def _printed_steps(estimator: BaseEstimator, n_steps: int | None) -> Callable[..., None]:
    """Return a function that prints a line for each step if the estimator has `verbose=True`."""
    if not getattr(estimator, "verbose", False):
        return lambda *_: None
    numbers, start, name = count(1), perf_counter(), type(estimator).__name__
    of_all = "" if n_steps is None else f" of {n_steps}"

    def report(*_: object) -> None:
        line = f"[{name}] step {next(numbers)}{of_all}, {perf_counter() - start:.1f} s"
        print(line)  # noqa: T201

    return report
