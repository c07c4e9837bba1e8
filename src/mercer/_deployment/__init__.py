"""Fitted models as others run them: small, in other runtimes, and with further rows."""

from mercer._deployment.compressed import compress
from mercer._deployment.onnx_export import to_onnx

__all__ = ["compress", "to_onnx"]
