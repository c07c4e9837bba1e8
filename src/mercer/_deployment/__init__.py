"""Fitted models as others run them: small, in other runtimes, and with further rows."""

from mercer._deployment.compressed import compress
from mercer._deployment.onnx_export import onnx_inputs, to_onnx

__all__ = ["compress", "onnx_inputs", "to_onnx"]
