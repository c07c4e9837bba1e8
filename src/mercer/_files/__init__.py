"""Saved models, and exports of models to small estimators and ONNX graphs."""
