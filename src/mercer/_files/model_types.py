"""Names of the types that a saved model may hold, and of the attributes of their objects."""

import dis
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from importlib import import_module
from inspect import unwrap
from types import CodeType
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from mercer._data.types import available_if

KEY_TYPES = tuple(f"builtins.{kind.__name__}" for kind in (str, int, float, bool))
"""Types that the keys of dictionaries may have."""

_NUMBERS = frozenset(f"numpy.{kind.__name__}" for kind in set(np.sctypeDict.values())) - {
    "numpy.void",
    "numpy.object_",
}
"""NumPy types of numbers, times and text."""

_SKLEARN_MODULES = tuple(
    f"sklearn.{name}."
    for name in (
        *("compose", "impute", "kernel_ridge", "linear_model", "model_selection", "pipeline"),
        *("preprocessing", "svm", "gaussian_process.kernels"),
    )
)
"""Modules of scikit-learn whose estimators and kernels are trusted. Some other estimators read
files, or have compiled code that relies on unchecked numbers."""

_SKRUB_MODULES = ("skrub._datetime_encoder", "skrub._squashing_scaler", "skrub._string_encoder")
"""Modules of skrub whose transformers are trusted. Some others load language models, or evaluate
expressions."""

_SPLITTERS = frozenset(
    f"sklearn.model_selection._split.{name}"
    for name in (
        *("GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut"),
        *("LeavePGroupsOut", "LeavePOut", "PredefinedSplit", "RepeatedKFold"),
        *("RepeatedStratifiedKFold", "ShuffleSplit", "StratifiedGroupKFold", "StratifiedKFold"),
        *("StratifiedShuffleSplit", "TimeSeriesSplit"),
    )
)
"""Classes that divide rows, as the parameter `cv`. Those that repeat others hold their classes."""

_CLASSES = _SPLITTERS | frozenset(
    {
        "mercer._data.weights.SampleWeights",
        "mercer._data.weights.UnitWeights",
        "mercer._estimators.stacking.table_views.TableViews",
        "mercer._model_selection.deferred.Deferred",
        "mercer.preprocessing._filled_values.FilledValues",
        "mercer_command.logarithms.LogarithmicStack",
        "mercer_command.table_model.TableModel",
        "mercer_command.table_reader.ColumnEncoder",
        "mercer_command.table_reader.TableReader",
        "sklearn.decomposition._truncated_svd.TruncatedSVD",
        "sklearn.feature_extraction.text.TfidfTransformer",
        "sklearn.feature_extraction.text.TfidfVectorizer",
        "sklearn.metrics._scorer._PassthroughScorer",
        "skrub._to_str.ToStr",
    }
)
"""Other trusted classes."""

_OWN = ("mercer.", "mercer_command.")
"""How the names of our own modules begin."""

_NOT_IN_MODELS = ("mercer._blocks", "mercer._files.deployment.onnx", "mercer.datasets")
"""Modules of mercer whose objects read files or are not part of any model."""

_NAMES: dict[str, frozenset[str]] = {
    "JsonNode": frozenset({"builtins.str"}),
    "DictNode": frozenset({"builtins.dict"}),
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "NdArrayNode": _NUMBERS | {"numpy.ndarray"},
    "SparseMatrixNode": frozenset({f"{csr_matrix.__module__}.{csr_matrix.__name__}"}),
    "TypeNode": _NUMBERS | _SPLITTERS | frozenset(KEY_TYPES),
    "ObjectNode": frozenset(),
}
"""Kinds of objects in models, as skops calls them, with the names of their types; objects of the
last kind are those of classes. The other kinds of skops call functions that a file names."""

_STORE = dis.opmap["STORE_ATTR"]
"""The instruction of Python that sets an attribute."""


