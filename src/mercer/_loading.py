"""Loading of saved models, whose modules are imported when a model is loaded."""

from __future__ import annotations

from os import PathLike
from typing import Any


def load(path: str | PathLike[str]) -> Any:
    """Load a model that ``mercer fit --out`` saved.

    The extra ``cli`` has to be installed. Nothing but types of mercer, and of scikit-learn as far
    as they are trusted, is loaded.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Pipeline
        The fitted model. Its ``predict`` takes a data frame with the columns of the training
        table, of text or of types, in any order. Where the target is a date, it returns days since
        1970.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModuleNotFoundError
        If skops is not installed.
    ValueError
        If the file is not such a model, is damaged or was changed, or holds types that are not
        trusted, in which case nothing is loaded.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mercer
    >>> from mercer.datasets import make_sine
    >>> from mercer._saved_models import write_model
    >>> X, y = make_sine(40, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.skops")
    ...     write_model(mercer.TwoStageClassifier(C=1.0).fit(X, y), path)
    ...     mercer.load(path)
    TwoStageClassifier(C=1.0)
    """
    from mercer._saved_models import load_model

    return load_model(str(path))
