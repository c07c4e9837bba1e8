"""Saving and loading of models by skops, which runs no code but that of mercer and scikit-learn."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipFile

from mercer._gram.tiles import available_memory
from mercer._saved_models.archive_checks import UntrustedTypesError, check_archive
from mercer._saved_models.checksums import add_checksum, check_checksum
from mercer._saved_models.fitted_checks import check_fitted
from mercer._saved_models.model_types import is_trusted, trusted_types

_COPIES = 2
"""While a model is loaded, its arrays are in memory this many times."""


def write_model(model: Any, path: Path) -> None:
    """Write a fitted model to a new file.

    Parameters
    ----------
    model : estimator
        Its own or scikit-learn's objects, such as a pipeline, hold nothing but trusted types.
    path : Path

    Raises
    ------
    ValueError
        If the model could not be loaded again.
    """
    from skops.io import dump

    dump(model, path)
    with path.open("rb") as file:
        _check(file)
    add_checksum(path)


def load_model(path: str | Path) -> Any:
    """Load a model that `mercer fit` saved.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    estimator
        The fitted pipeline.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    MemoryError
        If its arrays do not fit into memory.
    ValueError
        If the file is not such a model, is damaged or was changed, or holds types that are not
        trusted, in which case nothing is loaded.

    Notes
    -----
    A checksum finds every change by accident. Whoever changes a model on purpose can compute a new
    one, so that the contents are checked as well: sizes before anything is inflated, types by name
    before anything is loaded, and indices before compiled code uses them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mercer import TwoStageClassifier
    >>> from mercer.datasets import make_sine
    >>> X, y = make_sine(40, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     write_model(TwoStageClassifier(C=1.0).fit(X, y), Path(folder, "model.skops"))
    ...     load_model(Path(folder, "model.skops"))
    TwoStageClassifier(C=1.0)
    """
    from skops.io import load

    path = Path(path)
    with path.open("rb") as file:
        try:
            check_checksum(file)
            _check(file)
            file.seek(0)
            model = load(file, trusted=list(trusted_types()))
            check_fitted(model)
        except UntrustedTypesError as error:
            raise ValueError(f"{path} is not loaded: {error}") from error
        except (MemoryError, ImportError):
            raise
        except Exception as error:
            raise ValueError(f"{path} is not a model of mercer fit: {_reason(error)}") from error
    return model


def _check(file: BinaryIO) -> None:
    """Check an archive before it is loaded."""
    size, available = file.seek(0, os.SEEK_END), available_memory()
    if available is not None and _COPIES * size > available:
        raise MemoryError(f"a model of {size:,} bytes takes more memory than there is")
    file.seek(0)
    with ZipFile(file) as archive:
        check_archive(archive, size, is_trusted)


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    own = type(error) is ValueError and lines
    return lines[0] if own else f"{type(error).__name__}{': ' if lines else ''}{''.join(lines[:1])}"
