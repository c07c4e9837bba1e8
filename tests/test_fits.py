"""A fit keeps nothing of an earlier one, and an estimator whose fit fails is left as it was."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone

import mercer
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
RESPONSES = X[:, 0] + RNG.normal(size=40)
LABELS = (X[:, 0] > 0.0).astype(int)
SEVERAL = np.column_stack([LABELS, X[:, 1] > 0.0]).astype(int)
KERNELS = [Gaussian(1.0), Linear()]
STACK = {"candidates": KERNELS}
FEATURES = {"approximation": "nystroem", "n_components": 10}


def case(name: str, first: Any, y: Any, second: Any, z: Any) -> Any:
    kind = getattr(mercer, name)
    marks = pytest.mark.filterwarnings("ignore:The best (C|alpha)")
    return pytest.param(kind(**first), y, kind(**second), z, id=name, marks=marks)


CASES = [
    case("TwoStageRegressor", {}, RESPONSES, {"alpha": 1.0}, 100.0 * RESPONSES),
    case("TwoStageRegressor", FEATURES, RESPONSES, {}, RESPONSES),
    case("KernelStackingRegressor", STACK, RESPONSES, STACK, 10.0 * RESPONSES),
    case("KernelStackingClassifier", STACK, LABELS, STACK, SEVERAL),
    case("MKLClassifier", {}, LABELS, {}, SEVERAL),
    case(
        "BayesianMKLClassifier",
        {"kernels": KERNELS, "objective": "vb"},
        LABELS,
        {"kernels": KERNELS, "objective": "mkl"},
        LABELS,
    ),
    case("GradientOuterProduct", {}, RESPONSES, {"n_iter": 1}, RESPONSES),
]


def fitted(model: Any) -> set[str]:
    return set(vars(model)) - set(model.get_params(deep=False))


@pytest.mark.parametrize(("first", "y", "second", "z"), CASES)
def test_nothing_is_left_of_an_earlier_fit(first: Any, y: Any, second: Any, z: Any) -> None:
    model, fresh = clone(first).fit(X, y), clone(second).fit(X[::-1], z[::-1])
    model.set_params(**second.get_params(deep=False)).fit(X[::-1], z[::-1])
    assert fitted(model) == fitted(fresh)
    for method in ("predict", "transform"):
        if hasattr(fresh, method):
            assert_array_equal(getattr(model, method)(X), getattr(fresh, method)(X))


@pytest.mark.parametrize(("first", "y", "second", "z"), CASES[:4])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(
    first: Any, y: Any, second: Any, z: Any
) -> None:
    model = clone(first).fit(X, y)
    before, predicted = dict(vars(model)), model.predict(X)
    with pytest.raises(ValueError, match="Found input variables with inconsistent"):
        model.fit(np.column_stack([X, X])[:20], y)
    assert vars(model) == before
    assert_array_equal(model.predict(X), predicted)


def test_settings_of_scikit_learn_outlast_a_fit() -> None:
    model = mercer.GradientOuterProduct().set_output(transform="default")
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
    model.note = "mine"
    model.fit(X, RESPONSES).fit(X, RESPONSES)
    assert model.note == "mine"
    assert model._sklearn_output_config == {"transform": "default"}
    assert model.get_metadata_routing().fit.requests["sample_weight"] is True
