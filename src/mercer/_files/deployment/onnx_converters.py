"""Loading of the converters of transformers that are not of scikit-learn."""

import sys


def load_converters() -> None:
    """Load the converters of skrub's transformers if one can exist, because skrub is imported."""
    if "skrub" in sys.modules:
        import mercer._files.deployment.onnx_skrub
        import mercer._files.deployment.onnx_table_encoder  # noqa: F401
