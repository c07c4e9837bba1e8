"""Widths on Nyström features: those that the user gave stay, and those used are reported."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    EvidenceMaximization,
    GradientOuterProduct,
    KernelOptimization,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.metrics import centered_alignment

pytestmark = pytest.mark.filterwarnings("ignore:The log marginal likelihood per observation")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
Y = np.sin(4.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * RNG.normal(size=400)
LABELS = np.where(Y > 0.2, "high", "low")
WIDE = [Gaussian(8.0), Laplacian(20.0), Linear()]

GIVEN = [
    (TwoStageRegressor, UniformCombination(WIDE)),
    (TwoStageClassifier, AlignmentMaximization(WIDE)),
    (TwoStageClassifier, UniformCombination([Gaussian("median")])),
]
LEARNED = [
    (TwoStageRegressor, None),
    (TwoStageClassifier, "auto"),
    (TwoStageRegressor, AlignmentMaximization()),
    (TwoStageClassifier, ContinuousAlignment()),
    (TwoStageRegressor, KernelOptimization()),
    (TwoStageRegressor, EvidenceMaximization(max_iter=3)),
    (TwoStageClassifier, GradientOuterProduct(n_iter=1)),
]


def fitted(kind: Any, learner: Any, rows: int = 400) -> Any:
    """All rows are learned from, so that what is reported can be computed anew."""
    model = kind(clone(learner, safe=False), approximation="nystroem", n_components=60)
    return model.fit(X[:rows], (Y if kind is TwoStageRegressor else LABELS)[:rows])


@pytest.mark.parametrize(("kind", "learner"), GIVEN, ids=str)
def test_given_widths_stay(kind: Any, learner: Any) -> None:
    found = fitted(kind, learner)
    alone = clone(learner).fit(X, Y if kind is TwoStageRegressor else LABELS)
    assert found.learner_.kernels_ == alone.kernels_
    assert found.kernel_ == alone.kernel_
    assert found.predictor_.columns.kernel == alone.kernel_
    assert found.alignment_ == alone.alignment_
    assert (found.weights_ == alone.weights_).all()


def factors_double(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widths are doubled, whatever is best."""
    from mercer._nystroem.width_factors import with_width_factor

    monkeypatch.setattr(
        "mercer._nystroem.width_factors.rescaled_kernel",
        lambda kernel, *_: with_width_factor(kernel, float(np.log(2.0))),
    )


@pytest.mark.parametrize(("kind", "learner"), LEARNED, ids=str)
def test_what_is_reported_of_learned_widths_is_what_predicts(
    kind: Any, learner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = Y if kind is TwoStageRegressor else LABELS
    with monkeypatch.context() as context:
        context.setattr("mercer._nystroem.width_factors.rescaled_kernel", lambda kernel, *_: kernel)
        before = fitted(kind, learner)
    factors_double(monkeypatch)
    found = fitted(kind, learner)
    used = found.predictor_.columns.kernel
    assert found.kernel_ == used
    assert found.learner_.kernel_ == used
    assert list(used.kernels) == found.learner_.kernels_
    widths = [kernel.relevance(2) for kernel in found.learner_.kernels_]
    assert_allclose(widths, [k.relevance(2) / 4.0 for k in before.learner_.kernels_])
    assert (found.weights_ == before.weights_).all()
    assert found.n_iter_ == before.n_iter_
    assert_allclose(found.alignment_, centered_alignment(used(X), y), atol=1e-8)
    assert abs(found.alignment_ - before.alignment_) > 1e-6
    gram = found.learner_.transform(X)
    assert_allclose(np.trace(gram) / 400 - gram.mean(), 1.0)


def test_the_first_candidate_is_the_kernel_that_predicts(monkeypatch: pytest.MonkeyPatch) -> None:
    factors_double(monkeypatch)
    found = fitted(TwoStageRegressor, None)
    (kernel,) = found.learner_.kernels_
    first = found.candidates_[0]
    assert first.description == kernel.describe()
    assert first.kernel == kernel
    assert found.learner_.kernels == [kernel]


@pytest.mark.parametrize("widest", [80.0, 2.0])
def test_learned_widths_are_rescaled_within_bounds_that_are_given(widest: float) -> None:
    """The width of largest HSIC is narrower than the one that predicts best."""
    smooth = np.sin(2.0 * X[:, 0]) + 0.3 * np.random.default_rng(3).normal(size=400)
    learner = KernelOptimization(Gaussian(bounds=(0.5, widest)))
    model = TwoStageRegressor(learner, approximation="nystroem", n_components=60)
    (found,) = model.fit(X, smooth).learner_.kernels_
    (alone,) = clone(learner).fit(X, smooth).kernels_
    assert found.bandwidth > 1.4 * alone.bandwidth
    assert found.bandwidth <= widest * (1.0 + 1e-12)
