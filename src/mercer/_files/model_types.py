"""Names of the types that a saved model may hold, and checks of loaded models."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, singledispatch
from importlib import import_module
from inspect import getattr_static
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.svm import SVC
from sklearn.svm._base import BaseLibSVM

from mercer._data.types import available_if
from mercer._files.fitted_attributes import known_attributes
from mercer._files.model_schema import KEY_TYPES

_OF_LIBRARIES = frozenset(
    f"{kind.__module__}.{kind.__qualname__}"
    for kind in (
        *(KFold, PredefinedSplit, StratifiedKFold, TimeSeriesSplit),
        type(check_scoring(SVC())),
    )
)
"""Classes of scikit-learn that fitted pipelines hold and that are not estimators. The last one is
the scorer that calls an estimator's own `score`."""

_SKLEARN_MODULES = (
    *("compose", "impute", "kernel_ridge", "linear_model", "model_selection", "pipeline"),
    *("preprocessing", "svm"),
)
"""Modules of scikit-learn whose estimators are trusted. Some other estimators read files, or have
compiled code that relies on unchecked numbers."""

_OF_SKRUB = frozenset(
    {
        *("skrub._datetime_encoder.DatetimeEncoder", "skrub._datetime_encoder._CircularEncoder"),
        "skrub._to_str.ToStr",
    }
)
"""Parts of encoders of dates and text, imported only when a model with them is loaded."""

_GP_KERNELS = frozenset(
    f"sklearn.gaussian_process.kernels.{name}"
    for name in (
        *("ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern"),
        *("PairwiseKernel", "Product", "RBF", "RationalQuadratic", "Sum", "WhiteKernel"),
    )
)
"""Kernels of scikit-learn's Gaussian processes that kernels of mercer may wrap."""

_NOT_IN_MODELS = ("mercer._blocks", "mercer._files.deployment.onnx", "mercer.datasets")
"""Modules whose objects read files or are not part of any model."""

_WITHOUT_FIELDS = frozenset(
    {
        *("mercer._data.weights.SampleWeights", "mercer._data.weights.UnitWeights"),
        *("mercer._estimators.stacking.left_out_predictions.LeftOutPredictions",),
        *("mercer._estimators.stacking.table_views.TableViews",),
    }
)
"""Classes of mercer in models that are neither estimators nor dataclasses."""

_OF_COMMAND = frozenset(
    {
        "mercer_command.logarithms.LogarithmicStack",
        "mercer_command.table_model.TableModel",
        "mercer_command.table_reader.ColumnEncoder",
        "mercer_command.table_reader.TableReader",
    }
)
"""Classes of the command in its pipelines, imported only when such a pipeline is loaded."""

_NUMBERS = frozenset(f"numpy.{kind.__name__}" for kind in set(np.sctypeDict.values())) - {
    "numpy.void",
    "numpy.object_",
}
"""NumPy types of numbers, times and text."""


def full_name_of(kind: type) -> str:
    """Return the name by which a type is saved.

    Parameters
    ----------
    kind : type
    """
    return f"{kind.__module__}.{kind.__qualname__}"


def is_trusted(kind: str, name: str) -> bool:
    """Return whether an object may be created.

    Parameters
    ----------
    kind : str
        The `kind` in the description of an object; see :mod:`mercer._files.model_schema`.
    name : str
        Full name of its type, or of the object itself if it is a type.
    """
    if kind == "ObjectNode":
        return _class_named(name) is not None
    names = {
        "TypeNode": {*KEY_TYPES, *_NUMBERS},
        "NdArrayNode": {*_NUMBERS, "numpy.ndarray"},
        "SparseMatrixNode": {full_name_of(csr_matrix)},
    }
    return name in names[kind]


@cache
def _class_named(name: str) -> type | None:
    """Return a class by name; None if it does not exist or models may not hold its objects."""
    module, _, own = name.rpartition(".")
    others = _OF_LIBRARIES | _OF_SKRUB | _GP_KERNELS | _OF_COMMAND | _WITHOUT_FIELDS
    if name in _sklearn_names() | others:
        return getattr(import_module(module), own, None)
    if not name.startswith("mercer.") or "__" in name or name.startswith(_NOT_IN_MODELS):
        return None
    try:
        found: Any = getattr(import_module(module), own, None)
    except ImportError:
        return None
    is_own = isinstance(found, type) and full_name_of(found) == name
    return found if is_own and (issubclass(found, BaseEstimator) or is_dataclass(found)) else None


