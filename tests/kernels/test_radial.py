"""A width that is read off the data when the kernel is bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer import KernelOptimization, TwoStageClassifier, UniformCombination
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Matern,
    OnColumns,
    Product,
    RationalQuadratic,
    WeightedSum,
)
from mercer.kernels._distances import median_distance

FAMILIES = [Gaussian, Laplacian, Matern, RationalQuadratic]
every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 5.0, 20.0] + 100.0


def median(X: np.ndarray) -> float:
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    return float(np.median(distances[distances > 0.0]))


@every_family
def test_bound_width_is_the_median_distance(family: Any, X: np.ndarray) -> None:
    kernel = family("median").bind(X)
    assert kernel == family(kernel.bandwidth)
    assert_allclose(kernel.bandwidth, median(X), rtol=1e-9)
    assert kernel.bind(2.0 * X) == kernel
    assert_allclose(family("median").bind(sp.csr_array(X)).theta, kernel.theta, rtol=1e-6)
    assert_allclose(family("median").bind(X.astype(np.float32)).theta, kernel.theta, rtol=1e-5)


@every_family
def test_an_unbound_kernel_says_so(family: Any, X: np.ndarray) -> None:
    kernel = family("median")
    assert "median" in kernel.describe()
    assert repr(kernel) == f"{family.__name__}(bandwidth='median')"
    for evaluate in (lambda: kernel(X), lambda: kernel.theta, lambda: kernel.vjp(X, np.eye(50))):
        with pytest.raises(ValueError, match=r"read off the data: bind .* kernel\.bind\(X\)"):
            evaluate()
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="read off the data"):
        kernel(pd.DataFrame(X))


@every_family
def test_equality_cloning_and_saving(family: Any) -> None:
    kernel = family("median")
    assert kernel == clone(kernel) == family("median") != family(1.0)
    assert hash(kernel) == hash(family("median"))
    saved = skops.io.dumps(kernel)
    loaded = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    assert loaded == kernel
    size = 2 if family is RationalQuadratic else 1
    assert_allclose(kernel.with_theta(np.zeros(size)).bandwidth, 1.0)


def test_parts_are_bound_on_their_own_columns(X: np.ndarray) -> None:
    first, last = OnColumns(Gaussian("median"), [0]), OnColumns(Laplacian("median"), [2, 1])
    for whole in (Product([first, last]), WeightedSum([first, last], [1.0, 2.0])):
        here, there = whole.bind(X).kernels
        assert_allclose(here.kernel.bandwidth, median(X[:, :1]), rtol=1e-9)
        assert_allclose(there.kernel.bandwidth, median(X[:, 1:]), rtol=1e-9)


def test_one_width_for_each_feature(X: np.ndarray) -> None:
    kernel = Gaussian("median", ard=True).bind(X)
    assert_allclose(kernel.bandwidth, np.full(3, median(X)), rtol=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library: str, X: np.ndarray) -> None:
    module = pytest.importorskip(library)
    table = module.DataFrame({name: X[:, k] for k, name in enumerate("abc")})
    kernel = OnColumns(Gaussian("median"), ["c", "a"]).bind(table)
    assert kernel.columns == [2, 0]
    assert_allclose(kernel.kernel.bandwidth, median(X[:, [0, 2]]), rtol=1e-9)


def test_many_samples_in_any_order() -> None:
    X = np.random.default_rng(1).normal(size=(1000, 4))
    order = np.random.default_rng(2).permutation(1000)
    assert_allclose(median_distance(X), median(X), rtol=0.05)
    assert_allclose(median_distance(X[order]), median_distance(X), rtol=1e-9)
    assert_allclose(median_distance(1e8 * X), 1e8 * median_distance(X), rtol=1e-9)


def test_duplicates_do_not_count_and_constants_have_width_one(X: np.ndarray) -> None:
    assert_allclose(median_distance(np.vstack([X, X])), median(X), rtol=1e-9)
    assert median_distance(np.full((9, 2), 0.1)) == 1.0


@pytest.mark.parametrize("value", ["mean", "auto", ""])
def test_other_words_are_refused(value: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match='positive or "median"'):
        Gaussian(value).bind(X)


def test_learners_bind_it(X: np.ndarray) -> None:
    y = (X[:, 2] > 100.0).astype(int)
    learner = UniformCombination([OnColumns(Gaussian("median"), [2]), "linear"]).fit(X, y)
    assert_allclose(learner.kernel_.kernels[0].kernel.bandwidth, median(X[:, 2:]), rtol=1e-9)
    searched = KernelOptimization(Gaussian("median")).fit(X, y).kernel_
    assert_allclose(searched.theta, KernelOptimization().fit(X, y).kernel_.theta, rtol=1e-4)
    predicted = TwoStageClassifier(UniformCombination([Gaussian("median")]), C=1.0).fit(X, y)
    assert_array_equal(predicted.predict(X).shape, y.shape)
