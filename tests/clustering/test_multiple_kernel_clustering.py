"""Clusters of several kernels: weights, partition, and what they agree on."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import skops.io
from clustering_reference import agreement, best_agreement, gains, indicators
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, centered_alignment, gaussian
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale
from sklearn.utils import get_tags

from mercer import HSICClustering, KernelWeightsDisplay, MultipleKernelClustering
from mercer.kernels import Gaussian, Laplacian, Linear, OnColumns, WeightedSum

KERNELS: list[Any] = [
    OnColumns(Gaussian("median"), [0, 1]),
    OnColumns(Laplacian(3.0), [2]),
    OnColumns(Linear(), [3, 4]),
    OnColumns(Gaussian(0.5), [5]),
]
CHAIN = np.exp(-((np.arange(4)[:, None] - np.arange(4)) ** 2))
MODELS = {
    "default": MultipleKernelClustering(KERNELS, 4, random_state=0),
    "alignf": MultipleKernelClustering(KERNELS, 4, penalty=0.0, random_state=0),
    "strong": MultipleKernelClustering(KERNELS, 4, penalty=100.0, random_state=0),
    "kernels": MultipleKernelClustering(KERNELS, 4, starts="kernels", random_state=0),
    "chain": MultipleKernelClustering(KERNELS, 4, similarity=CHAIN, random_state=0),
    "widths": MultipleKernelClustering(None, 4, random_state=0),
    "features": MultipleKernelClustering([Linear(per_feature=True)], 4, random_state=0),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def views(n: int = 80, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Four classes: each of three views tells some of them apart, and the last is noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    corners = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
    parts = [corners[y], 5.0 * (y[:, None] % 2), 4.0 * corners[y] / 6.0, np.zeros((n, 1))]
    X = np.column_stack(parts)
    return X + noise * rng.normal(size=X.shape), y


def grams(model: Any, X: np.ndarray) -> list[np.ndarray]:
    """The base kernels of a fitted model, by their own evaluation."""
    return [kernel(X) for kernel in model.kernel_.kernels]


# --- weights and partition --------------------------------------------------------------------


@every_model
def test_fitted_attributes(model: Any) -> None:
    X, _ = views()
    fitted = clone(model).fit(X)
    A = np.eye(4) if model.similarity is None else CHAIN
    kernels, labels = grams(fitted, X), fitted.labels_
    assert isinstance(fitted.kernel_, WeightedSum)
    assert_array_equal(fitted.kernel_.weights, fitted.weights_)
    assert_allclose(fitted.weights_.sum(), 1.0, rtol=1e-12)
    assert (fitted.weights_ >= 0.0).all()
    traces = np.array([np.trace(center(K)) for K in kernels])
    shares = fitted.weights_ * traces / (fitted.weights_ @ traces)
    assert_allclose(fitted.shares_, shares, rtol=1e-8, atol=1e-12)
    expected = agreement(kernels, A, labels, shares, model.penalty)
    assert_allclose(fitted.objective_, expected, rtol=1e-8)
    Y = indicators(labels, 4, True)
    aligned = centered_alignment(fitted.kernel_(X), Y @ A @ Y.T)
    assert_allclose(fitted.alignment_, aligned, rtol=1e-8)
    assert fitted.history_[-1].objective == fitted.objective_
    assert_array_equal(fitted.history_[-1].weights, fitted.weights_)
    assert fitted.n_iter_ == len(fitted.history_)
    assert_array_equal(np.unique(labels), np.arange(4))
    assert_array_equal(clone(model).fit_predict(X), labels)


@every_model
@pytest.mark.parametrize("seed", range(3))
def test_objective_never_falls(model: Any, seed: int) -> None:
    X, _ = views(seed=seed, noise=2.5)
    history = clone(model).set_params(random_state=seed, n_init=1).fit(X).history_
    assert (np.diff([step.objective for step in history]) > 0.0).all()
    assert history[0].n_moved == len(X)


@pytest.mark.parametrize("name", ["default", "alignf", "strong", "kernels", "chain"])
def test_neither_half_can_be_improved(name: str) -> None:
    X, _ = views(n=40, noise=2.0)
    fitted = clone(MODELS[name]).fit(X)
    A = np.eye(4) if fitted.similarity is None else CHAIN
    kernels = grams(fitted, X)
    best = best_agreement(kernels, A, fitted.labels_, fitted.penalty)
    reached = agreement(kernels, A, fitted.labels_, best, fitted.penalty)
    assert_allclose(fitted.objective_, reached, rtol=1e-8)
    assert_allclose(fitted.shares_, best, atol=1e-5)
    K = center(fitted.kernel_(X))
    assert gains(K, A, fitted.labels_).max() <= 1e-8 * np.trace(K)


def test_a_kernel_that_agrees_with_no_other_is_dropped() -> None:
    X, y = views(n=300)
    fitted = clone(MODELS["default"]).fit(X)
    assert adjusted_rand_score(y, fitted.labels_) > 0.95
    assert fitted.shares_[3] < 0.05
    assert fitted.shares_[:3].min() > 0.1


def test_a_kernel_that_is_clustered_already_does_not_take_over() -> None:
    """A noise view in four tight groups is aligned perfectly with them, and with nothing else."""
    X, y = views(n=300, noise=1.5)
    rng = np.random.default_rng(9)
    X[:, 5] = 10.0 * rng.integers(4, size=300) + 0.1 * rng.normal(size=300)
    kernels = [*KERNELS[:3], OnColumns(Gaussian("median"), [5])]
    fitted = MultipleKernelClustering(kernels, 4, random_state=0).fit(X)
    alone = MultipleKernelClustering(kernels[3:], 4, random_state=0).fit(X)
    assert alone.alignment_ > fitted.alignment_
    assert adjusted_rand_score(y, fitted.labels_) > 0.9
    assert fitted.shares_[3] < 0.1


def test_the_penalty_spreads_the_weights() -> None:
    X, _ = views(noise=2.0)
    counts = [
        MultipleKernelClustering(None, 4, penalty=penalty, random_state=0).fit(X).shares_
        for penalty in (0.0, 1.0, 100.0)
    ]
    used = [int((shares > 1e-6).sum()) for shares in counts]
    assert used[0] < used[1] <= used[2] == 20
    assert counts[0].max() > counts[1].max() > counts[2].max()


def test_kernels_as_starts_are_never_worse() -> None:
    for seed in range(4):
        X, _ = views(seed=seed, noise=3.0)
        uniform = clone(MODELS["default"]).set_params(random_state=seed).fit(X)
        every = clone(MODELS["kernels"]).set_params(random_state=seed).fit(X)
        assert every.objective_ >= uniform.objective_ * (1.0 - 1e-12)


def test_one_kernel_is_hsic_clustering() -> None:
    X, _ = views()
    one = MultipleKernelClustering([Gaussian("median")], 4, random_state=0).fit(X)
    same = HSICClustering(4, random_state=0).fit(X)
    assert_array_equal(one.labels_, same.labels_)
    assert_allclose(one.alignment_, same.alignment_, rtol=1e-10)
    assert_allclose(one.weights_, [1.0])
    assert len(one.history_) == 1


def test_six_views_of_digits(data: Any) -> None:
    """More is found than by any single view, and than by k-means of all features."""
    bunch = data("mfeat")
    chosen = np.random.default_rng(0).permutation(2000)[:600]
    X = scale(bunch.data.astype(float))[chosen]
    y = np.unique(bunch.target, return_inverse=True)[1][chosen]
    kernels = [OnColumns(Gaussian("median"), columns) for columns in bunch.views.values()]
    fitted = MultipleKernelClustering(kernels, 10, random_state=0).fit(X)
    reached = adjusted_rand_score(y, fitted.labels_)
    single = [
        adjusted_rand_score(y, HSICClustering(10, kernel, random_state=0).fit(X).labels_)
        for kernel in kernels
    ]
    plain = adjusted_rand_score(y, KMeans(10, n_init=10, random_state=0).fit(X).labels_)
    assert reached > max(single) + 0.1
    assert reached > plain + 0.05


# --- tables and stacks ------------------------------------------------------------------------


@every_model
def test_training_samples_keep_their_clusters(model: Any) -> None:
    X, _ = views(noise=2.0)
    fitted = clone(model).fit(X)
    kept = fitted.predict(X) == fitted.labels_
    assert kept.all() if model.similarity is None else kept.mean() > 0.9


def test_nearest_center_of_the_combination() -> None:
    X, Z = views(noise=2.0)[0] + 3.0, views(seed=1, noise=2.0)[0] + 3.0
    fitted = clone(MODELS["default"]).fit(X)
    Y = indicators(fitted.labels_, 4, True) ** 2
    within = np.einsum("ic,ij,jc->c", Y, fitted.kernel_(X), Y)
    expected = (within - 2.0 * fitted.kernel_(Z, X) @ Y).argmin(axis=1)
    assert_array_equal(fitted.predict(Z), expected)


@pytest.mark.parametrize("name", ["default", "alignf", "kernels", "chain"])
def test_precomputed_stack(name: str) -> None:
    X, _ = views()
    Z, _ = views(n=10, seed=1)
    fitted = clone(MODELS[name]).fit(X)
    stack = np.stack(grams(fitted, X), axis=-1)
    given = clone(MODELS[name]).set_params(kernels="precomputed")
    assert get_tags(given).input_tags.pairwise
    given.fit(stack)
    assert_array_equal(given.labels_, fitted.labels_)
    assert_allclose(given.weights_, fitted.weights_, rtol=1e-6)
    new = np.stack([kernel(Z, X) for kernel in fitted.kernel_.kernels], axis=-1)
    assert_array_equal(given.predict(new), fitted.predict(Z))
    first = clone(given).fit(list(np.moveaxis(stack, -1, 0)))
    assert_array_equal(first.labels_, fitted.labels_)


@pytest.mark.parametrize("name", ["default", "alignf", "strong"])
def test_order_and_scale_of_the_kernels(name: str) -> None:
    X, _ = views(noise=2.0)
    fitted = clone(MODELS[name]).fit(X)
    order = np.array([2, 0, 3, 1])
    scales = np.array([1e-8, 1.0, 1e8, 3.0])
    stack = np.stack(grams(fitted, X), axis=-1)[:, :, order] * scales
    other = clone(MODELS[name]).set_params(kernels="precomputed").fit(stack)
    assert_array_equal(other.labels_, fitted.labels_)
    assert_allclose(other.shares_, fitted.shares_[order], atol=1e-8)
    assert_allclose(other.objective_, fitted.objective_, rtol=1e-8)


@every_model
def test_order_of_the_samples(model: Any) -> None:
    X, _ = views(n=120)
    order = np.random.default_rng(0).permutation(120)
    here, there = clone(model).fit(X), clone(model).fit(X[order])
    assert adjusted_rand_score(here.labels_[order], there.labels_) > 0.99
    assert_allclose(there.objective_, here.objective_, rtol=1e-6)


def test_a_duplicated_kernel_shares_its_weight() -> None:
    X, _ = views(noise=2.0)
    alone = clone(MODELS["alignf"]).fit(X)
    twice = clone(MODELS["alignf"]).set_params(kernels=[*KERNELS, KERNELS[0]]).fit(X)
    assert_allclose(twice.objective_, alone.objective_, rtol=0.02)
    assert adjusted_rand_score(twice.labels_, alone.labels_) > 0.9


@pytest.mark.parametrize("factor", [1e-8, 1e8])
@pytest.mark.parametrize("name", ["widths", "features"])
def test_scale_of_the_features(name: str, factor: float) -> None:
    X, _ = views()
    here, there = clone(MODELS[name]).fit(X), clone(MODELS[name]).fit(factor * X)
    assert_array_equal(there.labels_, here.labels_)
    assert_allclose(there.shares_, here.shares_, atol=1e-6)


@every_model
def test_single_precision(model: Any) -> None:
    X = views()[0].astype(np.float32)
    single, double = clone(model).fit(X), clone(model).fit(X.astype(np.float64))
    assert_array_equal(single.labels_, double.labels_)
    assert_allclose(single.weights_, double.weights_, atol=1e-9)
    assert_array_equal(single.predict(X), double.predict(X.astype(np.float64)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_by_name(library: str) -> None:
    module = pytest.importorskip(library)
    X, _ = views()
    table = module.DataFrame({f"x{column}": X[:, column] for column in range(6)})
    named = [OnColumns(kernel.kernel, [f"x{c}" for c in kernel.columns]) for kernel in KERNELS]
    fitted = MultipleKernelClustering(named, 4, random_state=0).fit(table)
    placed = clone(MODELS["default"]).fit(X)
    assert_array_equal(fitted.labels_, placed.labels_)
    assert_array_equal(fitted.predict(table), placed.predict(X))
    assert list(fitted.feature_names_in_) == [f"x{column}" for column in range(6)]


@every_model
def test_sparse_tables(model: Any) -> None:
    X = np.maximum(views()[0], 0.0)
    dense, sparse = clone(model).fit(X), clone(model).fit(sp.csr_array(X))
    assert adjusted_rand_score(sparse.labels_, dense.labels_) == 1.0
    assert_allclose(sparse.weights_, dense.weights_, atol=1e-6)


def test_constant_kernels_have_no_weight() -> None:
    X, _ = views()
    X[:, 5] = 0.1
    fitted = clone(MODELS["kernels"]).fit(X)
    assert fitted.weights_[3] == 0.0
    assert np.isfinite(fitted.objective_)
    with pytest.raises(ValueError, match="Every kernel is constant on X"):
        clone(MODELS["default"]).fit(np.full((20, 6), 0.1))


def test_base_kernels_are_never_in_memory() -> None:
    """Twelve kernels on 1200 samples are 138 MB; the combined matrix and its copy are 23 MB."""
    n, widths = 1200, np.geomspace(1.0, 10.0, 12)
    X, _ = views(n=n)
    model = MultipleKernelClustering([Gaussian(s) for s in widths], 4, n_init=1, random_state=0)
    with sklearn.config_context(working_memory=8):
        tracemalloc.start()
        try:
            model.fit(X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 6 * 8 * n**2


# --- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [MODELS["default"], HSICClustering(4, random_state=0)])
def test_a_progress_bar_changes_nothing(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    X, _ = views()
    shown = clone(model).set_callbacks(callback.ProgressBar()).fit(X)
    assert_array_equal(shown.labels_, clone(model).fit(X).labels_)
    assert type(model).__name__ in capsys.readouterr().out


def test_pictures() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, _ = views()
    fitted = clone(MODELS["default"]).fit(X)
    shown = KernelWeightsDisplay.from_estimator(fitted)
    assert len(shown.ax_.patches) == 4


def test_saving() -> None:
    X, _ = views()
    fitted = clone(MODELS["default"]).fit(X)
    saved = skops.io.dumps(fitted)
    loaded = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert_array_equal(loaded.history_[-1].weights, fitted.weights_)


@every_model
def test_random_state_repeats(model: Any) -> None:
    X, _ = views(noise=3.0)
    here, there = clone(model).fit(X), clone(model).fit(X)
    assert_array_equal(here.labels_, there.labels_)
    assert_array_equal(here.weights_, there.weights_)


def test_stopping_early_is_said() -> None:
    X, _ = views(noise=3.0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        fitted = MultipleKernelClustering(KERNELS, 4, max_iter=1, random_state=0).fit(X)
    assert len(fitted.history_) == 2


def test_fewer_distinct_samples_than_clusters() -> None:
    X = views(n=3)[0][np.arange(30) % 3]
    for model in MODELS.values():
        assert np.bincount(clone(model).fit(X).labels_, minlength=4).all()


REFUSED = {
    "n_clusters": ({"n_clusters": 0}, ValueError, "n_clusters must be at least 1"),
    "n_clusters=81": ({"n_clusters": 81}, ValueError, "n_samples=80 should be >= n_clusters=81"),
    "penalty": ({"penalty": -1.0}, ValueError, "penalty must be finite and not negative"),
    "penalty=inf": ({"penalty": np.inf}, ValueError, "penalty must be finite and not negative"),
    "starts": ({"starts": "all"}, ValueError, 'starts must be one of "uniform", "kernels"'),
    "n_init": ({"n_init": 0}, ValueError, "n_init must be at least 1"),
    "max_iter": ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
    "tol": ({"tol": np.nan}, ValueError, "tol must be finite and not negative"),
    "shape": ({"similarity": np.eye(5)}, ValueError, r"\(4, 4\); got \(5, 5\)"),
    "kernels": ({"kernels": []}, ValueError, "dictionary of kernels is empty"),
    "name": ({"kernels": ["sigmoid"]}, ValueError, "Unknown kernel 'sigmoid'"),
    "stack": ({"kernels": "precomputed"}, ValueError, "must be square"),
}


@pytest.mark.parametrize(("settings", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_settings_are_refused(settings: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        MultipleKernelClustering(**{"n_clusters": 4, **settings}).fit(views()[0])


def test_samples_are_refused() -> None:
    X, _ = views()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        clone(MODELS["default"]).fit(X)
    stack = np.stack([gaussian(views()[0], s) for s in (1.0, 2.0)], axis=-1)
    stack[0, 1, 0] = 5.0
    with pytest.raises(ValueError, match="Precomputed kernel 0 is not symmetric"):
        MultipleKernelClustering("precomputed", 4).fit(stack)
    broken = [lambda A, B: np.full((len(A), len(B)), np.nan), "linear"]
    with pytest.raises(ValueError, match="Kernel returned NaN"):
        MultipleKernelClustering(broken, 4).fit(views()[0])
