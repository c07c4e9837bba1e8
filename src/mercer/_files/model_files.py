"""Models on disk: skops archives with a checksum, whose contents are checked before loading."""

import hashlib
import json
import os
import re
import sys
from io import BufferedReader, BytesIO
from os import PathLike
from pathlib import Path
from typing import BinaryIO
from zipfile import ZIP_STORED, ZipFile, is_zipfile

import numpy as np
from sklearn.base import BaseEstimator

from mercer._data.validation import check_bool, warn
from mercer._files.model_archives import SCHEMA, checked_archive
from mercer._files.model_checks import check_values, objects_in
from mercer._files.model_descriptions import compacted
from mercer._files.model_types import UntrustedTypesError
from mercer._files.replacing import replacing


def save(model: BaseEstimator, path: str | PathLike[str], *, complete: bool = True) -> None:
    """Save a fitted model to a file that `load` reads.

    This needs ``pip install "mercer[cli]"``.

    Parameters
    ----------
    model : estimator
        An estimator of mercer, or a pipeline of scikit-learn that ends in one.
    path : str or path-like
        The file, which is replaced if it exists, but only by a complete and checked file. If the
        model is refused, the disk is full or the process is killed, the old file remains.
    complete : bool, default=True
        Whether to compute left-out predictions before saving, if they have not been computed yet.
        For stacks, this takes one to four times as long as the fit. Without these predictions, a
        loaded stack has no `loo_predictions_`, `loo_score_`, intervals or prediction sets, and a
        regressor cannot be updated; an `MKLClassifier` has no probabilities and prediction sets.
        Kernel machines that were fitted without a Gram matrix have no `alignment_`.

    Raises
    ------
    ModuleNotFoundError
        If skops is not installed.
    OSError
        If the file cannot be written.
    ValueError
        If the model could not be loaded again, because it contains types that are not trusted,
        attributes that an estimator sets neither in `__init__` nor in `fit`, or missing or infinite
        values in fitted attributes; or if the path is a device or a pipe.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mercer
    >>> from mercer.datasets import make_sine
    >>> X, y = make_sine(40, random_state=0)
    >>> model = mercer.TwoStageClassifier(C=1.0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     mercer.save(model, Path(folder, "model.skops"))
    ...     mercer.load(Path(folder, "model.skops"))
    TwoStageClassifier(C=1.0)
    """
    import skops.io  # noqa: F401  Its absence is noticed before anything is computed.

    from mercer._model_selection.deferred import Deferred, without_inputs

    check_bool("complete", complete)
    for found in [one for _, one in objects_in(model)]:
        if complete and isinstance(found, Deferred):
            found()
        if isinstance(found, np.ndarray) and found.dtype == object and found.ndim != 1:
            restored = np.array(found.tolist(), dtype=object)  # skops saves nested lists.
            if restored.shape != found.shape:
                raise ValueError(f"an array of objects of shape {found.shape} cannot be saved")
    with without_inputs():
        content, description = _described(model)
    with replacing(Path(path)) as temporary:
        _write_compactly(content, description, temporary)
        add_checksum(temporary)
        with temporary.open("rb") as file:
            _read(file)


def load(path: str | PathLike[str]) -> BaseEstimator:
    """Load a model that was saved by `save` or ``mercer fit --out``.

    This needs ``pip install "mercer[cli]"``. A file that was written by skops itself is rejected:
    if you trust it, load it with ``skops.io.load``, and save its model with `save`. skops loads the
    model after `load` has checked that the file holds only mercer's own objects and objects of
    trusted classes of scikit-learn and skrub.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        The fitted model. A model saved by the command is a pipeline, whose ``predict`` takes a data
        frame with the columns of the training table, as text or typed, in any order. If the target
        is a date, ``predict`` returns days since 1970.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    MemoryError
        If the arrays of the model do not fit into memory.
    ModuleNotFoundError
        If skops is not installed, or if the command saved the model and the packages of the command
        are not installed.
    ValueError
        If the file is not such a model, is damaged or was changed, names no version of mercer, or
        contains types that are not trusted or attributes that its types do not have; or if mercer
        0.3 or an older version saved it. In all these cases, nothing is loaded.

    Warns
    -----
    UserWarning
        If another version of mercer saved the model.

    Notes
    -----
    The checksum detects accidental changes only, because anyone can compute a new one. The contents
    are therefore checked as well: sizes before anything is decompressed; kinds, types and names of
    attributes before skops creates any object; and values and indices before they are used.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mercer
    >>> from mercer.datasets import make_sine
    >>> X, y = make_sine(40, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.skops")
    ...     mercer.save(mercer.TwoStageClassifier(C=1.0).fit(X, y), path)
    ...     mercer.load(path)
    TwoStageClassifier(C=1.0)
    """
    path, other = Path(path), ""
    if path.exists() and not (path.is_file() or path.is_dir()):
        # Reading from a pipe may block forever.
        raise ValueError(f"{path} is a pipe or a device, not a file")
    with path.open("rb") as file:
        try:
            version = saved_by(file)
            if version != _made_by():
                other = f" (saved by {version}, this is {_made_by()})"
            model = _read(file)
        except UntrustedTypesError as error:
            raise ValueError(f"{path} is not loaded: {error}{other}") from error
        except (MemoryError, ImportError):
            raise
        except Exception as error:
            reason = _reason(error) + other
            raise ValueError(f"{path} is not a model of mercer fit: {reason}") from error
    if other:
        warn(f"{path} may not predict, or not as it did{other}. Fit the model again.")
    return model


