"""Models on disk: archives with a checksum, whose contents are checked before they are loaded."""

from mercer._saved_models.model_files import load_model, write_model
from mercer._saved_models.model_types import trusted_types

__all__ = ["load_model", "trusted_types", "write_model"]
