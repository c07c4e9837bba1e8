"""Deployment of fitted models as small predictors and in other runtimes."""

from mercer._files.deployment.compressed import compress
from mercer._files.deployment.onnx_export import to_onnx

__all__ = ["compress", "to_onnx"]
