"""Loader of the public data sets of the experiments, by name: from a folder, or from OpenML."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

# What is known of data sets and tables: numbers of rows, where experiments need them, whether
# targets are classes, and identifiers on OpenML of those that are the same there. Tables are files
# of their own; "mixed" ones have categories or missing values.
KNOWN: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("known_sets.json").read_text(encoding="utf-8")
)
OPENML_IDS = {name: entry["openml"] for name, entry in KNOWN.items() if "openml" in entry}


def load_data_set(name: str) -> Bunch:
    """Load a benchmark set by name.

    The set is the file ``<name>.npz`` in the folder that the environment variable ``MERCER_DATA``
    names. Where the variable is not set, the sets that OpenML has are fetched from there (with
    scikit-learn's cache); those are australian, banana, dermatology, diabetes_pima, ecoli, heart,
    ionosphere, kin8nm, letter, segment, sonar, spambase, vehicle, waveform40 and yeast. OpenML
    spells some labels differently and may order the rows differently.

    Parameters
    ----------
    name : str
        Name of the set.

    Returns
    -------
    Bunch
        With attributes ``data`` (ndarray or sparse array of shape (n_samples, n_features)),
        ``target`` (ndarray of shape (n_samples,)), ``feature_names`` (list of str, or None where
        they are not known), ``DESCR`` (where the set comes from) and, for a set made of several
        views, ``views`` (dict from the view's name to the slice of its columns).

    Raises
    ------
    FileNotFoundError
        If ``MERCER_DATA`` names no folder.
    ValueError
        If there is no set of this name; the message lists the names that there are.
    """
    folder = os.environ.get("MERCER_DATA")
    return _read(Path(folder), name) if folder else _fetch(name)


def _read(folder: Path, name: str) -> Bunch:
    """Read one set from a folder of npz files."""
    if not folder.is_dir():
        raise FileNotFoundError(f"MERCER_DATA names no folder: {folder}")
    paths = {path.stem: path for path in folder.glob("*.npz")}
    if name not in paths:
        raise ValueError(f"no data set {name!r} in MERCER_DATA; there are: {_listing(paths)}")
    with np.load(paths[name]) as archive:
        arrays = dict(archive)
    names = arrays.get("feature_names")
    bunch = Bunch(
        data=_features(arrays),
        target=arrays["y"],
        feature_names=None if names is None else names.tolist(),
        DESCR=_source(folder, name),
    )
    if "views" in arrays:
        views = json.loads(str(arrays["views"]))
        bunch["views"] = {view: slice(*columns) for view, columns in views.items()}
    return bunch


def _features(arrays: dict[str, NDArray[Any]]) -> NDArray[Any] | csr_array:
    """Return the dense matrix ``X``, or the sparse one stored as its three arrays."""
    if "X" in arrays:
        return arrays["X"]
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    return csr_array(parts, shape=tuple(arrays["shape"].tolist()))


def _source(folder: Path, name: str) -> str:
    """Look up where a set comes from in the folder's index, which may be missing."""
    index = folder / "index.json"
    entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else {}
    return str(entries.get(name, {}).get("source", name))


def _fetch(name: str) -> Bunch:
    """Fetch one set from OpenML."""
    if name not in OPENML_IDS:
        raise ValueError(
            f"no data set {name!r} on OpenML; there are: {_listing(OPENML_IDS)}. "
            "Set MERCER_DATA to a folder of npz files to load others"
        )
    try:
        return fetch_openml(data_id=OPENML_IDS[name], as_frame=False, parser="liac-arff")
    except URLError as error:
        raise OSError(
            f"data set {name!r} could not be fetched from OpenML ({error.reason}); "
            "set MERCER_DATA to a folder of npz files to do without"
        ) from error


def _listing(names: dict[str, Any]) -> str:
    """Join names, sorted, for a message."""
    return ", ".join(sorted(names)) or "none"
