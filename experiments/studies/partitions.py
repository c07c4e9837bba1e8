"""Clusters of the largest dependence on the samples, beside k-means and spectral clustering."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from experiments.experiment import Draw, Experiment, Measures, Method
from experiments.problems import Array, whole
from experiments.reporting.results import Results, compare_methods
from experiments.reporting.section import Claim, judged, mean_and_deviation, table_of
from mercer import HSICClustering, MultipleKernelClustering
from mercer.kernels._distances import median_distance

SETS = ("digits", "segment", "vehicle", "zoo", "ecoli", "dermatology")
SMALL_SETS = ("zoo", "ecoli")


@dataclass(frozen=True)
class Unlabeled:
    """Features in [0, 1], classes to compare clusters with, and a seed."""

    X: Array
    y: Array
    seed: int

    @property
    def n_classes(self) -> int:
        """The number of classes, which is also that of clusters."""
        return len(np.unique(self.y))


def drawn(name: str) -> Draw:
    """Return the draw of a set; the repeat seeds the methods."""

    def draw(repeat: int) -> Unlabeled:
        X, y = load_digits(return_X_y=True) if name == "digits" else whole(name)
        scale = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
        return Unlabeled(scale.fit_transform(X), y, repeat)

    return draw


def clustered(model: Callable[[Unlabeled], Any]) -> Method:
    """Return a method that measures the adjusted Rand index of clusters and classes."""

    def measure(data: Unlabeled) -> Measures:
        estimator = model(data).set_params(random_state=data.seed)
        with warnings.catch_warnings():
            # The graph of neighbors may be disconnected, and samples may coincide.
            warnings.simplefilter("ignore")
            estimator.fit(data.X)
        return {"index": adjusted_rand_score(data.y, estimator.labels_)}

    return measure


def experiment(small: bool) -> Experiment:
    """Declare six sets, with as many clusters as classes."""
    models: dict[str, Callable[[Unlabeled], Any]] = {
        "HSIC": lambda data: HSICClustering(data.n_classes),
        "HSIC, linear kernel": lambda data: HSICClustering(data.n_classes, "linear"),
        "multiple kernels": lambda data: MultipleKernelClustering(None, data.n_classes),
        "k-means": lambda data: KMeans(data.n_classes, n_init=10),
        "spectral": lambda data: SpectralClustering(data.n_classes),
        "spectral, median width": lambda data: SpectralClustering(
            data.n_classes, gamma=median_distance(data.X) ** -2.0
        ),
        "spectral, neighbors": lambda data: SpectralClustering(
            data.n_classes, affinity="nearest_neighbors"
        ),
    }
    return Experiment(
        title="Clusters of the largest dependence",
        source="Wang & Li (2018), section 3.1, equation 7, without figures there",
        problems={name: drawn(name) for name in (SMALL_SETS if small else SETS)},
        methods={name: clustered(model) for name, model in models.items()},
    )


METHODS = ("HSIC", "HSIC, linear kernel", "multiple kernels")
OTHERS = ("k-means", "spectral", "spectral, median width", "spectral, neighbors")
# Clusters are counted as comparable within this many points of the index.
NEAR = 5.0


def indices(results: Results) -> str:
    """Return the adjusted Rand indices."""
    return table_of(
        "set",
        results.problems,
        (*METHODS, *OTHERS),
        lambda p, method: mean_and_deviation(results.values("index", p, method), 100.0),
    )


def comparable(results: Results, method: str, statement: str) -> Claim | None:
    """Return the claim that a method finds clusters as good as those of k-means."""
    means = 100.0 * results.means("index")
    problems = results.tried("index", method, "k-means")
    signs = [compare_methods(results, "index", p, method, "k-means").sign for p in problems]
    within = [bool(means[method][p] >= means["k-means"][p] - NEAR) for p in problems]
    best = [means.loc[p, list(OTHERS)].max() - means[method][p] <= NEAR for p in problems]
    return judged(
        statement,
        "Wang & Li 2018, sections 3.1 and 5",
        f"On each set, the adjusted Rand index is at most {NEAR:g} points below that of k-means; "
        "the paper reports no figures and names no measure.",
        within,
        f"on {sum(within)} of {len(within)} sets; the index is significantly above that of k-means "
        f"on {signs.count(1)} sets and significantly below on {signs.count(-1)}; it is at most "
        f"{NEAR:g} points below that of the best of {len(OTHERS)} baselines on {sum(best)}",
        why="The index compares clusters with classes, which no method of clustering sees; the "
        "order of the baselines, too, differs from set to set.",
        explained=True,
    )


CLAIMS = (
    partial(
        comparable, method="HSIC", statement="The framework is directly applied to clustering."
    ),
    partial(
        comparable,
        method="multiple kernels",
        statement="It gives an algorithm of clustering with multiple kernels.",
    ),
)
