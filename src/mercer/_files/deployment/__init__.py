"""Deployment of fitted models as small predictors and in other runtimes."""

from mercer._files.deployment.compressed import compress
from mercer._files.deployment.onnx_export import to_onnx
from mercer._files.deployment.onnx_registration import register_onnx_converters

__all__ = ["compress", "register_onnx_converters", "to_onnx"]
