"""Clusters found by one kernel and by several, beside scikit-learn's.

    MERCER_DATA=/path/to/sets python benchmarks/clustering.py [NAME ...] [--repeats R]

Features are scaled to [0, 1], missing values filled with the median, and the number of clusters is
that of the classes. Each repeat is another seed. ARI is the adjusted Rand index with the classes,
in %, mean and standard error over the seeds; times are medians, relative to that of scikit-learn's
`SpectralClustering` in the first line.

sets
    `HSICClustering`, `MultipleKernelClustering` (20 widths) and scikit-learn's `KMeans` and
    `SpectralClustering` on digits, segment, vehicle, zoo, ecoli and dermatology. "median" is a
    Gaussian kernel as wide as the median distance, the default of `HSICClustering`; each method
    has 10 starts.
views
    Six feature families of 2,000 digits (mfeat), standardized: `MultipleKernelClustering` with one
    Gaussian kernel a family, by its penalty and its starts, beside single families, the sum of
    kernels of trace one, and scikit-learn's methods on all features together. The default kernel
    of `SpectralClustering` is left out, since it is the identity there.
widths
    ARI of `HSICClustering` by the rule that chooses the width without labels: multiples of the
    median distance, a small quantile of distances, a nearest-neighbor distance, and the width at
    which the kernel is best aligned with its own clusters. At most 1,000 samples.
starts
    The objective relative to the kernel's trace, and time, from one start: seeds, eigenvectors,
    and with a linear kernel `KMeans`.

`--repeats` is how many seeds there are.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from common import Array, Labels, load_data_set, mean_and_error, print_table, run_named, seconds
from sklearn.base import clone
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer, MinMaxScaler, StandardScaler

from mercer import HSICClustering, MultipleKernelClustering
from mercer.kernels import Gaussian, OnColumns
from mercer.kernels._distances import median_distance, squared_distances

SETS = ("digits", "segment", "vehicle", "zoo", "ecoli", "dermatology")
FACTORS = (0.25, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0)
MOST_SAMPLES = 1000
PENALTIES = (0.0, 0.1, 1.0, 10.0)


@cache
def scaled_set(name: str) -> tuple[Array, Labels]:
    """Return features in [0, 1], and classes 0, 1, ..."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        bunch = load_data_set(name)
        X, y = bunch.data, bunch.target
    steps = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
    return steps.fit_transform(X.astype(np.float64)), np.unique(y, return_inverse=True)[1]


def spectral(n_clusters: int, **settings: Any) -> SpectralClustering:
    """Return scikit-learn's spectral clustering."""
    return SpectralClustering(n_clusters, **settings)


def score(model: Any, X: Any, y: Labels, seed: int) -> tuple[float, float]:
    """Return the adjusted Rand index in %, and seconds."""
    model = clone(model).set_params(random_state=seed)
    with warnings.catch_warnings():
        # The graph of neighbors may be disconnected, and samples may coincide.
        warnings.simplefilter("ignore")
        time = seconds(lambda: model.fit(X))
    return 100.0 * adjusted_rand_score(y, model.labels_), time


def table(title: str, models: Mapping[str, tuple[Any, Any]], y: Labels, repeats: int) -> None:
    """Print index and time of models, each with its own features; the first time is the unit."""
    found = {
        name: np.array([score(model, X, y, seed) for seed in range(repeats)])
        for name, (model, X) in models.items()
    }
    unit = np.median(next(iter(found.values()))[:, 1])
    rows = [
        [name, mean_and_error(values[:, 0]), f"{np.median(values[:, 1]) / unit:.2f}"]
        for name, values in found.items()
    ]
    print_table(title, ["", "ARI", "time"], rows)


def sets(options: argparse.Namespace) -> None:
    """Compare one kernel, and a dictionary of widths, with other methods on six sets."""
    for name in SETS:
        X, y = scaled_set(name)
        k = int(y.max()) + 1
        gamma = median_distance(X) ** -2.0
        models = {
            "SpectralClustering": spectral(k),
            "SpectralClustering, median": spectral(k, gamma=gamma),
            "SpectralClustering, neighbors": spectral(k, affinity="nearest_neighbors"),
            "KMeans": KMeans(k, n_init=10),
            "HSICClustering": HSICClustering(k),
            "HSICClustering, spectral": HSICClustering(k, method="spectral"),
            "MultipleKernelClustering": MultipleKernelClustering(None, k),
        }
        title = f"{name}: {len(y)} samples, {k} clusters, {options.repeats} seeds"
        table(title, {key: (model, X) for key, model in models.items()}, y, options.repeats)


