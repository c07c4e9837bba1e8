"""What the displays read off fitted estimators, and that they draw it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mercer._learners import (
    AlignmentMaximization,
    ContinuousAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer._one_stage import ContinuousMKLClassifier, MKLClassifier
from mercer._two_stage import TwoStageClassifier, TwoStageRegressor
from mercer.inspection import (
    AlignmentPathDisplay,
    FeatureRelevanceDisplay,
    GramMatrixDisplay,
    KernelWeightsDisplay,
)
from mercer.inspection._display import learned
from mercer.kernels import Gaussian, Linear, OnColumns

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    X, y = make_classification(
        60, n_features=4, n_informative=2, n_redundant=0, shuffle=False, random_state=0
    )
    return X, np.array(["no", "yes"])[y]


def bar_lengths(display: Any) -> list[float]:
    return [bar.get_width() for bar in display.ax_.patches]


def tick_labels(display: Any) -> list[str]:
    return [label.get_text() for label in display.ax_.get_yticklabels()]


class TestKernelWeights:
    def test_bars_are_the_weights(self, data: tuple[Any, Any]) -> None:
        learner = UniformCombination([Gaussian(1.0), Gaussian(2.5)]).fit(*data)
        display = KernelWeightsDisplay.from_estimator(learner)
        np.testing.assert_allclose(bar_lengths(display), learner.weights_)
        assert tick_labels(display) == ["Gaussian, width 1", "Gaussian, width 2.5"]
        assert display.figure_ is display.ax_.figure

    def test_one_kernel(self, data: tuple[Any, Any]) -> None:
        display = KernelWeightsDisplay.from_estimator(KernelOptimization().fit(*data))
        assert bar_lengths(display) == [1.0]

    def test_the_largest_of_many(self) -> None:
        display = KernelWeightsDisplay(list("abc"), [0.1, -0.5, 0.4]).plot(max_kernels=2)
        assert tick_labels(display) == ["b", "c"]
        assert display.ax_.get_title() == "Weights of the kernels, 2 of 3"

    def test_long_labels_leave_room(self) -> None:
        display = KernelWeightsDisplay(["x" * 100], [1.0]).plot()
        assert tick_labels(display) == ["x" * 35 + "…"]

    def test_lengths_must_agree(self) -> None:
        with pytest.raises(ValueError, match="one entry for each of the 2 labels"):
            KernelWeightsDisplay(["a", "b"], [1.0])

    def test_given_axes_and_style(self) -> None:
        _, ax = plt.subplots()
        display = KernelWeightsDisplay(["a"], [1.0]).plot(ax=ax, color="red")
        assert display.ax_ is ax
        assert ax.patches[0].get_facecolor() == (1.0, 0.0, 0.0, 1.0)


class TestAlignmentPath:
    def test_the_line_is_the_history(self, data: tuple[Any, Any]) -> None:
        learner = ContinuousAlignment().fit(*data)
        [line] = AlignmentPathDisplay.from_estimator(learner).ax_.lines
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(learner.history_) + 1))
        np.testing.assert_allclose(line.get_ydata(), [s.alignment for s in learner.history_])

    def test_ticks_are_whole_steps(self) -> None:
        ticks = AlignmentPathDisplay([0.5]).plot().ax_.get_xticks()
        np.testing.assert_array_equal(ticks, np.round(ticks))

    @pytest.mark.parametrize(
        "model", [MKLClassifier([Gaussian(1.0), "linear"]), ContinuousMKLClassifier()]
    )
    def test_one_stage_learning_has_none(self, data: tuple[Any, Any], model: Any) -> None:
        message = f"The steps of {type(model).__name__} have no alignment"
        with pytest.raises(ValueError, match=message):
            AlignmentPathDisplay.from_estimator(model.fit(*data))

    @pytest.mark.parametrize("alignments", [[], [[0.1]]])
    def test_refuses_what_is_no_path(self, alignments: list[Any]) -> None:
        with pytest.raises(ValueError, match="at least one"):
            AlignmentPathDisplay(alignments)


class TestFeatureRelevance:
    def test_one_width_a_feature(self, data: tuple[Any, Any]) -> None:
        learner = KernelOptimization(Gaussian(ard=True), criterion="cka").fit(*data)
        display = FeatureRelevanceDisplay.from_estimator(learner)
        widths = np.broadcast_to(learner.kernel_.bandwidth, 4)
        np.testing.assert_allclose(display.relevance, widths**-2.0)
        assert tick_labels(display) == [f"x{z}" for z in np.argsort(-display.relevance)]
        assert bar_lengths(display) == sorted(display.relevance, reverse=True)

    def test_weighted_over_kernels_on_columns(self, data: tuple[Any, Any]) -> None:
        kernels = [OnColumns(Gaussian(2.0), [0]), OnColumns(Gaussian(0.5), [0, 3])]
        learner = UniformCombination(kernels).fit(*data)
        first, second = learner.kernel_.weights
        expected = [first / 4 + 4 * second, 0, 0, 4 * second]
        display = FeatureRelevanceDisplay.from_estimator(learner)
        np.testing.assert_allclose(display.relevance, expected)

    def test_one_linear_kernel_a_feature(self, data: tuple[Any, Any]) -> None:
        learner = AlignmentMaximization([Linear(per_feature=True)]).fit(*data)
        display = FeatureRelevanceDisplay.from_estimator(learner)
        assert display.relevance.shape == (4,)
        assert np.argmax(display.relevance) < 2

    def test_names_of_columns(self, data: tuple[Any, Any]) -> None:
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame(data[0], columns=["age", "height", "weight", "pulse"])
        learner = UniformCombination([Gaussian(1.0)])
        scaled = make_pipeline(StandardScaler(), learner)
        unnamed = make_pipeline(FunctionTransformer(np.asarray), learner)
        for model, names in [(learner, list(X)), (scaled, list(X)), (unnamed, ["x0", "x1"])]:
            display = FeatureRelevanceDisplay.from_estimator(model.fit(X, data[1]))
            assert display.features[: len(names)] == names

    def test_lengths_must_agree(self) -> None:
        with pytest.raises(ValueError, match="one entry for each of the 1 features"):
            FeatureRelevanceDisplay(["a"], [1.0, 2.0])


class TestGramMatrix:
    def test_ordered_by_class(self, data: tuple[Any, Any]) -> None:
        X, y = data
        model = make_pipeline(StandardScaler(), TwoStageClassifier(UniformCombination())).fit(X, y)
        display = GramMatrixDisplay.from_estimator(model, X, y)
        order = np.argsort(y, kind="stable")
        expected = model[-1].kernel_(model[:-1].transform(X)[order])
        np.testing.assert_allclose(display.gram, expected)
        assert display.ax_.get_title() == "Gram matrix, ordered by class"
        assert tick_labels(display) == ["no", "yes"]

    def test_ordered_by_response(self, data: tuple[Any, Any]) -> None:
        X = data[0]
        y = np.round(X[:, 0])  # whole numbers, yet a regressor's
        model = TwoStageRegressor(UniformCombination()).fit(X, y)
        display = GramMatrixDisplay.from_estimator(model, X, y)
        assert display.ax_.get_title() == "Gram matrix, ordered by response"
        assert (np.diff(display.y) >= 0).all()

    def test_few_of_many_samples(self, data: tuple[Any, Any]) -> None:
        X, y = data
        learner = UniformCombination([Gaussian()]).fit(X, y)
        display = GramMatrixDisplay.from_estimator(learner, X, y, max_samples=10)
        assert display.gram.shape == (10, 10)
        assert display.y.tolist() == ["no"] * 5 + ["yes"] * 5

    def test_several_outputs_are_ordered_by_the_first(self) -> None:
        display = GramMatrixDisplay(np.diag([1.0, 2.0]), [[0.5, 0.0], [0.2, 1.0]]).plot()
        np.testing.assert_array_equal(display.gram, np.diag([2.0, 1.0]))

    def test_shapes_must_agree(self, data: tuple[Any, Any]) -> None:
        with pytest.raises(ValueError, match=r"gram must have shape \(3, 3\)"):
            GramMatrixDisplay(np.eye(2), [0, 1, 1])
        learner = UniformCombination([Gaussian()]).fit(*data)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            GramMatrixDisplay.from_estimator(learner, data[0], data[1][:5])


class TestOneStage:
    """Estimators that learn the kernel themselves, and searches for their penalty."""

    KERNELS = (OnColumns(Gaussian(1.0), [0]), OnColumns(Gaussian(2.0), [1, 3]))

    @pytest.fixture(params=["alone", "searched", "pipeline searched", "searched in pipeline"])
    def fitted(self, request: pytest.FixtureRequest, data: tuple[Any, Any]) -> Any:
        machine, scaler = MKLClassifier(list(self.KERNELS), norm=2), StandardScaler()
        model = {
            "alone": machine,
            "searched": GridSearchCV(machine, {"C": [0.1, 1.0]}, cv=2),
            "pipeline searched": GridSearchCV(
                make_pipeline(scaler, machine), {"mklclassifier__C": [0.1, 1.0]}, cv=2
            ),
            "searched in pipeline": make_pipeline(
                scaler, GridSearchCV(machine, {"C": [0.1, 1.0]}, cv=2)
            ),
        }[request.param]
        return model.fit(*data)

    def test_weights_and_relevance(self, fitted: Any) -> None:
        machine = learned(fitted)
        assert type(machine) is MKLClassifier
        display = KernelWeightsDisplay.from_estimator(fitted)
        np.testing.assert_allclose(display.weights, machine.weights_)
        first, second = machine.weights_
        relevance = FeatureRelevanceDisplay.from_estimator(fitted)
        np.testing.assert_allclose(relevance.relevance, [first, second / 4, 0, second / 4])
        assert relevance.features == ["x0", "x1", "x2", "x3"]

    def test_the_gram_matrix(self, fitted: Any, data: tuple[Any, Any]) -> None:
        X, y = data
        model = getattr(fitted, "best_estimator_", fitted)
        scaled = model[:-1].transform(X) if isinstance(model, Pipeline) else X
        display = GramMatrixDisplay.from_estimator(fitted, X, y)
        order = np.argsort(y, kind="stable")
        np.testing.assert_allclose(display.gram, learned(fitted).kernel_(scaled[order]))

    def test_names_of_columns(self, data: tuple[Any, Any]) -> None:
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame(data[0], columns=["age", "height", "weight", "pulse"])
        model = make_pipeline(StandardScaler(), MKLClassifier([Gaussian(1.0)]))
        search = GridSearchCV(model, {"mklclassifier__C": [1.0]}, cv=2).fit(X, data[1])
        assert FeatureRelevanceDisplay.from_estimator(search).features == list(X)


@pytest.mark.parametrize(
    "display", [KernelWeightsDisplay, AlignmentPathDisplay, FeatureRelevanceDisplay]
)
def test_estimators_must_be_fitted(display: Any) -> None:
    search = GridSearchCV(MKLClassifier(), {"C": [1.0]})
    two_stage = make_pipeline(StandardScaler(), TwoStageClassifier())
    for estimator in (UniformCombination(), two_stage, MKLClassifier(), search):
        with pytest.raises(NotFittedError):
            display.from_estimator(estimator)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[plot\]"'):
        AlignmentPathDisplay([0.1]).plot()
