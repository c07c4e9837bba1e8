"""ONNX operators of the predictions of fitted models."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, is_classifier

from mercer._data.types import Array
from mercer._estimators.generalized.kernel_logistic_regression import KernelLogisticRegression
from mercer._estimators.stacking.table_views import SeveralViews
from mercer._files.deployment.compressed import function_of_table
from mercer._files.deployment.onnx_functions import closeness, function_values
from mercer._files.deployment.onnx_tensors import TEXT, Traced, joined
from mercer._files.deployment.onnx_views import views_of_table
from mercer._gram.expansion import THE_TABLE, KernelExpansion
from mercer._solvers.likelihoods import rates
from mercer.probabilistic import BayesianMKLClassifier


def output_names(model: BaseEstimator) -> list[str]:
    """Return the names of the predictions of a fitted model, which are those of skl2onnx.

    Raises
    ------
    TypeError
        If the model has no function of a table.
    """
    scale = function_of_table(model, "has no operators in ONNX").scale
    if not is_classifier(model):
        return ["variable"]
    own = _is_one_against_rest(model) or scale in ("log-odds", "logit")
    return ["label", "probabilities" if own else "scores"]


def predictions(model: BaseEstimator, table: Traced) -> list[Traced]:
    """Return the predictions of a model, which are named by `output_names`.

    Parameters
    ----------
    model : estimator
    table : Tensor
        Rows in double precision.

    Raises
    ------
    TypeError
        If a part of the model has no operators. The message names the part.
    """
    expansion = function_of_table(model, "has no operators in ONNX")
    if isinstance(model, BayesianMKLClassifier):
        raise TypeError(
            "BayesianMKLClassifier has no operators in ONNX. mercer.compress makes a model of "
            "latent means."
        )
    views: dict[Any, Traced] = {THE_TABLE: table}
    if expansion.views_of is not None:
        views = views_of_table(cast(SeveralViews, expansion.views_of), table)
    values = function_values(expansion, views)
    if not is_classifier(model):
        values = _fallen_back(expansion, views, values)
        return [rates(values) if expansion.scale in ("log rate", "log response") else values]
    if expansion.scale in ("log-odds", "logit"):
        return _probabilities(model, expansion, views, values)
    if _is_one_against_rest(model):
        odds: Traced = expit(values)
        return [_label(values.argmax(), model.classes_), odds / odds.reduced("ReduceSum")]
    code = _second(values) if values.shape[1] == 1 else values.argmax()
    return [_label(code, model._fitted_classes), values]


def _fallen_back(expansion: KernelExpansion, views: dict[Any, Traced], values: Traced) -> Traced:
    if expansion.fall_back is None:
        return values
    level: Any = expansion.fall_back.level
    return level + closeness(expansion.fall_back, views) * (values - level)


def _probabilities(
    model: BaseEstimator, expansion: KernelExpansion, views: dict[Any, Traced], values: Traced
) -> list[Traced]:
    """Return the labels, and the probabilities with zeros for classes without weight."""
    if expansion.scale == "log-odds" and values.shape[1] == len(model.classes_):
        return [(values > 0.0).astype(np.int64), expit(values)]
    if values.shape[1] == 1:
        values = joined([0.0 * values, values])
    found = values.graph.add("Softmax", values, axis=1)
    found = _fallen_back(expansion, views, found)
    label = _label(found.argmax(), model._fitted_classes)
    if model._seen is not None:
        places = np.where(model._seen, np.cumsum(model._seen), 0)
        found = joined([0.0 * found[:, :1], found]).take(places)
    return [label, found]


def _second(values: Traced) -> Traced:
    """Return the position of the second class where the only value of a row is positive."""
    codes = (values > 0.0).astype(np.int64)
    return codes.graph.add("Squeeze", codes, [1], shape=(1,), dtype=np.int64)


def _is_one_against_rest(model: BaseEstimator) -> bool:
    """Return whether probabilities are normalized ones of each class against the rest."""
    return isinstance(model, KernelLogisticRegression) and len(model.classes_) > 2


def _label(code: Traced, classes: Array) -> Traced:
    """Return the label of a class, given its position."""
    kind = {"i": np.int64, "u": np.int64, "b": np.int64, "f": float}.get(classes.dtype.kind, TEXT)
    labels = np.array([str(label) for label in classes], TEXT) if kind is TEXT else classes
    return code.graph.add("Gather", labels.astype(kind), code, shape=(1,), dtype=kind)
