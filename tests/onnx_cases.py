"""Graphs of fitted models beside the models, and parts of graphs."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier

from mercer._files.deployment.onnx_export import onnx_inputs

onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")


def run(graph: Any, table: Any) -> dict[str, np.ndarray]:
    """Outputs of a valid graph, by name."""
    onnx.checker.check_model(graph, full_check=True)
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, onnx_inputs(graph, table)), strict=True))


def compared(model: Any, graph: Any, table: Any, tolerance: float) -> None:
    """Compare all outputs of a graph with what the model predicts."""
    found = run(graph, table)
    if not is_classifier(model):
        expected = np.reshape(model.predict(table), (len(found["variable"]), -1))
        assert list(found) == ["variable"]
        assert_allclose(found["variable"], expected, atol=tolerance * expected.std())
        return
    assert_array_equal(found["label"], model.predict(table))
    if hasattr(model, "predict_proba") and "probabilities" in found:
        assert_allclose(found["probabilities"], model.predict_proba(table), atol=tolerance)
        assert list(found) == ["label", "probabilities"]
