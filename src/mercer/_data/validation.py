"""Checks of parameters and targets, and warnings that point at the caller's line."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import check_scalar

from mercer._data.similar_names import renamed
from mercer._data.types import Array, PerSample

ROUNDING = 1e-12
"""Values below this fraction of the largest value are rounding errors, and count as zero."""

ARITHMETIC = 1e-13
"""Relative errors below this can arise from a few hundred operations in double precision."""

LARGEST_LOGARITHM = 700.0
"""Upper bound on the arguments of exponentials, which prevents overflow in double precision."""

_TABLE_ADVICE = (
    "mercer.preprocessing.table_encoder() turns categories, dates and missing values into numbers: "
)
"""Sentence in the error message for a table that holds anything but finite numbers, without the
code that is advised."""

_IN_PIPELINE = "make_pipeline(table_encoder(), estimator)."
"""The code for estimators without a parameter `encoder`."""

_AS_PARAMETER = "pass encoder=table_encoder(), or a data frame with encoder='auto'."
"""The advice for estimators with this parameter."""

_STACK_ADVICE = (
    "Gram matrices, kernels last, are for estimators of kernels or of a learner, such as "
    'MKLClassifier(kernels="precomputed") or TwoStageClassifier(UniformCombination("precomputed")).'
)
"""Sentence in the error message for a stack of Gram matrices in place of a table."""

_CLASSIFIERS = {"KernelPoissonRegressor": "KernelLogisticRegression", "L2KRR": "L1SVM"}
"""Classifiers whose names cannot be derived from the names of the corresponding regressors."""

CLIPPED_GRAMS = (
    'pass K @ P as "precomputed", and K_new @ P for new rows, with w, V = np.linalg.eigh(K) and '
    "P = V[:, w > 0] @ V[:, w > 0].T."
)
"""How negative eigenvalues of a Gram matrix are set to zero, for its new rows as well."""

INDEFINITE_ADVICE = (
    "AlignmentMaximization(kernels, clip_spectrum=True) sets negative eigenvalues to zero for "
    "kernels that are functions, as the learner of TwoStageClassifier or TwoStageRegressor with "
    f'approximation="exact". For Gram matrices K, {CLIPPED_GRAMS}'
)
"""Advice for a kernel that has negative eigenvalues."""

_MOMENTS = (date, timedelta, np.datetime64, np.timedelta64)
"""Types of dates and durations; the types of pandas are subclasses of these."""


_OF_A_DATE = re.compile(
    r"float\(\) argument .*, not '\w*(date|time|stamp|delta|NaT)\w*'", re.IGNORECASE
)
"""Python's error about a date, time or duration in place of a number."""

_OWN_FOLDER = str(Path(__file__).parents[1])
"""Stack frames of files below this folder belong to the package, not to its caller."""


def check_number(name: str, value: float, *, whole: bool = False, low: float = 0.0) -> None:
    """Raise an error unless a parameter is a finite number, whole if required, and large enough.

    Parameters
    ----------
    name : str
        The parameter's name, for the message.
    value : object
    whole : bool, default=False
        Whether it must be a whole number.
    low : float, default=0.0
        Smallest value allowed.
    """
    check_scalar(value, name, Integral if whole else Real)
    if not (np.isfinite(value) and value >= low):
        range_ = f"at least {low:g}" if low > 0.0 else "finite and not negative"
        raise ValueError(f"{name} must be {range_}; got {value!r}.")


def check_positive(name: str, value: float) -> None:
    """Raise an error unless a parameter is a positive finite number."""
    check_number(name, value)
    if value == 0.0:
        raise ValueError(f"{name} must be positive; got {value!r}.")


def are_positive(values: object) -> bool:
    """Return whether a number, or every number of an array, is positive and finite."""
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(np.all((numbers > 0.0) & np.isfinite(numbers)))


