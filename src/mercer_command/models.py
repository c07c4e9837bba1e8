"""The models that the command saves and loads."""

from __future__ import annotations

from pathlib import Path

from sklearn.pipeline import Pipeline

import mercer
from mercer_command.errors import InputError
from mercer_command.files import replacing


def save_model(model: Pipeline, path: Path) -> None:
    """Write a fitted model; an interruption leaves the old file or the new one."""
    with replacing(path) as temporary:
        mercer.save(model, temporary)


def load_model(path: Path) -> Pipeline:
    """Read a model written by `save_model`.

    Raises
    ------
    InputError
        If the file is missing, is not such a model, or holds types that are not trusted, in which
        case nothing is loaded.
    """
    if not path.is_file():
        raise InputError(f"there is no model file {path}")
    try:
        model = mercer.load(path)
    except ValueError as error:
        raise InputError(str(error)) from error
    if not (isinstance(model, Pipeline) and hasattr(model, "feature_names_in_")):
        raise InputError(f"{path} holds a {type(model).__name__}, not a model of mercer fit")
    return model