@cache
def _sklearn_names() -> frozenset[str]:
    modules = [import_module(f"sklearn.{name}") for name in _SKLEARN_MODULES]
    found = [value for module in modules for value in vars(module).values()]
    kinds = [value for value in found if isinstance(value, type)]
    return frozenset(full_name_of(kind) for kind in kinds if issubclass(kind, BaseEstimator))


def unfit_attribute(name: str, attributes: Iterable[str]) -> str | None:
    """Return an attribute that objects of a trusted class may not have, or that they lack.

    Parameters
    ----------
    name : str
        Full name of the class.
    attributes : iterable of str

    Returns
    -------
    str or None
        The first attribute that would replace a method or a property, or is neither a parameter nor
        a known fitted attribute of the class; or a field or a parameter of a class of mercer that
        is missing. None if all fit.
    """
    kind: Any = _class_named(name)
    given, required = set(attributes), set[str]()
    is_estimator = issubclass(kind, BaseEstimator)
    if is_estimator and not name.startswith("sklearn."):
        required = set(kind._get_param_names())
    elif is_dataclass(kind) and not is_estimator:
        required = {field.name for field in fields(kind)}
    other = given - known_attributes(kind) | {one for one in given if _is_of_class(kind, one)}
    return min(other or required - given, default=None)


def _is_of_class(kind: type, attribute: str) -> bool:
    """Return whether a class has a method or a property of this name."""
    found = getattr_static(kind, attribute, None)
    methods = (property, classmethod, staticmethod, type(available_if(lambda _: True)(len)))
    return callable(found) or isinstance(found, methods)


_PLAIN = (str, int, float, bool, type(None))
"""Types of objects that contain no other objects."""


def check_fitted(model: object) -> None:
    """Check the indices and sizes in a loaded model that compiled code relies on.

    Parameters
    ----------
    model : object
        The model, which is checked with all objects that it contains.

    Raises
    ------
    ValueError
        If the indices of a sparse array or the sizes of a support vector machine are inconsistent.
    """
    for found in objects_in(model):
        if issparse(found) and hasattr(found, "check_format"):
            found.check_format(full_check=True)
        elif isinstance(found, BaseLibSVM) and hasattr(found, "support_"):
            _check_support(found)


def objects_in(model: object) -> Iterator[object]:
    """Yield a model and all objects that it contains, each of them once.

    Parameters
    ----------
    model : object
    """
    seen: dict[int, object] = {}
    waiting = [model]
    while waiting:
        found = waiting.pop()
        if type(found) in _PLAIN or id(found) in seen:
            continue
        seen[id(found)] = found
        yield found
        if not issparse(found):
            waiting.extend(_contents(found))


@singledispatch
def _contents(found: object) -> Iterable[object]:
    """Return the objects that an object holds."""
    return getattr(found, "__dict__", {}).values()


@_contents.register
def _(found: dict) -> Iterable[object]:  # type: ignore[type-arg]
    return [*found, *found.values()]


@_contents.register(list)
@_contents.register(tuple)
@_contents.register(set)
def _(found: Iterable[object]) -> Iterable[object]:
    return found


@_contents.register
def _(found: np.ndarray) -> Iterable[object]:
    return found.flat if found.dtype.hasobject else ()


@_contents.register
def _(found: type) -> Iterable[object]:
    return ()


def _check_support(machine: BaseLibSVM) -> None:
    """Check that the arrays of a support vector machine fit its support vectors."""
    support, counts = np.asarray(machine.support_), np.asarray(machine._n_support)
    n_rows, n_classes, n_vectors = machine.shape_fit_[0], len(counts), len(support)
    n_pairs = n_classes * (n_classes - 1) // 2
    probabilities = (np.size(machine._probA), np.size(machine._probB))
    fits = (
        not machine._sparse
        and n_classes > 1
        and (counts >= 0).all()
        and counts.sum() == n_vectors
        and ((support >= 0) & (support < n_rows)).all()
        and np.shape(machine._dual_coef_) == (n_classes - 1, n_vectors)
        and np.shape(machine._intercept_) == (n_pairs,)
        and all(size in {0, n_pairs} for size in probabilities)
        and (machine.kernel == "precomputed" or len(machine.support_vectors_) == n_vectors)
    )
    if not fits:
        raise ValueError("the arrays of a support vector machine in it do not fit each other")
