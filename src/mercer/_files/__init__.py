"""Saved models, and models as small estimators and as ONNX graphs."""
