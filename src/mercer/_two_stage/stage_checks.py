"""Checks of the learner and the predictor that a two-stage estimator is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any

from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags

from mercer.kernels import Kernel

_LEARNER = "learner must be 'auto', None or a kernel learner such as ContinuousAlignment()"
"""Error messages about the learner begin so."""


def check_learner(learner: Any) -> None:
    """Refuse what cannot learn a kernel, and say where it belongs.

    Parameters
    ----------
    learner : object

    Raises
    ------
    ValueError
        If a string is not "auto".
    TypeError
        If it is a class, a kernel, a list, a predictor, or no estimator at all.

    Examples
    --------
    >>> from mercer import ContinuousAlignment
    >>> check_learner(ContinuousAlignment())
    """
    if learner is None or (isinstance(learner, str) and learner == "auto"):
        return
    if isinstance(learner, type):
        raise TypeError(
            f"{_LEARNER}; got the class {learner.__name__}: write {learner.__name__}()."
        )
    refused = f"{_LEARNER}; got {learner!r}"
    if isinstance(learner, str):
        raise ValueError(f"{refused}. UniformCombination([{learner!r}]) stands for a named kernel.")
    if isinstance(learner, Kernel):
        raise TypeError(
            f"{refused}, a kernel: pass KernelOptimization({learner!r}) to learn its parameters, "
            f"or UniformCombination([{learner!r}]) to use it as it is."
        )
    if isinstance(learner, Sequence):
        raise TypeError(
            f"{refused}: AlignmentMaximization([...]) learns weights of listed kernels."
        )
    if hasattr(learner, "fit") and hasattr(learner, "transform"):
        return
    if hasattr(learner, "predict"):
        raise TypeError(
            f"{refused}, which predicts and learns no kernel. A predictor is the second stage: a "
            "classifier or regressor of precomputed kernels, such as "
            f"predictor={_precomputed(learner)}."
        )
    raise TypeError(f"{refused}, which has no methods `fit` and `transform`.")


def check_folds(cv: Any) -> None:
    """Refuse what stands for no folds, and leave an iterator as it is.

    Parameters
    ----------
    cv : object

    Raises
    ------
    ValueError
        If it is no whole number from two on, splitter, iterable or None.

    Examples
    --------
    >>> check_folds(5)
    """
    if isinstance(cv, Integral):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds; got cv={cv}.")
    elif cv is not None and (isinstance(cv, str) or not isinstance(cv, Iterable)):
        check_cv(cv)


def check_in_use(estimator: Any, penalty: str, *, exact: bool, n_labels: int = 1) -> None:
    """Refuse settings that would have no effect on a fit.

    Parameters
    ----------
    estimator : TwoStageClassifier or TwoStageRegressor
    penalty : {"C", "alpha"}
        Name of the parameter that holds the penalty.
    exact : bool
        Whether the second stage is fitted exactly, and not on Nyström features.
    n_labels : int, default=1
        Number of labels of a sample.

    Raises
    ------
    ValueError
        If `cv`, `nested` or the penalty was set, and has no part in the fit.
    """
    value, nested = getattr(estimator, penalty), estimator.nested
    chosen = not (isinstance(value, str) and value == "auto")
    learns = not isinstance(nested, str) and bool(nested)
    folds = estimator.cv is not None
    given = estimator.learner is not None and not isinstance(estimator.learner, str)
    if not exact:
        unused = {"cv": folds, "nested": learns, "C": penalty == "C" and chosen}
        why = (
            "on Nyström features, whose penalty is chosen in five folds: pass "
            "approximation='exact', or leave {0} at its default"
        )
    elif estimator.predictor is not None:
        unused = {"cv": folds and given, "nested": learns, penalty: chosen}
        why = "where a predictor is given: set it in the predictor, and leave {0} at its default"
    elif penalty == "alpha" and isinstance(value, Real):
        unused = {"cv": folds and given, "nested": learns}
        why = "where alpha is a number: leave {0} at its default, or pass alpha=[{1!r}]"
    else:
        unused = {"nested": learns and n_labels > 1}
        why = "where samples have several labels: leave {0} at its default"
    for name in (name for name, is_unused in unused.items() if is_unused):
        raise ValueError(f"{name} has no effect {why.format(name, value)}.")


def check_predictor(predictor: Any, task: str, fits_task: Callable[[Any], bool]) -> None:
    """Refuse what cannot predict from a Gram matrix.

    Parameters
    ----------
    predictor : object
    task : {"classification", "regression"}
    fits_task : callable
        Whether an estimator is a classifier, or a regressor.

    Raises
    ------
    ValueError
        If it is an estimator for another task, or takes no precomputed kernels.
    TypeError
        If it is no estimator.
    """
    example = "SVC" if task == "classification" else "SVR"
    if isinstance(predictor, type) or not hasattr(predictor, "fit"):
        given = predictor.__name__ if isinstance(predictor, type) else repr(predictor)
        raise TypeError(
            f"predictor must be an estimator, such as {example}(kernel='precomputed'); got {given}."
        )
    if not fits_task(predictor):
        raise ValueError(f"predictor must be a {task} estimator; got {predictor!r}.")
    if not get_tags(predictor).input_tags.pairwise:
        raise ValueError(
            "predictor must take a precomputed kernel matrix, as SVC(kernel='precomputed') "
            f"does; got {predictor!r}."
        )


def _precomputed(predictor: Any) -> str:
    """How an estimator of precomputed kernels that is like another one is made."""
    if "kernel" in getattr(predictor, "get_params", dict)():
        return f"{type(predictor).__name__}(kernel='precomputed')"
    if is_regressor(predictor) and not is_classifier(predictor):
        return "SVR(kernel='precomputed')"
    return "SVC(kernel='precomputed')"
