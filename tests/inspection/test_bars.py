"""Displays of the weights of kernels and of the relevance of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from display_cases import bar_lengths, tick_labels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mercer import (
    AlignmentMaximization,
    KernelOptimization,
    UniformCombination,
)
from mercer.inspection import (
    FeatureRelevanceDisplay,
    KernelWeightsDisplay,
)
from mercer.kernels import Gaussian, Linear, OnColumns

plt = pytest.importorskip("matplotlib.pyplot")


def test_bars_are_the_weights(data: tuple[Any, Any]) -> None:
    learner = UniformCombination([Gaussian(1.0), Gaussian(2.5)]).fit(*data)
    display = KernelWeightsDisplay.from_estimator(learner)
    np.testing.assert_allclose(bar_lengths(display), learner.weights_)
    assert tick_labels(display) == ["Gaussian, width 1", "Gaussian, width 2.5"]
    assert display.figure_ is display.ax_.figure


def test_one_kernel(data: tuple[Any, Any]) -> None:
    display = KernelWeightsDisplay.from_estimator(KernelOptimization().fit(*data))
    assert bar_lengths(display) == [1.0]


def test_the_largest_of_many() -> None:
    display = KernelWeightsDisplay(list("abc"), [0.1, -0.5, 0.4]).plot(max_kernels=2)
    assert tick_labels(display) == ["b", "c"]
    assert display.ax_.get_title() == "Weights of the kernels, 2 of 3"


def test_long_labels_are_broken_and_cut() -> None:
    label = "a sum of kernels on the scaled features, and more words that do not fit"
    display = KernelWeightsDisplay(["short", label], [1.0, 1.0]).plot()
    broken = "a sum of kernels on the scaled\nfeatures, and more words that do…"
    assert tick_labels(display) == ["short", broken]


def test_weights_and_labels_must_agree() -> None:
    with pytest.raises(ValueError, match="one entry for each of the 2 labels"):
        KernelWeightsDisplay(["a", "b"], [1.0])


def test_given_axes_and_style() -> None:
    _, ax = plt.subplots()
    display = KernelWeightsDisplay(["a"], [1.0]).plot(ax=ax, color="red")
    assert display.ax_ is ax
    assert ax.patches[0].get_facecolor() == (1.0, 0.0, 0.0, 1.0)


def test_one_width_a_feature(data: tuple[Any, Any]) -> None:
    learner = KernelOptimization(Gaussian(ard=True), criterion="cka").fit(*data)
    display = FeatureRelevanceDisplay.from_estimator(learner)
    widths = np.broadcast_to(learner.kernels_[0].bandwidth, 4)
    np.testing.assert_allclose(display.relevance, widths**-2.0)
    assert tick_labels(display) == [f"x{z}" for z in np.argsort(-display.relevance)]
    assert bar_lengths(display) == sorted(display.relevance, reverse=True)


def test_weighted_over_kernels_on_columns(data: tuple[Any, Any]) -> None:
    kernels = [OnColumns(Gaussian(2.0), [0]), OnColumns(Gaussian(0.5), [0, 3])]
    learner = UniformCombination(kernels).fit(*data)
    first, second = learner.weights_
    expected = [first / 4 + 4 * second, 0, 0, 4 * second]
    display = FeatureRelevanceDisplay.from_estimator(learner)
    np.testing.assert_allclose(display.relevance, expected)


def test_one_linear_kernel_a_feature(data: tuple[Any, Any]) -> None:
    learner = AlignmentMaximization([Linear(per_feature=True)]).fit(*data)
    display = FeatureRelevanceDisplay.from_estimator(learner)
    assert display.relevance.shape == (4,)
    assert np.argmax(display.relevance) < 2


def test_names_of_columns(data: tuple[Any, Any]) -> None:
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(data[0], columns=["age", "height", "weight", "pulse"])
    learner = UniformCombination([Gaussian(1.0)])
    scaled = make_pipeline(StandardScaler(), learner)
    unnamed = make_pipeline(FunctionTransformer(np.asarray), learner)
    for model, names in [(learner, list(X)), (scaled, list(X)), (unnamed, ["x0", "x1"])]:
        display = FeatureRelevanceDisplay.from_estimator(model.fit(X, data[1]))
        assert display.features[: len(names)] == names


def test_relevance_and_features_must_agree() -> None:
    with pytest.raises(ValueError, match="one entry for each of the 1 features"):
        FeatureRelevanceDisplay(["a"], [1.0, 2.0])