def _read(file: BufferedReader) -> BaseEstimator:
    """Return the model in an archive, after checking what it consists of."""
    import skops.io

    model = skops.io.load(file, trusted=sorted(checked_archive(file).types))
    check_values(model)
    return model


def _described(model: BaseEstimator) -> tuple[BytesIO, str]:
    """Return an archive of the arrays of a model, and the description of its objects.

    This is what `skops.io.dumps` does, which indents the description: that takes ten times as long
    as all else if there are as many objects as words in a vocabulary.
    """
    from skops.io._utils import SaveContext, get_state

    content = BytesIO()
    with ZipFile(content, "w") as archive:
        context = SaveContext(archive)
        return content, json.dumps(get_state(model, context) | {"protocol": context.protocol})


def _write_compactly(content: BytesIO, description: str, path: Path) -> None:
    """Write an archive with a short description of its objects."""
    schema = compacted(description)
    with ZipFile(content) as archive, ZipFile(path, "w", ZIP_STORED) as written:
        for name in sorted(set(re.findall(r'"file":"([^"]*)"', schema))):
            written.writestr(name, archive.read(name))
        written.writestr(SCHEMA, schema)


def _reason(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    own = type(error) is ValueError and first
    return first if own else f"{type(error).__name__}{': ' if first else ''}{first}"


_LABEL = b"mercer model, version 2; SHA-256 of all bytes before these 64 digits: "
"""Text that precedes the digest in the comment of the archive. Version 1, of mercer 0.3 and older,
repeats objects in the description."""

_N_DIGITS = len(hashlib.sha256().hexdigest())
"""Number of hexadecimal digits of a digest."""

_END = re.compile(
    rb"(?:(mercer [\w.+!-]{1,40}); )?" + _LABEL.replace(b"2", rb"(\d+)", 1) + rb"(.{64})\Z", re.S
)
"""The end of a model file: the version of mercer, the version of the format, and the digest."""


def add_checksum(path: Path) -> None:
    """Add the version of mercer and a checksum to a zip file, which remains valid."""
    with ZipFile(path, "a") as archive:
        archive.comment = f"{_made_by()}; ".encode() + _LABEL + b"0" * _N_DIGITS
    with path.open("rb+") as file:
        digest = _digest(file, path.stat().st_size - _N_DIGITS)
        file.seek(-_N_DIGITS, os.SEEK_END)
        file.write(digest)


def _made_by() -> str:
    return f"mercer {sys.modules['mercer'].__version__}"


def saved_by(file: BinaryIO) -> str:
    """Return the version that saved a file, after checking that the file ends with its checksum.

    Parameters
    ----------
    file : binary file
        A binary file, whose position is at the first byte afterwards.

    Raises
    ------
    ValueError
        If there is no checksum, or if it does not match the content; if no version is named, or one
        with another format.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1024))
    if (found := _END.search(file.read())) is None:
        told = "it does not end with the checksum of a saved model"
        if is_zipfile(file):
            told += (
                "; if it is a file of skops that you trust, load it with skops.io.load, and save "
                "the model with mercer.save"
            )
        raise ValueError(told)
    if _digest(file, size - _N_DIGITS) != found[3]:
        raise ValueError("its checksum is that of other bytes: the file is damaged or was changed")
    if found[1] is None:
        raise ValueError("it does not say which version of mercer saved it")
    version = found[1].decode("ascii")
    if found[2] != b"2":
        raise ValueError(f"{version} saved it; load it with that version, or fit the model again")
    file.seek(0)
    return version


def _digest(file: BinaryIO, n_bytes: int, chunk_size: int = 2**20) -> bytes:
    """Return the digest of the first bytes of a file, which is read in chunks."""
    total = hashlib.sha256()
    file.seek(0)
    for start in range(0, n_bytes, chunk_size):
        total.update(file.read(min(n_bytes - start, chunk_size)))
    return total.hexdigest().encode()
