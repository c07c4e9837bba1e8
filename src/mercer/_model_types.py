"""Types that a saved model may hold, by name, and checks of what was loaded."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, singledispatch
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn._loss import _loss as _compiled
from sklearn.base import BaseEstimator
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.svm import SVC
from sklearn.svm._base import BaseLibSVM

_ESTIMATOR_MODULES = (
    "mercer._clustering",
    "mercer._deployment",
    "mercer._feature_selection",
    "mercer._generalized",
    "mercer._learners",
    "mercer._one_stage",
    "mercer._stacking",
    "mercer._two_stage",
    "mercer.kernels",
    "mercer.preprocessing",
    "mercer.probabilistic",
)
"""Modules whose estimators and kernels are trusted."""

_TRUSTED_OF_LIBRARIES = (
    np.dtype,
    csr_matrix,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    type(check_scoring(SVC())),
)
"""A fitted pipeline holds these types, which skops does not trust by default. The last is the type
of the scorer that calls an estimator's own `score`."""

_TRUSTED_OF_MERCER = {
    "mercer._data.labels": ("LabelSet",),
    "mercer._data.resampling": ("InSplits", "OneAtATime", "Together"),
    "mercer._data.sample": ("EncodedTarget", "Sample", "TargetEncoding"),
    "mercer._data.weights": ("SampleWeights", "UnitWeights"),
    "mercer._expansion": ("FeatureTerm", "KernelExpansion", "KernelTerm"),
    "mercer._fall_back": ("FallBack",),
    "mercer._generalized.generalized_kernel_machine": ("EvaluatedKernel",),
    "mercer._gram.dense": ("UnitScale",),
    "mercer._model_selection.calibration": ("Calibration",),
    "mercer._model_selection.prediction_sets": ("HeldOutProbabilities",),
    "mercer._model_selection.residual_scale": ("HeldOutResiduals",),
    "mercer._nystroem.feature_ridge": ("LinearFit", "RidgeChoice"),
    "mercer._nystroem.features": ("Moments", "NystroemFeatures"),
    "mercer._nystroem.kernel_columns": ("KernelColumns",),
    "mercer._nystroem.row_sums": ("AllTargets", "FeatureSums"),
    "mercer._nystroem.second_stage": ("NystroemModel",),
    "mercer._records": ("KernelTerms", "MixingStep", "ObjectiveStep", "Step", "WeightStep"),
    "mercer._solvers.ridge": ("Ridge",),
    "mercer._stacking.combination": ("LinearCombination", "LogisticCombination"),
    "mercer._stacking.deferred": ("Once",),
    "mercer._stacking.evaluation": ("GramMember",),
    "mercer._stacking.kernel_stacking": ("EvaluatedCandidate",),
    "mercer._stacking.label_combination": ("LabelCombination",),
    "mercer._stacking.leaf_members": ("LeafMember",),
    "mercer._stacking.leaf_sums": ("LeafSums",),
    "mercer._stacking.logistic_members": ("LinearPredictor", "LogisticSolver"),
    "mercer._stacking.machines": ("ScaledMachine",),
    "mercer._stacking.nystroem_members": ("NystroemMember",),
    "mercer._stacking.stack_left_out": ("LeftOut",),
    "mercer._stacking.table_views": ("SeveralViews", "TableViews"),
    "mercer._two_stage.label_machines": ("LabelMachines",),
    "mercer._two_stage.left_out_choice": ("LeftOutChoice",),
    "mercer._two_stage.learner_choice": ("EvaluatedLearner",),
    "mercer._tree_terms": ("TreeTerm",),
    "mercer.inspection._compression_loss": ("CompressionLoss",),
    "mercer.kernels._tree_arrays": ("TreeArrays",),
    "mercer.losses._smooth": ("Logistic", "Squared"),
    "mercer.losses._support_vector": ("EpsilonInsensitive", "Hinge"),
    "mercer.preprocessing._column_converter": ("ColumnConverter",),
    "mercer.preprocessing._column_kinds": ("ColumnsOfKind",),
    "mercer.preprocessing._table_encoder": ("CalendarFeatures", "TextFeatures"),
    "mercer_command.table_model": ("TableModel",),
    "mercer_command.table_reader": ("TableReader",),
}
"""What fitted estimators hold, by module. A module is imported when such a model is loaded."""

_TRUSTED_OF_TREES = {
    "numpy.random._generator": ("Generator",),
    "sklearn._loss._loss": (
        *("CyAbsoluteError", "CyHalfBinomialLoss", "CyHalfMultinomialLoss"),
        *("CyHalfSquaredError", "CyPinballLoss"),
    ),
    "sklearn._loss.link": ("IdentityLink", "Interval", "LogitLink", "MultinomialLogit"),
    "sklearn._loss.loss": (
        *("AbsoluteError", "HalfBinomialLoss", "HalfMultinomialLoss"),
        *("HalfSquaredError", "PinballLoss"),
    ),
    "sklearn.ensemble._hist_gradient_boosting.binning": ("_BinMapper",),
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": (
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    ),
    "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),
    "sklearn.multioutput": ("MultiOutputRegressor",),
}
"""What boosted trees of scikit-learn hold. Their nodes are checked when they have been loaded."""

