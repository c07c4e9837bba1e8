"""Settings of ContinuousMKL* out of their range are refused, and a large gap is warned of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learner_cases import problem
from sklearn.exceptions import ConvergenceWarning

from mercer import ContinuousMKLClassifier
from mercer.kernels import Gaussian

FAMILY = Gaussian(bounds=(0.3, 30.0))


def test_the_limit_of_steps_warns_of_the_gap() -> None:
    X, y = problem("binary")
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model = ContinuousMKLClassifier(FAMILY, C=10.0, max_kernels=1).fit(X, y)
    assert np.isfinite(model.excess_)
    assert model.dual_gap_ > model.tol


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": "both"}, "step must be one of"),
        ({"search": "random"}, "search must be one of"),
        ({"width_penalty": -1.0}, "width_penalty must be"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"max_kernels": 0}, "max_kernels must be"),
        ({"verbose": 1}, "verbose must be True or False"),
        ({"family": "precomputed"}, 'family cannot be "precomputed"'),
        ({"C": 0.0}, "C must be positive"),
        ({"loss": "squared_hinge"}, "loss must be one of"),
        ({"family": "unknown"}, "unknown"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    X, y = problem("binary")
    with pytest.raises(ValueError, match=message):
        ContinuousMKLClassifier(**settings).fit(X, y)
