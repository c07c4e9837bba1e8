"""Learners and two-stage estimators of stacks of precomputed Gram matrices."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from learner_cases import FINITE, problem
from numpy.testing import assert_allclose
from reference import gaussian
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils import get_tags

from mercer import (
    AlignmentMaximization,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian, Precomputed, WeightedSum

WIDTHS = (0.5, 1.0, 4.0)


def stack(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    return np.stack([gaussian(X, s, Z) for s in WIDTHS], axis=-1)


X, Y = problem("binary")
STACK = stack(X)
LEARNER = AlignmentMaximization("precomputed")


@pytest.mark.parametrize("model", [TwoStageClassifier(LEARNER), TwoStageRegressor(LEARNER)])
def test_two_stage_takes_the_layouts_of_its_learner(model: Any) -> None:
    layout = list(np.moveaxis(STACK, -1, 0))
    y = Y if model.__sklearn_tags__().classifier_tags else X[:, 0]
    assert clone(model).fit(layout, y).predict(layout).shape == (60,)


@pytest.mark.parametrize("name", ["align-trace", "alignf"])
def test_stacks_are_learned_from_as_their_kernels_are(name: str) -> None:
    X, y = problem("three classes")
    Z = np.random.default_rng(3).normal(size=(7, 4))
    direct = clone(FINITE[name]).set_params(kernels=[Gaussian(s) for s in WIDTHS]).fit(X, y)
    learner = clone(direct).set_params(kernels="precomputed")
    last = stack(X)
    for layout in (last, np.moveaxis(last, -1, 0), list(np.moveaxis(last, -1, 0)), last.tolist()):
        learner.fit(layout, y)
        assert_allclose(learner.weights_, direct.weights_, atol=1e-9)
        assert_allclose(learner.alignment_, direct.alignment_, rtol=1e-9)
        assert learner.n_features_in_ == 60
        assert learner.X_fit_ is None
    gram = direct.transform(Z)
    rows = stack(Z, X)
    for layout in (rows, np.moveaxis(rows, -1, 0), list(np.moveaxis(rows, -1, 0))):
        assert_allclose(learner.transform(layout), gram, atol=1e-8)


def test_a_learned_stack_names_its_kernels() -> None:
    X, y = problem("binary")
    kernel = UniformCombination("precomputed").fit(stack(X), y).kernel_
    assert isinstance(kernel, WeightedSum)
    assert list(kernel.kernels) == [Precomputed(0), Precomputed(1), Precomputed(2)]


def test_pairwise_tags_slice_stacks_in_cross_validation() -> None:
    X, y = problem("binary")
    model = make_pipeline(AlignmentMaximization("precomputed"), SVC(kernel="precomputed"))
    assert get_tags(model).input_tags.pairwise
    assert not get_tags(AlignmentMaximization()).input_tags.pairwise
    cv = StratifiedKFold(3)
    scores = cross_val_score(model, stack(X), y, cv=cv)
    for (train, test), score in zip(cv.split(X, y), scores, strict=True):
        fitted = clone(model).fit(stack(X[train]), y[train])
        assert fitted.score(stack(X[test], X[train]), y[test]) == score
    search = GridSearchCV(model, {"svc__C": [0.1, 10.0]}, cv=cv).fit(stack(X), y)
    assert search.predict(stack(X)).shape == (60,)


def test_another_number_of_kernels_at_prediction() -> None:
    learner = clone(LEARNER).fit(STACK, Y)
    for matrices in (np.concatenate([STACK, STACK], axis=2), list(np.moveaxis(STACK, -1, 0))[:2]):
        with pytest.raises(ValueError, match=r"kernel|stack"):
            learner.transform(matrices)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        learner.fit(sp.csr_array(STACK[..., 0]), Y)