_LOSS_MODULE = _compiled.CyHalfSquaredError.__module__
"""The module that compiled losses say they are of."""

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
"""Of the types of scikit-learn that skops trusts by default, those of these modules are trusted.
Some others read files, or have compiled code that relies on unchecked numbers."""


@cache
def trusted_types() -> tuple[str, ...]:
    """Return the names of the types that a model may hold besides those that skops trusts."""
    modules = map(import_module, _ESTIMATOR_MODULES)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    estimators = [t for t in public if isinstance(t, type) and issubclass(t, BaseEstimator)]
    named = {f"{t.__module__}.{t.__qualname__}" for t in (*estimators, *_TRUSTED_OF_LIBRARIES)}
    listed = _TRUSTED_OF_MERCER | _TRUSTED_OF_TREES
    held = {f"{module}.{name}" for module, names in listed.items() for name in names}
    losses = {f"{_LOSS_MODULE}.{name}" for name in _TRUSTED_OF_TREES[_compiled.__name__]}
    return tuple(sorted(named | held | losses))


@contextmanager
def compiled_losses() -> Iterator[None]:
    """Let compiled losses be imported by the module that they name themselves.

    Some releases of scikit-learn leave out its package in that name.
    """
    if _LOSS_MODULE in sys.modules:
        yield
        return
    sys.modules[_LOSS_MODULE] = _compiled
    try:
        yield
    finally:
        del sys.modules[_LOSS_MODULE]


def is_trusted(name: str) -> bool:
    """Whether objects of a type may be loaded, if skops trusts it or it is among `trusted_types`.

    Parameters
    ----------
    name : str
        Full name of a type or a function.
    """
    return name in _PLAIN or name in trusted_types() or name.startswith(_SKLEARN_MODULES)


def prepare(model: Any) -> None:
    """Let a compressed model, also at the end of a pipeline, compute what depends on no row."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(last, "_prepare"):
        last._prepare()


def check_fitted(model: Any) -> None:
    """Check the indices and sizes in a loaded model that compiled code relies on.

    Parameters
    ----------
    model : object
        The objects that it contains are checked too.

    Raises
    ------
    ValueError
        If the indices of a sparse array, the sizes of a support vector machine or the nodes of
        boosted trees do not fit.
    """
    for found in objects_in(model):
        if issparse(found) and hasattr(found, "check_format"):
            found.check_format(full_check=True)
        elif isinstance(found, BaseLibSVM) and hasattr(found, "support_"):
            _check_support(found)
        elif isinstance(found, BaseHistGradientBoosting) and hasattr(found, "_predictors"):
            _check_boosted(found)


def objects_in(model: Any) -> Iterator[Any]:
    """All objects that a model contains, and the model itself, each once.

    Parameters
    ----------
    model : object
    """
    seen: dict[int, Any] = {}
    waiting = [model]
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen[id(found)] = found
        yield found
        if not issparse(found):
            waiting.extend(_contents(found))


@singledispatch
def _contents(found: Any) -> Iterable[Any]:
    """Return the objects that an object holds."""
    return getattr(found, "__dict__", {}).values()


@_contents.register
def _(found: dict) -> Iterable[Any]:  # type: ignore[type-arg]
    return [*found, *found.values()]


@_contents.register(list)
@_contents.register(tuple)
@_contents.register(set)
def _(found: Iterable[Any]) -> Iterable[Any]:
    return found


@_contents.register
def _(found: np.ndarray) -> Iterable[Any]:
    return found.flat if found.dtype.hasobject else ()


@_contents.register
def _(found: type) -> Iterable[Any]:
    return ()


def _check_support(machine: Any) -> None:
    """Check that a support vector machine's arrays are those of its support vectors."""
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


def _check_boosted(model: Any) -> None:
    """Check that trees lead from each node to a later one, and read columns that there are.

    Trees that split by categories hold functions, which are not trusted, and are not saved.
    """
    fits = True
    for nodes in (tree.nodes for stage in model._predictors for tree in stage):
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        columns = nodes["feature_idx"][inner]
        fits = fits and nodes.ndim == 1 and len(nodes) > 0 and not nodes["is_categorical"].any()
        fits = fits and bool(np.all((columns >= 0) & (columns < model._n_features)))
        for side in ("left", "right"):
            following = nodes[side][inner]
            fits = fits and bool(np.all((following > inner) & (following < len(nodes))))
    if not fits:
        raise ValueError("the nodes of a boosted tree in it do not fit each other")
