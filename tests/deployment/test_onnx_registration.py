"""Pipelines with estimators of mercer that skl2onnx's own functions convert."""

from typing import Any

import numpy as np
import pytest
from deployment_cases import N, classes, fitted, rows
from numpy.testing import assert_allclose, assert_array_equal
from onnx_cases import runtime, skl2onnx
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

from mercer import KernelStackingClassifier, compress, register_onnx_converters
from mercer.kernels import Gaussian
from mercer.preprocessing import SoftClippingScaler

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

X, NEW = rows()[:N], rows()[N:]


def run(graph: Any, **inputs: Any) -> dict[str, np.ndarray]:
    session = runtime.InferenceSession(graph.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


@pytest.fixture(autouse=True)
def registered() -> Any:
    """Register the converters, and leave skl2onnx as it was."""
    from skl2onnx import _parse, _supported_operators

    names, parsers = _supported_operators.sklearn_operator_name_map, _parse.sklearn_parsers_map
    before = dict(names), dict(parsers)
    register_onnx_converters()
    yield
    for known, old in zip((names, parsers), before, strict=True):
        known.clear()
        known.update(old)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-9)])
def test_classifiers_return_tensors(dtype: Any, tolerance: float) -> None:
    last = KernelStackingClassifier([Gaussian(2.0)])
    steps = make_union(StandardScaler(), SoftClippingScaler())
    model = make_pipeline(steps, StandardScaler(), last).fit(X, classes(X, 2))
    for options in (None, {id(last): {"zipmap": False}}):
        graph = skl2onnx.to_onnx(model, X.astype(dtype), options=options)
        found = run(graph, X=NEW.astype(dtype))
        assert_array_equal(found["label"], model.predict(NEW))
        assert found["probabilities"].dtype == dtype
        assert_allclose(found["probabilities"], model.predict_proba(NEW), atol=tolerance)


def test_two_models_in_one_process() -> None:
    """Compressed and not, with operators before and after those of skl2onnx."""
    model = make_pipeline(StandardScaler(), fitted("regression", "stacking"))
    model[0].fit(X)
    for one in (model, compress(model[-1], X, n_components=20)):
        graph = skl2onnx.convert_sklearn(
            one, initial_types=skl2onnx.common.data_types.guess_data_type(X), target_opset=18
        )
        (found,) = run(graph, input=NEW).values()
        assert_allclose(found[:, 0], one.predict(NEW), atol=1e-9)


def test_older_operators_are_refused() -> None:
    with pytest.raises(ValueError, match="Models of mercer need target_opset=18 or more"):
        skl2onnx.to_onnx(fitted("regression", "two-stage"), X, target_opset=15)
