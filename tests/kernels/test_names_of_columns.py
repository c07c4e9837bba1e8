"""Kernels refuse data frames whose columns are not those that they know, as estimators do."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mercer import ContinuousAlignment, KernelLogisticRegression, MKLClassifier
from mercer.kernels import Gaussian

A = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
Y = (A["a"] > 0.0).to_numpy().astype(int)
OTHER = [A[["b", "a"]], A.rename(columns={"b": "c"})]


@pytest.mark.parametrize("other", OTHER)
def test_two_frames_have_the_same_columns(other: Any) -> None:
    kernel = Gaussian(1.0)
    with pytest.raises(ValueError, match="feature names should match"):
        kernel(A, other)
    with pytest.raises(ValueError, match="feature names should match"):
        kernel.vjp(A, np.ones((40, 40)), other)
    np.testing.assert_array_equal(kernel(A, A.to_numpy()), kernel(A.to_numpy(), A))


@pytest.mark.parametrize(
    "model", [ContinuousAlignment(), MKLClassifier(), KernelLogisticRegression()]
)
@pytest.mark.parametrize("other", OTHER)
def test_learned_kernels_know_their_columns(model: Any, other: Any) -> None:
    kernel = model.fit(A, Y).kernel_
    for call in (kernel, kernel.diag, lambda table: kernel(A, table)):
        with pytest.raises(ValueError, match="feature names should match"):
            call(other)
    np.testing.assert_allclose(kernel(A), kernel(A.to_numpy()))