class UntrustedTypesError(ValueError):
    """An archive holds an object of a type that is not trusted.

    Parameters
    ----------
    name : str
        The full name of the type.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"it holds types that are not trusted, {name[:100]!r}")


def check_type(kind: str, name: str) -> None:
    """Check that a model may hold an object.

    Parameters
    ----------
    kind : str
        What skops calls the loader of the object.
    name : str
        Full name of its type, or of the object itself if it is a type or a function.

    Raises
    ------
    UntrustedTypesError
        If such an object is not trusted.
    ValueError
        If there is no such kind in models.
    """
    if kind not in _NAMES:
        raise ValueError(f"it holds an object of a kind that models lack, {kind[:100]!r}")
    if name not in _NAMES[kind] and (kind != "ObjectNode" or class_named(name) is None):
        raise UntrustedTypesError(name)


@cache
def class_named(name: str) -> Any:
    """Return a class by its full name; None if it does not exist or is not trusted."""
    module, _, own = name.rpartition(".")
    is_listed = name in _CLASSES
    own_package = name.startswith("mercer.") and not name.startswith(_NOT_IN_MODELS)
    of_libraries = module in _SKRUB_MODULES or f"{module}.".startswith(_SKLEARN_MODULES)
    if not (is_listed or own_package or of_libraries) or "__" in name or ".tests." in name:
        return None
    try:
        found = getattr(import_module(module), own, None)
    except ImportError as error:
        if is_listed or error.name == "skrub":
            raise
        return None
    if not isinstance(found, type) or f"{found.__module__}.{found.__qualname__}" != name:
        return None
    is_held = hasattr(found, "get_params") or module in _SKRUB_MODULES
    return found if is_listed or is_held or (own_package and is_dataclass(found)) else None


def unfit_attribute(name: str, given: Iterable[str]) -> str | None:
    """Return an attribute that objects of a trusted class may not have, or that they lack.

    Parameters
    ----------
    name : str
        Full name of the class.
    given : iterable of str
        Names of the attributes.

    Returns
    -------
    str or None
        The first attribute that would replace a method or a property, or is neither a parameter nor
        a name to which the methods of the class assign; or a field or a parameter of a class of
        mercer that is missing. None if all fit.
    """
    allowed, required = _attributes(class_named(name))
    return min(set(given) - allowed or required - set(given), default=None)


@cache
def _attributes(kind: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the attributes that objects of a class may have, and must have."""
    held = {name: of for base in reversed(kind.__mro__) for name, of in vars(base).items()}
    declared, assigned = set[str](), {"feature_names_in_", "n_features_in_", "_sklearn_version"}
    for base in kind.__mro__[:-1]:
        declared.update(_parameters(base))
        if base.__module__.startswith(_OWN):
            declared.update(vars(base).get("__annotations__", {}))
        for value in vars(base).values():
            assigned.update(name for code in _codes(value) for name in _assigned(code))
    methods = (property, classmethod, staticmethod, type(available_if(lambda _: True)(len)))
    known = {name for name, of in held.items() if callable(of) or isinstance(of, methods)}
    allowed = declared - known
    allowed |= {name for name in assigned if name[:2] != "__" and name not in held}
    allowed |= {name for name, of in held.items() if isinstance(of, cached_property)}
    required = _parameters(kind) if kind.__module__.startswith(_OWN) else ()
    return frozenset(allowed), frozenset(required)


def _parameters(kind: Any) -> Iterable[str]:
    """Return the names of the parameters of an estimator, or the fields of a dataclass."""
    if hasattr(kind, "_get_param_names"):
        return kind._get_param_names()
    return [field.name for field in fields(kind)] if is_dataclass(kind) else ()


def _codes(value: object) -> Iterator[CodeType]:
    """Yield the code of a function, a method, a property or a descriptor, and what it contains."""
    parts = [getattr(value, name, None) for name in ("__func__", "fget", "fset", "func", "fn")]
    waiting = [
        getattr(unwrap(part), "__code__", None) for part in (value, *parts) if callable(part)
    ]
    while waiting:
        if (code := waiting.pop()) is not None:
            yield code
            waiting.extend(inner for inner in code.co_consts if isinstance(inner, CodeType))


def _assigned(code: CodeType) -> Iterable[str]:
    """Return the names of the attributes to which a code assigns values."""
    if _STORE not in code.co_code[::2]:  # A code is a list of pairs of an operation and a number.
        return ()
    return (one.argval for one in dis.get_instructions(code) if one.opcode == _STORE)
