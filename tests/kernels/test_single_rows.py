"""Kernels of two single rows are numbers, so that scikit-learn's estimators accept kernels."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from kernel_cases import KERNELS, N_FEATURES, STRUCTURES, suited
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import pairwise_kernels

from mercer import UniformCombination
from mercer.kernels import Categorical, Gaussian, Kernel, Laplacian, OnColumns

RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(25, N_FEATURES)), RNG.normal(size=(6, N_FEATURES))
Y = np.sin(X).sum(axis=1)

EVERY = {**KERNELS, **STRUCTURES}
SOME = {
    "gaussian": Gaussian([1.0, 2.0, 3.0], ard=True),
    "sum": Laplacian(2.0) + 0.5 * Gaussian(1.0),
    "on-columns": OnColumns(Gaussian(1.5), [0, 2]),
    "categorical": Categorical(),
    "learned": UniformCombination([Gaussian(1.0), Gaussian(4.0)]).fit(X, Y).kernel_,
}
ESTIMATORS: list[Any] = [
    KernelRidge(alpha=0.1),
    KernelPCA(3, random_state=0),
    Nystroem(n_components=8, random_state=0),
    SpectralClustering(2, random_state=0),
]


@pytest.mark.parametrize("kernel", EVERY.values(), ids=EVERY)
def test_the_kernel_of_two_rows_is_the_entry_of_the_gram_matrix(kernel: Kernel) -> None:
    rows, others = suited(kernel, X), suited(kernel, X_NEW)
    value = kernel(rows[3], others[1])
    assert isinstance(value, float)
    assert_allclose(value, kernel(rows[3:4], others[1:2]).item(), rtol=0.0)
    listed = kernel(rows[3].tolist(), others[1].tolist())
    assert_allclose(listed, value, rtol=0.0)


@pytest.mark.parametrize("kernel", SOME.values(), ids=SOME)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_estimators_of_scikit_learn_take_kernels(estimator: BaseEstimator, kernel: Kernel) -> None:
    name = "affinity" if isinstance(estimator, SpectralClustering) else "kernel"
    called = estimator.set_params(**{name: kernel}).fit(X, Y)
    if hasattr(called, "transform"):
        assert np.isfinite(called.transform(X_NEW)).all()
        return
    if hasattr(called, "predict"):
        found = called.predict(X_NEW)
        model = KernelRidge(alpha=0.1, kernel="precomputed").fit(kernel(X), Y)
        assert_allclose(found, model.predict(kernel(X_NEW, X)), rtol=1e-10)
        return
    assert_allclose(called.affinity_matrix_, kernel(X), atol=1e-12)


def test_pairs_of_rows_are_all_that_is_taken() -> None:
    kernel = Gaussian(2.0)
    assert_allclose(pairwise_kernels(X, X_NEW, metric=kernel), kernel(X, X_NEW), atol=1e-12)
    frame = pd.DataFrame(X, columns=list("abc"))
    assert kernel(frame.iloc[0], frame.iloc[1]) == kernel(X[0], X[1])
    assert kernel(X[0].astype(np.float32), X[1].astype(np.float32)).dtype == np.float32
    for one, other in ((X[0], None), (X[0], X), (X, X[0])):
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            kernel(one, other)
    with pytest.raises(ValueError, match=r"X.shape\[1\] == 3 while Z.shape\[1\] == 2"):
        kernel(X[0], X[1, :2])
    with pytest.raises(ValueError, match="contains NaN"):
        kernel(X[0], [np.nan, 0.0, 0.0])
