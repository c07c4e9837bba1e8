"""Checks of the settings of two-stage estimators: learners, predictors and unused settings."""

from collections.abc import Callable, Sequence
from numbers import Real

from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils import get_tags

from mercer._data.types import Features
from mercer._estimators.learners import ContinuousAlignment
from mercer.kernels import Kernel


def first_stage(learner: BaseEstimator | str | None) -> BaseEstimator:
    """Return the learner that a parameter `learner` stands for."""
    return ContinuousAlignment() if learner is None or isinstance(learner, str) else learner


def split_by_rows(learner: BaseEstimator | str | None, X: Features) -> Features:
    """Return training samples in a layout that can be split by rows.

    In a stack of Gram matrices, kernels are along the last axis.

    Parameters
    ----------
    learner : estimator, "auto" or None
    X : array-like, sparse matrix, data frame or stack of Gram matrices
    """
    convert = getattr(first_stage(learner), "as_input", None)
    return X if convert is None else convert(X)


def check_learner(learner: object) -> None:
    """Raise an error if `learner` cannot learn a kernel, with advice on what to pass instead.

    Parameters
    ----------
    learner : object

    Raises
    ------
    ValueError
        If `learner` is a string other than "auto".
    TypeError
        If `learner` is a class, a kernel, a list or a predictor, or is not an estimator.

    Examples
    --------
    >>> from mercer import ContinuousAlignment
    >>> check_learner(ContinuousAlignment())
    """
    named = isinstance(learner, str)
    if learner is None or (named and learner == "auto"):
        return
    learns = hasattr(learner, "fit") and hasattr(learner, "transform")
    if not learns or isinstance(learner, type):
        raise (ValueError if named else TypeError)(
            "learner must be 'auto', None or a kernel learner such as ContinuousAlignment(); got "
            + _instead(learner)
        )


_INSTEAD: tuple[tuple[type, str], ...] = (
    (type, "the class {0.__name__}: write {0.__name__}()."),
    (str, "{0!r}. UniformCombination([{0!r}]) stands for a named kernel."),
    (
        Kernel,
        "{0!r}, a kernel: pass KernelOptimization({0!r}) to learn its parameters, or "
        "UniformCombination([{0!r}]) to use it as it is.",
    ),
    (Sequence, "{0!r}: AlignmentMaximization([...]) learns weights of listed kernels."),
)
"""Types that are not learners, and advice on what to pass instead."""


def _instead(learner: object) -> str:
    """Describe an invalid learner, with advice on what to pass instead."""
    if isinstance(learner, str) and learner == "precomputed":
        return f"{learner!r}. UniformCombination({learner!r}) takes Gram matrices."
    for kind, message in _INSTEAD:
        if isinstance(learner, kind):
            return message.format(learner)
    if not hasattr(learner, "predict"):
        return f"{learner!r}, which has no methods `fit` and `transform`."
    makes = "SVR" if is_regressor(learner) and not is_classifier(learner) else "SVC"
    if "kernel" in getattr(learner, "get_params", dict)():
        makes = type(learner).__name__
    return (
        f"{learner!r}, which predicts and learns no kernel. A predictor is the second stage: a "
        "classifier or regressor of precomputed kernels, such as "
        f"predictor={makes}(kernel='precomputed')."
    )


def check_in_use(estimator: BaseEstimator, penalty: str, *, exact: bool, n_labels: int = 1) -> None:
    """Raise an error if a setting would have no effect on the fit.

    Parameters
    ----------
    estimator : TwoStageClassifier or TwoStageRegressor
    penalty : {"C", "alpha"}
    exact : bool
        Whether the second stage is fitted exactly rather than on Nyström features.
    n_labels : int, default=1
        Number of labels per sample.

    Raises
    ------
    ValueError
        If `cv`, `scoring` or the penalty was set, but would not affect the fit.
    """
    value = getattr(estimator, penalty)
    chosen = not (isinstance(value, str) and value == "auto")
    folds, scores = estimator.cv is not None, estimator.scoring is not None
    number = isinstance(value, Real)
    given = estimator.learner is not None and not isinstance(estimator.learner, str)
    if not exact:
        unused = {"cv": folds, "C": penalty == "C" and chosen}
        unused["scoring"] = scores and penalty == "alpha" and number
        why = (
            "on Nyström features, whose penalty is chosen in five folds: pass "
            "approximation='exact', or leave {0} at its default"
        )
    elif estimator.predictor is not None:
        unused = {"cv": folds and given, penalty: chosen, "scoring": scores}
        why = "if a predictor is given: set it in the predictor, and leave {0} at its default"
    elif n_labels > 1:
        unused = {"scoring": scores}
        why = "if samples have several labels: leave {0} at its default"
    else:
        unused = {"cv": penalty == "alpha" and number and folds and given}
        unused["scoring"] = scores and number and given
        why = f"if {penalty} is a number: leave {{0}} at its default, or pass {penalty}=[{{1!r}}]"
    for name in (name for name, is_unused in unused.items() if is_unused):
        raise ValueError(f"{name} has no effect {why.format(name, value)}.")


def check_predictor(
    predictor: object, task: str, fits_task: Callable[[BaseEstimator], bool]
) -> None:
    """Raise an error if `predictor` cannot predict from a Gram matrix.

    Parameters
    ----------
    predictor : object
    task : {"classification", "regression"}
    fits_task : callable
        A function that returns whether an estimator is a classifier or regressor, as the task
        requires.

    Raises
    ------
    ValueError
        If `predictor` is an estimator for another task, or does not take precomputed kernels.
    TypeError
        If `predictor` is not an estimator.
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