def views(options: argparse.Namespace) -> None:
    """Compare several kernels on six feature families with other methods."""
    bunch = load_data_set("mfeat")
    X = StandardScaler().fit_transform(bunch.data.astype(np.float64))
    y = np.unique(bunch.target, return_inverse=True)[1]
    parts = {name: X[:, columns] for name, columns in bunch.views.items()}
    grams = [KernelCenterer().fit_transform(bound(V)(V)) for V in parts.values()]
    total = sum(K / np.trace(K) for K in grams)
    kernels = [OnColumns(Gaussian("median"), columns) for columns in bunch.views.values()]
    gamma = median_distance(X) ** -2.0
    models: dict[str, tuple[Any, Any]] = {
        "SpectralClustering, median": (spectral(10, gamma=gamma), X),
        "SpectralClustering, neighbors": (spectral(10, affinity="nearest_neighbors"), X),
        "KMeans": (KMeans(10, n_init=10), X),
        "HSICClustering": (HSICClustering(10), X),
        **{f"HSICClustering, {name}": (HSICClustering(10), V) for name, V in parts.items()},
        "HSICClustering, sum of kernels": (HSICClustering(10, "precomputed"), total),
    }
    for penalty in PENALTIES:
        model = MultipleKernelClustering(kernels, 10, weight_penalty=penalty)
        models[f"MultipleKernelClustering, penalty {penalty:g}"] = (model, X)
    for penalty in (0.0, 1.0):
        model = MultipleKernelClustering(
            kernels, 10, weight_penalty=penalty, weights_init="kernels"
        )
        models[f"    every kernel as a start, penalty {penalty:g}"] = (model, X)
    table(f"mfeat: 2000 samples, 10 clusters, {options.repeats} seeds", models, y, options.repeats)


def bound(X: Array) -> Gaussian:
    """Return the default kernel of a table."""
    return Gaussian("median").bind(X)


def widths(options: argparse.Namespace) -> None:
    """Compare rules that choose the width without labels."""
    header = [*(f"{f:g} median" for f in FACTORS), "10 % quantile", "7th neighbor", "aligned"]
    for scaler in (MinMaxScaler(), StandardScaler()):
        rows = []
        for name in SETS:
            X, y = scaled_set(name)
            chosen = np.random.default_rng(0).permutation(len(y))[:MOST_SAMPLES]
            X, y = scaler.fit_transform(X[chosen]), np.unique(y[chosen], return_inverse=True)[1]
            rows.append([name, *_scores_of_rules(X, y, options.repeats)])
        columns = np.array([[float(cell.split()[0]) for cell in row[1:]] for row in rows])
        rows.append(["mean", *(f"{mean:.1f}" for mean in columns.mean(axis=0))])
        print_table(f"Rules for the width: ARI, {type(scaler).__name__}", ["", *header], rows)


def _scores_of_rules(X: Array, y: Labels, repeats: int) -> list[str]:
    """Return the index of the clusters with the width of each rule."""
    k = int(y.max()) + 1
    squared = squared_distances(X)
    positive = np.sqrt(squared[squared > 1e-12 * squared.max()])
    median = median_distance(X)
    neighbor = np.median(np.sqrt(np.sort(squared, axis=1)[:, 7]))
    candidates = [f * median for f in FACTORS] + [np.quantile(positive, 0.1), neighbor]
    indices, alignments = [], []
    for width in candidates:
        models = [
            HSICClustering(k, Gaussian(float(width)), random_state=seed).fit(X)
            for seed in range(repeats)
        ]
        indices.append([100.0 * adjusted_rand_score(y, model.labels_) for model in models])
        alignments.append([model.alignment_ for model in models])
    aligned = np.argmax(alignments[: len(FACTORS)], axis=0)
    indices.append([indices[best][seed] for seed, best in enumerate(aligned)])
    return [mean_and_error(values) for values in indices]


def starts(options: argparse.Namespace) -> None:
    """Compare one start of each kind."""
    rows = []
    for name in SETS:
        X, y = scaled_set(name)
        k = int(y.max()) + 1
        for kernel in ("median", "linear"):
            rows.append([f"{name}, {kernel}", *_one_start(X, k, kernel, options.repeats)])
    header = ["", "seeds", "eigenvectors", "KMeans", "times"]
    print_table("The objective, % of the trace, from one start", header, rows)


def _one_start(X: Array, k: int, kernel: str, repeats: int) -> list[str]:
    """Return the objective from each kind of start, and times relative to seeds."""
    source = bound(X) if kernel == "median" else "linear"
    centered = X - X.mean(axis=0)
    K = KernelCenterer().fit_transform(bound(X)(X) if kernel == "median" else centered @ centered.T)
    trace = float(np.trace(K))
    models: dict[str, Callable[[int], tuple[float, float]]] = {}
    for method in ("greedy", "spectral"):
        model = HSICClustering(k, source, method=method, n_init=1)
        models[method] = lambda seed, model=model: _objective(model, X, seed, trace)
    if kernel == "linear":
        models["KMeans"] = lambda seed: _objective(KMeans(k, n_init=1), X, seed, trace)
    found = {name: np.array([run(seed) for seed in range(repeats)]) for name, run in models.items()}
    values = [mean_and_error(v[:, 0], digits=2) for v in found.values()]
    unit = np.median(found["greedy"][:, 1])
    times = " ".join(f"{np.median(v[:, 1]) / unit:.2f}" for v in found.values())
    return [*values, *["-"] * (3 - len(values)), times]


def _objective(model: Any, X: Array, seed: int, trace: float) -> tuple[float, float]:
    """Return the objective in % of the kernel's trace, and seconds."""
    model = clone(model).set_params(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        time = seconds(lambda: model.fit(X))
    reached = model.objective_ if hasattr(model, "objective_") else trace - model.inertia_
    return 100.0 * reached / trace, time


if __name__ == "__main__":
    benchmarks = {"sets": sets, "views": views, "widths": widths, "starts": starts}
    run_named(__doc__, benchmarks, repeats=(5, "seeds"))
