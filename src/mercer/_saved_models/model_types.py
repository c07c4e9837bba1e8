"""The types of objects that a saved model may hold, by name."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC

from mercer import (
    _clustering,
    _feature_selection,
    _learners,
    _one_stage,
    _stacking,
    _two_stage,
    kernels,
    preprocessing,
    probabilistic,
)
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._gram.dense import UnitScale
from mercer._history import MixingStep, ObjectiveStep, Step, WeightStep
from mercer._model_selection.calibration import Calibration
from mercer._model_selection.encoded_target import EncodedTarget, TargetEncoding
from mercer._nystroem.feature_ridge import LinearFit, RidgeChoice
from mercer._nystroem.features import KernelColumns
from mercer._nystroem.second_stage import NystroemModel
from mercer._solvers.ridge import Ridge
from mercer._stacking.combination import LinearCombination, LogisticCombination
from mercer._stacking.kernel_stacking import EvaluatedCandidate
from mercer._stacking.members import GramMember, NystroemMember, ScaledMachine
from mercer._stacking.table_views import TableViews
from mercer._two_stage.label_machines import LabelMachines
from mercer._two_stage.learner_choice import EvaluatedLearner
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Squared
from mercer.preprocessing._column_kinds import ColumnsOfKind, convert
from mercer.preprocessing._table_encoder import CalendarFeatures, TextFeatures

_ESTIMATOR_MODULES = (
    _clustering,
    _feature_selection,
    _learners,
    _one_stage,
    _stacking,
    _two_stage,
    kernels,
    preprocessing,
    probabilistic,
)
"""Modules whose estimators and kernels are trusted."""

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
    CalendarFeatures,
    Calibration,
    LabelMachines,
    EncodedTarget,
    KernelColumns,
    LinearCombination,
    LinearFit,
    LogisticCombination,
    GramMember,
    NystroemMember,
    NystroemModel,
    EvaluatedCandidate,
    Ridge,
    SampleWeights,
    ScaledMachine,
    EvaluatedLearner,
    RidgeChoice,
    TableViews,
    TargetEncoding,
    TextFeatures,
    UnitScale,
    UnitWeights,
    Hinge,
    Squared,
    Logistic,
    EpsilonInsensitive,
)
"""Fitted estimators hold these types."""

_TRUSTED_OF_COMMAND = ("mercer_command.table_reader.TableReader",)
"""The first step of models of the command. The library does not import the command, which is
imported when such a model is loaded."""

_PLAIN = {
    *(f"builtins.{name}" for name in ("bool", "dict", "float", "int", "list", "set", "slice")),
    *("builtins.str", "builtins.tuple", "numpy.ndarray", "numpy.ma.MaskedArray"),
    *(f"numpy.{name.__name__}" for name in set(np.sctypeDict.values())),
}
"""Containers, numbers and arrays, which skops trusts by default."""

_SKLEARN_MODULES = (
    "sklearn.compose.",
    "sklearn.impute.",
    "sklearn.kernel_ridge.",
    "sklearn.linear_model.",
    "sklearn.model_selection.",
    "sklearn.pipeline.",
    "sklearn.preprocessing.",
    "sklearn.svm.",
)
"""Of the types of scikit-learn that skops trusts by default, those of these modules are trusted. In
the others are some that read files, and some whose compiled code relies on unchecked numbers."""


@cache
def trusted_types() -> tuple[str, ...]:
    """Return the names of the types that a model may hold besides those that skops trusts."""
    public = [getattr(module, name) for module in _ESTIMATOR_MODULES for name in module.__all__]
    estimators = [t for t in public if isinstance(t, type) and issubclass(t, BaseEstimator)]
    steps = (Step, MixingStep, WeightStep, ObjectiveStep)
    own = (*steps, *_TRUSTED_OF_MERCER, ColumnsOfKind, convert)
    types = [*estimators, *own, *_TRUSTED_OF_LIBRARIES]
    return tuple(
        sorted({*_TRUSTED_OF_COMMAND, *(f"{t.__module__}.{t.__qualname__}" for t in types)})
    )


def is_trusted(name: str) -> bool:
    """Whether objects of a type may be loaded, if skops trusts it or it is among `trusted_types`.

    Parameters
    ----------
    name : str
        Full name of a type or a function.
    """
    return name in _PLAIN or name in trusted_types() or name.startswith(_SKLEARN_MODULES)