def check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Raise an error unless a parameter has one of the allowed values."""
    if not any(value is choice or (type(value) is str and value == choice) for choice in choices):
        listed = ", ".join(f'"{c}"' if isinstance(c, str) else f"{c}" for c in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}.")


def check_bool(name: str, value: object) -> None:
    """Raise an error unless a parameter is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_strength(name: str, value: Any) -> None:
    """Raise an error unless a strength is "auto" or a number from zero to infinity.

    Parameters
    ----------
    name : str
        The parameter's name, for the message.
    value : object
    """
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be a number or "auto"; got {value!r}.')
    elif not (isinstance(value, Real) and value == np.inf):
        check_number(name, value)


def check_coverage(coverage: float) -> None:
    """Raise an error unless a probability is between zero and one.

    Raises
    ------
    TypeError
        If it is not a number.
    ValueError
        If it is not between zero and one, such as a percentage.
    """
    check_scalar(coverage, "coverage", Real)
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must be between 0 and 1, such as 0.9; got {coverage!r}.")


def check_target_values(y: PerSample, estimator: BaseEstimator | None = None) -> None:
    """Raise an error if a target holds dates, missing entries, or values too large to be summed.

    For a regressor, text raises an error too, whose message names the corresponding classifier.

    Parameters
    ----------
    y : array-like or None
        Labels or responses. A scalar, or what cannot be converted to an array, raises no error here
        and is left to later validation.
    estimator : estimator, default=None

    Raises
    ------
    ValueError
        If the target holds such a value.
    """
    if estimator is not None and is_regressor(estimator):
        name = type(estimator).__name__
        classifier = _CLASSIFIERS.get(name, name.replace("Regressor", "Classifier"))
        refuse_text(y, f"{name} predicts numbers: {classifier} predicts classes")
    try:
        values = np.asarray(y)
    except ValueError:
        return
    if values.ndim == 0:
        return
    entries = values.ravel() if values.dtype.kind == "O" else ()
    if values.dtype.kind in "mM" or any(isinstance(entry, _MOMENTS) for entry in entries):
        raise ValueError("y holds dates or durations; pass numbers, such as days.")
    missing = [name for entry in entries if (name := _missing(entry))]
    if missing:
        raise ValueError(f"Input y contains {missing[0]}; leave out the rows without a target.")
    if values.dtype.kind == "f" and values.size:
        largest = np.abs(values).max()
        if np.isfinite(largest) and largest > np.finfo(np.float64).max / len(values):
            raise ValueError("Input y contains values too large to be summed.")


def infer_task(y: npt.ArrayLike) -> Literal["classification", "regression"]:
    """Decide whether a target has classes or responses, as estimators do with ``task="auto"``.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The target.

    Returns
    -------
    {"classification", "regression"}
        Strings, booleans and whole numbers with at most 20 distinct values are classes. Whole
        numbers with more distinct values, numbers that are not all whole, and several columns are
        responses.

    Warns
    -----
    UserWarning
        If `y` contains whole numbers that could be classes or responses, because they have more
        than 10 distinct values. More than 4 distinct values suffice if they do not count from zero
        like codes of classes (such as ratings from 1 to 10), and more than 2 if they are
        floating-point numbers.

    Examples
    --------
    >>> from mercer import infer_task
    >>> infer_task([0, 1, 1]), infer_task([0.5, 1.0, 2.0])
    ('classification', 'regression')
    """
    y = np.asarray(y)
    if y.ndim > 1 and y.shape[1] > 1:
        return "regression"
    if y.dtype.kind not in "iuf":
        return "classification"
    # All floating-point numbers above 2 / eps are whole.
    if y.dtype.kind == "f" and not (np.abs(y) <= 2.0 / np.finfo(np.float64).eps).all():
        return "regression"
    if y.dtype.kind == "f" and not np.array_equal(y, np.floor(y)):
        return "regression"
    n_distinct = np.unique(y).size
    found: Literal["classification", "regression"] = (
        "classification" if n_distinct <= 20 else "regression"
    )
    are_codes = y.dtype.kind in "iu" and y.min(initial=0) == 0 and y.max(initial=0) < n_distinct
    if n_distinct > (10 if are_codes else 2 if y.dtype.kind == "f" else 4):
        taken = {"classification": "classes", "regression": "responses"}[found]
        warn(
            f"y holds whole numbers of {n_distinct} distinct values, which were taken for {taken}: "
            'set the task to "classification" or "regression".'
        )
    return found


