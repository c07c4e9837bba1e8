"""Saving and loading of models, whose modules are imported when one is saved or loaded."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any


def save(model: Any, path: str | PathLike[str]) -> None:
    """Save a fitted model to a file that `load` reads.

    The extra ``cli`` has to be installed.

    Parameters
    ----------
    model : estimator
        An estimator of mercer, or a pipeline of scikit-learn that ends in one.
    path : str or path-like
        The file, which is replaced if it exists.

    Raises
    ------
    ModuleNotFoundError
        If skops is not installed.
    ValueError
        If the model holds types that are not trusted, so that it could not be loaded again.

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
    from mercer._saved_models import write_model

    write_model(model, Path(path))


def load(path: str | PathLike[str]) -> Any:
    """Load a model that `save` or ``mercer fit --out`` saved.

    The extra ``cli`` has to be installed. Nothing but types of mercer, and of scikit-learn as far
    as they are trusted, is loaded.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        The fitted model. That of the command is a pipeline, whose ``predict`` takes a data frame
        with the columns of the training table, of text or of types, in any order. Where the target
        is a date, it returns days since 1970.

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
    >>> X, y = make_sine(40, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.skops")
    ...     mercer.save(mercer.TwoStageClassifier(C=1.0).fit(X, y), path)
    ...     mercer.load(path)
    TwoStageClassifier(C=1.0)
    """
    from mercer._saved_models import load_model

    return load_model(str(path))
