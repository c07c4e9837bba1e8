"""Learners that choose by held-out samples hold out whole groups."""

from typing import Any

import numpy as np
import pytest

from mercer import (
    GradientOuterProduct,
    KernelOptimization,
    KernelStackingRegressor,
    TwoStageRegressor,
)
from mercer.kernels import Gaussian

LEARNERS = [
    GradientOuterProduct(n_iter=3),
    KernelOptimization(Gaussian(ard=True)),
]


def effects(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses of the first feature; within groups, the last two tell the rest."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(15), 6)
    marks, levels = rng.normal(size=(15, 2)), 2.0 * rng.normal(size=15)
    X = np.column_stack([rng.normal(size=90), marks[groups] + 0.01 * rng.normal(size=(90, 2))])
    return X, X[:, 0] + levels[groups] + 0.1 * rng.normal(size=90), groups


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_what_is_learned_depends_on_groups(learner: Any) -> None:
    X, y, groups = (rows[::2] for rows in effects())
    alone = learner.fit(X, y).kernel_
    together = learner.fit(X, y, groups=groups).kernel_
    names = np.array(list("abcdefghijklmno"))[groups]
    assert learner.fit(X, y, groups=names).kernel_ == together
    own = learner.fit(X, y, groups=np.arange(45)).kernel_
    assert own == alone
    if isinstance(learner, GradientOuterProduct):
        assert together != alone
    with pytest.raises(ValueError, match="groups contains only one group"):
        learner.fit(X, y, groups=np.zeros(45))


def test_second_stages_pass_groups_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    learn = GradientOuterProduct._learn

    def recorded(self: Any, data: Any, target: Any) -> Any:
        given.append(target.groups)
        return learn(self, data, target)

    monkeypatch.setattr(GradientOuterProduct, "_learn", recorded)
    X, y, groups = effects()
    learner = GradientOuterProduct(n_iter=1)
    TwoStageRegressor(learner).fit(X, y, groups=groups)
    stack = KernelStackingRegressor([learner]).fit(X, y, groups=groups)
    assert all(known is not None for known in given)
    np.testing.assert_array_equal(given[0], groups)
    np.testing.assert_array_equal(given[1], groups)
    given.clear()
    stack.fit(X, y)
    assert all(known is None for known in given)


def test_classes_and_all_samples_but_one_may_be_groups() -> None:
    X, y, _ = effects()
    for groups in (y > 0.0, np.arange(90) == 0):
        assert np.isfinite(GradientOuterProduct().fit(X, y > 0.0, groups=groups).transform(X)).all()
