"""Models on disk, through skops: loading one runs no code but mercer's and scikit-learn's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

import mercer
import mercer.kernels
from mercer._cli.errors import InputError, listing, one_line
from mercer._cli.files import replacing
from mercer._history import MixingStep, ObjectiveStep, Step, WeightStep

_SCIKIT_LEARN_NEEDS = (np.dtype, KFold, StratifiedKFold, type(check_scoring(SVC())))
"""Types that a fitted preparation of columns or a search holds and skops does not trust of itself;
the last is the scorer that calls an estimator's own `score`."""


def trusted_types() -> list[str]:
    """Names of the types that a saved model may hold besides those that skops trusts."""
    public = [
        getattr(module, name) for module in (mercer, mercer.kernels) for name in module.__all__
    ]
    estimators = [t for t in public if isinstance(t, type) and issubclass(t, BaseEstimator)]
    steps = (Step, MixingStep, WeightStep, ObjectiveStep)
    types = [*estimators, *steps, *_SCIKIT_LEARN_NEEDS]
    return sorted(f"{t.__module__}.{t.__qualname__}" for t in types)


def save_model(model: Pipeline, path: Path) -> None:
    """Write a fitted model, without ever leaving a half-written file."""
    from skops.io import dump

    with replacing(path) as aside:
        dump(model, aside)


def load_model(path: Path) -> Pipeline:
    """Read a model written by `save_model`.

    Raises
    ------
    InputError
        If the file is missing, holds types that are not trusted (nothing is loaded then), or is
        not such a model.
    """
    from skops.io import get_untrusted_types, load

    if not path.is_file():
        raise InputError(f"there is no model file {path}")
    foreign = sorted(set(_parsed(path, get_untrusted_types, file=path)) - set(trusted_types()))
    if foreign:
        raise InputError(f"{path} is not loaded: it holds types not trusted, {listing(foreign)}")
    model = _parsed(path, load, path, trusted=trusted_types())
    if not (isinstance(model, Pipeline) and hasattr(model, "feature_names_in_")):
        raise InputError(f"{path} holds a {type(model).__name__}, not a model of mercer fit")
    return model


def _parsed(path: Path, parse: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a reader of skops; whatever it raises on a strange file, the file is at fault."""
    try:
        return parse(*args, **kwargs)
    except Exception as error:
        what = one_line(error) or f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"{path} is not a model of mercer fit ({what})") from error