def check_weights(weights: Array, largest: float = 1e100) -> None:
    """Raise an error if a weight is too large to be squared, or makes all others negligible.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        Finite, and not negative.
    largest : float, default=1e100
        The largest weight allowed. Its square is far from overflow.

    Raises
    ------
    ValueError
        If there are such weights.
    """
    top = weights.max(initial=0.0)
    rest = np.delete(weights, np.argmax(weights)).sum() if weights.size else 0.0
    if 0.0 < rest <= np.finfo(np.float64).eps * top:
        raise ValueError(
            "Found 1 sample(s) of positive sample_weight, up to rounding, while a minimum of 2 is "
            f"required: the largest weight, {top:.3g}, hides all others, whose sum is {rest:.3g}."
        )
    if top > largest:
        raise ValueError(
            f"sample_weight contains {top:.3g}, which is too large to be squared: divide all "
            "weights by their mean."
        )


def refuse_text(y: PerSample, advice: str) -> None:
    """Raise an error if a target holds text that is not a number.

    Parameters
    ----------
    y : array-like
    advice : str
        End of the error message, without a period.

    Raises
    ------
    ValueError
        If the target holds such text.
    """
    try:
        values = np.asarray(y)
    except ValueError:
        return
    for entry in values.ravel() if values.dtype.kind in "OSUT" else ():
        if isinstance(entry, str | bytes) and not _is_number(entry):
            raise ValueError(f"y holds text, such as {str(entry)!r}, and {advice}.")


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def table_advice(estimator: BaseEstimator) -> Iterator[None]:
    """Add advice to errors about strings, missing values, names or dimensions of a table.

    Parameters
    ----------
    estimator : estimator
        The estimator that receives the table.
    """
    code = _AS_PARAMETER if hasattr(estimator, "encoder") else _IN_PIPELINE
    try:
        with refused_dates(code):
            yield
    except ValueError as error:
        told = str(error).rstrip(".")
        if any(part in told for part in ("could not convert", "Input X contains NaN")):
            # Scikit-learn's recommendation of other estimators is removed.
            told = told.partition(". For supervised learning")[0]
            raise ValueError(f"{told}. {_TABLE_ADVICE}{code}") from error
        if hint := renamed(told, getattr(estimator, "feature_names_in_", ())):
            raise ValueError(f"{told}\n{hint}") from error
        if "Found array with dim 3" in told:
            raise ValueError(f"{told}. {_STACK_ADVICE}") from error
        raise


@contextmanager
def refused_dates(code: str = _IN_PIPELINE) -> Iterator[None]:
    """Replace NumPy's errors about tables of dates by one that advises what to do.

    Parameters
    ----------
    code : str
        The code that is advised.
    """
    try:
        yield
    except TypeError as error:
        if "could not be promoted" in str(error) or _OF_A_DATE.search(str(error)):
            told = "X holds columns that are no numbers."
            raise ValueError(f"{told} {_TABLE_ADVICE}{code}") from error
        raise


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the line that called into the package.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning

    Notes
    -----
    Frames of the package, and frames of scikit-learn and joblib between them, are skipped, so that
    the caller's line is shown regardless of the depth at which the warning arises.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_internal(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _missing(entry: object) -> str:
    """Return the name of a missing entry, or an empty string for any other entry."""
    if isinstance(entry, float):
        return "NaN" if np.isnan(entry) else ""
    return {"NoneType": "None", "NAType": "NA"}.get(type(entry).__name__, "")


def _is_internal(filename: str) -> bool:
    return filename.startswith(_OWN_FOLDER) or any(
        f"/{package}/" in filename for package in ("sklearn", "joblib")
    )
