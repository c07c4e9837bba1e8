"""Displays of the weights of kernels, the relevance of features, and the path of alignments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from display_cases import bar_lengths, tick_labels
from sklearn.gaussian_process import kernels as gp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KernelCenterer, StandardScaler

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    KernelStackingClassifier,
    MKLClassifier,
    UniformCombination,
)
from mercer.inspection import AlignmentPathDisplay, FeatureRelevanceDisplay, KernelWeightsDisplay
from mercer.kernels import CallableKernel, Gaussian, Linear, OnColumns, OnProjection, Product

plt = pytest.importorskip("matplotlib.pyplot")


def centered_traces(kernels: list[Any], X: Any) -> list[float]:
    """Traces of the centered Gram matrices."""
    return [np.trace(KernelCenterer().fit_transform(kernel(X))) for kernel in kernels]


def test_bars_are_shares_in_the_trace(data: tuple[Any, Any]) -> None:
    kernels = [Gaussian(1.0), Gaussian(2.5), Linear()]
    learner = UniformCombination(kernels).fit(*data)
    display = KernelWeightsDisplay.from_estimator(learner)
    parts = learner.weights_ * centered_traces(kernels, data[0])
    np.testing.assert_allclose(bar_lengths(display), parts / parts.sum())
    assert tick_labels(display) == ["Gaussian, width 1", "Gaussian, width 2.5", "Linear"]
    assert display.ax_.get_xlabel() == "Share of the learned kernel's trace"
    assert display.figure_ is display.ax_.figure


def test_negative_weights_are_bars_to_the_left(data: tuple[Any, Any]) -> None:
    kernels = [Gaussian(1.0), Gaussian(1.1), Linear()]
    with pytest.warns(UserWarning, match="Some weights are negative"):
        learner = AlignmentMaximization(kernels, signs="free").fit(*data)
    display = KernelWeightsDisplay.from_estimator(learner)
    assert (learner.weights_ < 0.0).any()
    np.testing.assert_array_equal(np.sign(bar_lengths(display)), np.sign(learner.weights_))
    parts = learner.weights_ * centered_traces(kernels, data[0])
    np.testing.assert_allclose(display.shares, parts / np.abs(parts).sum())
    assert "to the left: negative weights" in display.ax_.get_xlabel()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KernelWeightsDisplay(["a", "b"], [1.0]), "one entry for each of the 2 labels"),
        (lambda: FeatureRelevanceDisplay(["a"], [1.0, 2.0]), "one entry for each of the 1 feature"),
        (lambda: FeatureRelevanceDisplay(["a", "b"], [1.0, np.inf]), "relevance must be finite"),
        (lambda: AlignmentPathDisplay([]), "at least one"),
        (lambda: AlignmentPathDisplay([[0.1]]), "at least one"),
    ],
)
def test_numbers_that_cannot_be_shown_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_axis_of_alignments_holds_all_paths() -> None:
    display = AlignmentPathDisplay([0.1, 0.2]).plot()
    low, high = AlignmentPathDisplay([0.8, 0.9]).plot(ax=display.ax_).ax_.get_ylim()
    assert low == 0.0
    assert high > 0.9


def test_the_largest_of_many() -> None:
    display = KernelWeightsDisplay(list("abc"), [0.1, -0.5, 0.4]).plot(max_kernels=2)
    assert tick_labels(display) == ["b", "c"]
    assert display.ax_.get_title() == "Shares of the kernels, 2 of 3"
    _, ax = plt.subplots()
    assert display.plot(ax=ax, color="red").ax_ is ax
    assert ax.patches[0].get_facecolor() == (1.0, 0.0, 0.0, 1.0)


def test_long_labels_are_broken_and_cut() -> None:
    label = "a sum of kernels on the scaled features, and more words that do not fit"
    display = KernelWeightsDisplay(["short", label], [1.0, 1.0]).plot()
    broken = "a sum of kernels on the scaled\nfeatures, and more words that do…"
    assert tick_labels(display) == ["short", broken]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Product([Gaussian(2.0), OnColumns(Gaussian(1.0), [3])]), [0.25, 0.25, 0.25, 1.25]),
        (OnProjection(Gaussian(1.0), [[1.0], [0.0], [-2.0], [0.0]]), [1.0, 0.0, 4.0, 0.0]),
        (1.0 * gp.RBF([1.0, 2.0, 4.0, 1.0]), [0.5, 0.125, 0.03125, 0.5]),
    ],
)
def test_kernels_made_of_others(data: tuple[Any, Any], kernel: Any, expected: list[float]) -> None:
    learner = UniformCombination([kernel]).fit(*data)
    display = FeatureRelevanceDisplay.from_estimator(learner)
    np.testing.assert_allclose(display.relevance, learner.weights_[0] * np.array(expected))


def linear_callable(X: Any, Z: Any) -> Any:
    """Inner products."""
    return X @ Z.T


@pytest.mark.parametrize("estimator", [UniformCombination, KernelStackingClassifier])
def test_kernels_of_no_known_formula_have_no_relevance(data: Any, estimator: Any) -> None:
    model = estimator([linear_callable]).fit(*data)
    with pytest.raises(ValueError, match=r"its formula.* is not known.*permutation_importance"):
        FeatureRelevanceDisplay.from_estimator(model)


def test_features_of_no_known_relevance_have_no_bar(data: tuple[Any, Any]) -> None:
    kernels = [OnColumns(Gaussian(1.0), [0, 1]), OnColumns(CallableKernel(linear_callable), [3])]
    display = FeatureRelevanceDisplay.from_estimator(UniformCombination(kernels).fit(*data))
    assert np.isnan(display.relevance[3])
    assert tick_labels(display) == ["x0", "x1", "x2"]
    assert display.ax_.get_title() == "Relevance of the features, 3 of 4"


def test_names_of_columns(data: tuple[Any, Any]) -> None:
    X = pd.DataFrame(data[0], columns=["age", "height", "weight", "pulse"])
    learner = UniformCombination([Gaussian(1.0)])
    scaled = make_pipeline(StandardScaler(), learner)
    unnamed = make_pipeline(FunctionTransformer(np.asarray), learner)
    for model, names in [(learner, list(X)), (scaled, list(X)), (unnamed, ["x0", "x1"])]:
        display = FeatureRelevanceDisplay.from_estimator(model.fit(X, data[1]))
        assert display.features[: len(names)] == names


def test_the_line_is_the_history(data: tuple[Any, Any]) -> None:
    learner = ContinuousAlignment().fit(*data)
    [line] = AlignmentPathDisplay.from_estimator(learner).ax_.lines
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(learner.history_) + 1))
    np.testing.assert_allclose(line.get_ydata(), [s.alignment for s in learner.history_])
    machine = MKLClassifier([Gaussian(1.0), "linear"]).fit(*data)
    with pytest.raises(ValueError, match="The steps of MKLClassifier have no alignment"):
        AlignmentPathDisplay.from_estimator(machine)
