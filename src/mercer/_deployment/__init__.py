"""Fitted models as others run them: small, in other runtimes, and with further rows."""

from mercer._deployment.compressed_models import CompressedClassifier, CompressedRegressor, compress
from mercer._deployment.onnx_export import to_onnx

__all__ = ["CompressedClassifier", "CompressedRegressor", "compress", "to_onnx"]
