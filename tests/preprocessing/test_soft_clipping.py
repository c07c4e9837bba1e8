"""Standardization with softly clipped tails."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.preprocessing import SoftClippingScaler


@parametrize_with_checks([SoftClippingScaler(), SoftClippingScaler(threshold=1.0)])
def test_estimator_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


def test_columns_without_tails_are_standardized() -> None:
    X = np.random.default_rng(0).uniform(-5.0, 9.0, size=(50, 3))
    np.testing.assert_allclose(
        SoftClippingScaler().fit_transform(X), StandardScaler().fit_transform(X), atol=1e-12
    )
