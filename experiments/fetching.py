"""Fetches the public data sets of the experiments into the folder that MERCER_DATA names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from scipy.io import loadmat
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from experiments.problems import Array

# Of each set: its shape, the number of samples of each label, a digest of its rows, and where it
# is public: identifiers on OpenML (of several views, in their order), a name in the archive of
# `BENCHMARKS`, or, where it is not public in this form, why.
PUBLIC: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("public_sets.json").read_text(encoding="utf-8")
)
# The two-class benchmarks of G. Rätsch, T. Onoda and K.-R. Müller, in one archive.
BENCHMARKS = (
    "https://github.com/tdiethe/gunnar_raetsch_benchmark_datasets/raw/master/benchmarks.mat"
)
# Features are compared up to this number of decimals.
DECIMALS = 4

# Functions from an identifier to a data set of OpenML, and from an address to the bytes there.
FromOpenml = Callable[[int], Bunch]
FromAddress = Callable[[str], bytes]


def from_openml(identifier: int) -> Bunch:
    """Fetch a data set of OpenML, with scikit-learn's cache."""
    return fetch_openml(data_id=identifier, as_frame=False, parser="liac-arff")


def from_address(address: str) -> bytes:
    """Return the bytes at an address."""
    with urlopen(address, timeout=60) as answer:
        found: bytes = answer.read()
    return found


def public_names() -> list[str]:
    """Return the names of the sets that have a public source."""
    return [name for name, entry in PUBLIC.items() if "missing" not in entry]


def fetch_sets(
    folder: Path,
    names: Sequence[str] = (),
    *,
    openml: FromOpenml = from_openml,
    address: FromAddress = from_address,
) -> Iterator[str]:
    """Write data sets that are not in the folder yet, and yield a line on each.

    Parameters
    ----------
    folder : Path
        The folder, which is made if it does not exist.
    names : sequence of str, default=()
        The sets; all that are public without names.
    openml : callable, default=from_openml
    address : callable, default=from_address

    Raises
    ------
    ValueError
        If a set is not known, or is not what the experiments were run with.
    OSError
        If a source cannot be reached.
    """
    entries = {name: entry_of(name) for name in names or public_names()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, entry in entries.items():
        path = folder / f"{name}.npz"
        if path.exists():
            yield f"{name}: there already"
            continue
        try:
            arrays, source = arrays_of(entry, openml, address)
        except URLError as error:
            raise OSError(
                f"data set {name!r} could not be fetched ({error.reason}); fetching needs a network"
            ) from error
        note = checked(name, entry, arrays)
        write_arrays(path, arrays)
        write_index(folder, name, source)
        yield f"{name}: fetched from {source}{note}"


def entry_of(name: str) -> dict[str, Any]:
    """Return what is known of a set that has a public source."""
    if name not in PUBLIC:
        raise ValueError(f"no data set {name!r}; there are: {', '.join(PUBLIC)}")
    if "missing" in PUBLIC[name]:
        raise ValueError(f"data set {name!r} has no public source: {PUBLIC[name]['missing']}")
    return PUBLIC[name]


def arrays_of(
    entry: dict[str, Any], openml: FromOpenml, address: FromAddress
) -> tuple[dict[str, Array], str]:
    """Return the arrays of a set and the name of its source."""
    if "benchmark" in entry:
        file: Any = BytesIO(address(BENCHMARKS))
        found = loadmat(file, squeeze_me=True, struct_as_record=False)
        part = found[entry["benchmark"]]
        arrays = {"X": np.asarray(part.x, dtype=float), "y": np.asarray(part.t)}
        source = BENCHMARKS
    else:
        arrays = of_openml([openml(identifier) for identifier in entry["openml"]], entry)
        source = "OpenML " + ", ".join(map(str, entry["openml"]))
    if "rows" in entry:
        rows = np.concatenate([np.arange(*part) for part in entry["rows"]])
        arrays |= {name: arrays[name][rows] for name in ("X", "y")}
    if "counts" in entry:
        arrays["y"] = labels(arrays["y"], entry["counts"], entry["labels"])
    return arrays, source


def of_openml(bunches: Sequence[Bunch], entry: dict[str, Any]) -> dict[str, Array]:
    """Return the columns of one or several data sets of OpenML, and the target of the first."""
    columns: list[Array] = []
    names: list[str] = []
    views: dict[str, tuple[int, int]] = {}
    for view, bunch in zip(entry.get("views", [""] * len(bunches)), bunches, strict=True):
        kept = [
            k for k, name in enumerate(bunch.feature_names) if name not in entry.get("drop", ())
        ]
        views[view] = (len(names), len(names) + len(kept))
        columns.append(np.asarray(bunch.data)[:, kept].astype(float))
        names += [f"{view}{bunch.feature_names[k]}" for k in kept]
    X, y = np.hstack(columns), np.asarray(bunches[0].target)
    arrays = {"X": X, "y": y, "feature_names": np.array(names)}
    if "views" in entry:
        arrays["views"] = np.array(json.dumps(views))
    return arrays if "counts" in entry else {**arrays, "y": y.astype(float)}


def labels(found: Array, counts: dict[str, int], kind: str) -> Array:
    """Return labels spelled as in the records: by name, by frequency, or by their order.

    Raises
    ------
    ValueError
        If the classes do not have the frequencies that are known.
    """
    names = [str(name).strip() for name in found]
    sizes = {name: names.count(name) for name in dict.fromkeys(names)}
    if sorted(sizes.values()) != sorted(counts.values()):
        raise ValueError(
            f"classes have {sorted(sizes.values())} samples in place of {sorted(counts.values())}"
        )
    if sizes == counts:
        spelled = {name: name for name in sizes}
    elif len(set(counts.values())) == len(counts):
        by_size = {size: name for name, size in counts.items()}
        spelled = {name: by_size[size] for name, size in sizes.items()}
    else:
        ordered = sorted(sizes, key=lambda name: float(name) if is_number(name) else name)
        spelled = dict(zip(ordered, counts, strict=True))
    return np.array([spelled[name] for name in names]).astype(kind)


def is_number(name: str) -> bool:
    """Return whether a label is a number."""
    return name.lstrip("-").replace(".", "", 1).isdigit()


def digest(X: Array) -> str:
    """Return a digest of the rows in any order, up to `DECIMALS` decimals."""
    rounded = np.round(np.asarray(X, dtype=float), DECIMALS) + 0.0
    rows = sorted(row.astype(np.float32).tobytes() for row in rounded)
    return hashlib.sha256(b"".join(rows)).hexdigest()[:16]


def checked(name: str, entry: dict[str, Any], arrays: dict[str, Array]) -> str:
    """Check the shape of a set, and return a note if its values are others than in the records."""
    shape = tuple(arrays["X"].shape)
    if shape != tuple(entry["shape"]):
        raise ValueError(f"data set {name!r} has the shape {shape}, not {tuple(entry['shape'])}")
    same = digest(arrays["X"]) == entry["digest"]
    return "" if same else "; its values differ from those that the records were made with"


def write_arrays(path: Path, arrays: dict[str, Array]) -> None:
    """Write a set under another name first, so that it is never incomplete."""
    aside = path.with_suffix(".part")
    with aside.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    aside.replace(path)


def write_index(folder: Path, name: str, source: str) -> None:
    """Add a set to the folder's index, which says where each comes from."""
    path = folder / "index.json"
    entries = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    entries[name] = {"source": source}
    aside = path.with_suffix(".part")
    aside.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    aside.replace(path)
