"""Loading of the converters of transformers that are not of scikit-learn."""

import sys

import mercer._files.deployment.onnx_table_encoder  # noqa: F401


def load_converters() -> None:
    """Load the converters of skrub's transformers if one can exist, because skrub is imported."""
    if "skrub" in sys.modules:
        import mercer._files.deployment.onnx_skrub  # noqa: F401
