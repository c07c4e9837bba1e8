"""Saving and loading models by skops, which runs no code but that of mercer and scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

import mercer
import mercer.kernels
import mercer.preprocessing
from mercer._cli.errors import InputError, listing, one_line
from mercer._cli.files import replacing
from mercer._gram.unit_scale import UnitScale
from mercer._history import MixingStep, ObjectiveStep, Step, WeightStep
from mercer._model_selection.leave_one_out import EncodedTarget
from mercer._nystroem.calibration import Calibration
from mercer._nystroem.feature_ridge import LinearFit, RidgeChoice
from mercer._nystroem.kernel_columns import KernelColumns
from mercer._nystroem.second_stage import NystroemModel
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._stacking.kernel_stacking import PricedCandidate
from mercer._stacking.machines import MachineMember
from mercer._stacking.members import RidgeMember
from mercer._stacking.nystroem_members import NystroemMember
from mercer._stacking.table_views import TableViews
from mercer._two_stage.centered_ridge import CenteredRidge
from mercer._two_stage.priced_learners import PricedLearner
from mercer.preprocessing._columns import ColumnsOfKind, convert

_TRUSTED_OF_LIBRARIES = (
    np.dtype,
    csr_matrix,
    KFold,
    StratifiedKFold,
    type(check_scoring(SVC())),
)
"""A fitted pipeline holds these types, which skops does not trust by default. The last is the type
of the scorer that calls an estimator's own `score`."""

_TRUSTED_OF_MERCER = (
    Calibration,
    CenteredRidge,
    EncodedTarget,
    KernelColumns,
    LinearFit,
    MachineMember,
    NystroemMember,
    NystroemModel,
    PricedCandidate,
    RidgeMember,
    PricedLearner,
    RidgeChoice,
    TableViews,
    TargetEncoding,
    UnitScale,
)
"""Fitted estimators hold these types."""


def trusted_types() -> list[str]:
    """Return the names of the types that a model may hold besides those that skops trusts."""
    modules = (mercer, mercer.kernels, mercer.preprocessing)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    estimators = [t for t in public if isinstance(t, type) and issubclass(t, BaseEstimator)]
    steps = (Step, MixingStep, WeightStep, ObjectiveStep)
    own = (*steps, *_TRUSTED_OF_MERCER, ColumnsOfKind, convert)
    types = [*estimators, *own, *_TRUSTED_OF_LIBRARIES]
    return sorted(f"{t.__module__}.{t.__qualname__}" for t in types)


def save_model(model: Pipeline, path: Path) -> None:
    """Write a fitted model; an interruption leaves no incomplete file."""
    from skops.io import dump

    with replacing(path) as temporary:
        dump(model, temporary)


def load_model(path: Path) -> Pipeline:
    """Read a model written by `save_model`.

    Raises
    ------
    InputError
        If the file is missing, is not such a model, or holds types that are not trusted, in which
        case nothing is loaded.
    """
    from skops.io import get_untrusted_types, load

    if not path.is_file():
        raise InputError(f"there is no model file {path}")
    untrusted = sorted(set(_parsed(path, get_untrusted_types, file=path)) - set(trusted_types()))
    if untrusted:
        raise InputError(
            f"{path} is not loaded: it holds types that are not trusted, {listing(untrusted)}"
        )
    model = _parsed(path, load, path, trusted=trusted_types())
    if not (isinstance(model, Pipeline) and hasattr(model, "feature_names_in_")):
        raise InputError(f"{path} holds a {type(model).__name__}, not a model of mercer fit")
    return model


def _parsed(path: Path, parse: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a reader of skops; any exception that it raises means that the file is no model."""
    try:
        return parse(*args, **kwargs)
    except Exception as error:
        reason = one_line(error) or f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"{path} is not a model of mercer fit ({reason})") from error
