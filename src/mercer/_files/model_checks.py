"""Checks of the values in loaded models, on which compiled code and predictions rely."""

import sys
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm._base import BaseLibSVM

from mercer._data.types import Array

_MAY_LACK_VALUES = frozenset(
    {
        *("X_fit_", "X", "rows", "centers", "given", "scaled", "quantiles", "_quantile_means"),
        *("unclipped", "threshold", "statistics_", "frequencies"),
        *("mean_test_score", "std_test_score", "values", "predictions"),
    }
)
"""Names of arrays that may hold missing or infinite values: tables of rows and statistics of their
columns, thresholds that only missing values exceed, scores of failed fits, and left-out predictions
of rows that no fold holds out."""

_MAY_BE_INFINITE = frozenset({"scale_"})
"""Names of arrays that may hold positive infinity: scales of constant columns, which divide."""

_MAX_PARTS = 3_000_000
"""Values that lists and dictionaries may hold, counted for each name by which they are stored."""

_PLAIN = (str, int, float, bool, type(None), type)
"""Types of objects that contain no other objects."""


def check_values(model: object) -> None:
    """Check the arrays of a loaded model, and the indices that compiled code relies on.

    Parameters
    ----------
    model : object
        The model, which is checked with all objects that it contains.

    Raises
    ------
    ValueError
        If values are missing or infinite where a model never has such values, if a text holds
        numbers that are no characters, if the indices of a sparse matrix, of an encoder or of a
        vocabulary are out of range, or if the sizes of a support vector machine are inconsistent.
    """
    for name, found in objects_in(model):
        is_sparse = issparse(found)
        if is_sparse:
            if found.format != "csr":
                raise ValueError("a sparse matrix in it does not consist of rows")
            found.check_format(full_check=True)
        if is_sparse or isinstance(found, np.ndarray):
            _check_array(name, found.data if is_sparse else found)
        for kind, attribute, check in _CHECKED:
            if isinstance(found, kind) and hasattr(found, attribute):
                check(found)


def objects_in(model: object) -> Iterator[tuple[str, Any]]:
    """Yield a model and all objects that it contains, with the names by which they are stored.

    Yields
    ------
    name : str
        Attribute or key under which the object, or the list that holds it, is stored.
    found : object
    """
    seen: dict[tuple[str, int], object] = {}
    waiting, n_parts = [("", model)], 0
    while waiting:
        name, found = waiting.pop()
        has_names = getattr(found, "__dict__", None) and not issparse(found)
        place = "" if has_names else name
        if isinstance(found, _PLAIN) or (place, id(found)) in seen:
            continue
        seen[place, id(found)] = found
        yield name, found
        parts = _contents(name, found)
        n_parts += len(parts)
        if n_parts > _MAX_PARTS:
            raise ValueError("it holds too many values")
        waiting.extend(parts)


def _contents(name: str, found: Any) -> Collection[tuple[str, Any]]:
    """Return the objects that an object holds, with their names."""
    if isinstance(found, dict):
        return [(key if isinstance(key, str) else name, part) for key, part in found.items()]
    if isinstance(found, list | tuple | set):
        return [(name, part) for part in found]
    if isinstance(found, np.ndarray):
        return [(name, part) for part in found.flat] if found.dtype.hasobject else []
    return [] if issparse(found) else getattr(found, "__dict__", {}).items()


def _check_array(name: str, array: Array) -> None:
    finite = np.isfinite(array) if array.dtype.kind == "f" else np.True_
    if name in _MAY_BE_INFINITE:
        finite |= array == np.inf
    if name not in _MAY_LACK_VALUES and not finite.all():
        raise ValueError(f"values of {name[:40]!r} in it are missing or infinite")
    if array.dtype.kind == "U":  # An array of code points.
        codes = array.ravel().view(f"{array.dtype.byteorder}u4")
        if (codes > sys.maxunicode).any():
            raise ValueError("a text in it holds numbers that are no characters")


def _check_words(vectorizer: CountVectorizer) -> None:
    """Check that a vectorizer reads no files, and that its words are numbered."""
    words = getattr(vectorizer, "vocabulary_", {})
    if vectorizer.input != "content" or sorted(words.values()) != [*range(len(words))]:
        raise ValueError("a vectorizer in it reads files, or does not number its words")


def _check_categories(encoder: OneHotEncoder) -> None:
    """Check that the columns of an encoder are those of its categories."""
    sizes = [len(values) for values in encoder.categories_]
    mappings = encoder._default_to_infrequent_mappings if encoder._infrequent_enabled else []
    for place, mapping in enumerate(mappings):
        if mapping is not None:
            fits = len(mapping) == sizes[place] and min(mapping) >= 0
            sizes[place] = max(mapping) + 1 if fits else -1
    if (dropped := encoder._drop_idx_after_grouping) is not None:
        places = zip(dropped, sizes, strict=True)
        sizes = [size - (place is not None and 0 <= place < size) for place, size in places]
    numbers = [values for values in encoder.categories_ if values.dtype.kind in "biuf"]
    are_sorted = all(np.array_equal(np.unique(one), one, equal_nan=True) for one in numbers)
    if list(encoder._n_features_outs) != sizes or not are_sorted:
        raise ValueError("the columns of an encoder in it are not those of its categories")


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


_CHECKED = (
    (BaseLibSVM, "support_", _check_support),
    (OneHotEncoder, "categories_", _check_categories),
    (CountVectorizer, "fit", _check_words),
)
"""Classes whose objects are checked if they have an attribute, and the checks: vectorizers always,
others once they are fitted."""
