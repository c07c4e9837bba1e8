"""Clusters of the largest dependence on the samples, beside k-means and spectral clustering."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
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
