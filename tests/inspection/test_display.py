"""What displays read off estimators, pipelines and searches; the display of the Gram matrix."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from display_cases import tick_labels
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer, StandardScaler
from sklearn.svm import SVC

from mercer import (
    KernelStackingClassifier,
    MKLClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import (
    AlignmentPathDisplay,
    FeatureRelevanceDisplay,
    GramMatrixDisplay,
    KernelTerms,
    KernelWeightsDisplay,
    kernel_terms,
)
from mercer.inspection._display import learned
from mercer.kernels import Gaussian, OnColumns

plt = pytest.importorskip("matplotlib.pyplot")


KERNELS = (OnColumns(Gaussian(1.0), [0]), OnColumns(Gaussian(2.0), [1, 3]))


@pytest.mark.parametrize("is_scaled_outside", [False, True])
def test_displays_see_through_searches_and_pipelines(
    data: tuple[Any, Any], is_scaled_outside: bool
) -> None:
    X, y = data
    model: Any = MKLClassifier(list(KERNELS), norm=2)
    name = "C"
    if not is_scaled_outside:
        model, name = make_pipeline(StandardScaler(), model), "mklclassifier__C"
    model = GridSearchCV(model, {name: [0.1, 1.0]}, cv=2)
    if is_scaled_outside:
        model = make_pipeline(StandardScaler(), model)
    classifier = learned(model.fit(X, y))
    assert type(classifier) is MKLClassifier
    display = KernelWeightsDisplay.from_estimator(model)
    np.testing.assert_allclose(display.shares, classifier.shares_)
    first, second = classifier.weights_
    relevance = FeatureRelevanceDisplay.from_estimator(model)
    np.testing.assert_allclose(relevance.relevance, [first, second / 4, 0, second / 4])
    assert relevance.features == ["x0", "x1", "x2", "x3"]
    gram = GramMatrixDisplay.from_estimator(model, X, y)
    scaled = StandardScaler().fit_transform(X)[np.argsort(y, kind="stable")]
    np.testing.assert_allclose(gram.gram, classifier.kernel_(scaled))
    assert tick_labels(gram) == ["no", "yes"]


def test_estimators_without_a_learned_kernel_are_refused(data: tuple[Any, Any]) -> None:
    search = GridSearchCV(MKLClassifier(), {"C": [1.0]})
    two_stage = make_pipeline(StandardScaler(), TwoStageClassifier())
    for estimator in (UniformCombination(), two_stage, search):
        with pytest.raises(NotFittedError):
            KernelWeightsDisplay.from_estimator(estimator)
    with pytest.raises(TypeError, match="SVC has learned no kernel: this display takes a fitted"):
        FeatureRelevanceDisplay.from_estimator(SVC().fit(*data))


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[plot\]"'):
        AlignmentPathDisplay([0.1]).plot()


def test_a_stack_shows_its_candidates_its_relevance_and_its_kernels(data: tuple[Any, Any]) -> None:
    X, y = data
    kernels = [Gaussian(1.0), OnColumns(Gaussian(2.0), [1, 3])]
    model = make_pipeline(StandardScaler(), KernelStackingClassifier(kernels)).fit(X, y)
    stack = model[-1]
    display = KernelWeightsDisplay.from_estimator(model)
    expected = {c.description: c.weight for c in stack.candidates_ if c.weight}
    assert dict(zip(display.labels, display.shares, strict=True)) == pytest.approx(expected)
    relevance = FeatureRelevanceDisplay.from_estimator(model)
    np.testing.assert_allclose(relevance.relevance, stack.relevance_)
    order = np.argsort(y, kind="stable")
    gram = 0.0
    for kernel, weight in zip(stack.kernels_, stack.weights_, strict=True):
        K_c = KernelCenterer().fit_transform(kernel(model[:-1].transform(X)[order]))
        gram += weight * K_c / np.diag(K_c).mean()
    np.testing.assert_allclose(GramMatrixDisplay.from_estimator(model, X, y).gram, gram, atol=1e-10)
    with pytest.raises(ValueError, match="learns no kernel in steps"):
        AlignmentPathDisplay.from_estimator(model)


class Custom(BaseEstimator):
    """An estimator that has the methods which displays ask for, and no more."""

    def fit(self, X: Any, y: Any) -> Custom:
        self.n_features_in_ = X.shape[1]
        return self

    def kernel_terms(self) -> KernelTerms:
        kernel, ones = Gaussian(0.5), np.ones(1)
        return KernelTerms([kernel], ["mine"], ones, ones, kernel.relevance(2))

    def learned_gram(self, X: Any) -> Any:
        return Gaussian(0.5)(X)


def test_displays_ask_for_two_methods_only(data: tuple[Any, Any]) -> None:
    X, y = data[0][:, :2], data[1]
    model = Custom().fit(X, y)
    assert kernel_terms(model).labels == KernelWeightsDisplay.from_estimator(model).labels
    relevance = FeatureRelevanceDisplay.from_estimator(model).relevance
    np.testing.assert_array_equal(relevance, [4.0, 4.0])
    gram = GramMatrixDisplay.from_estimator(model, X, y).gram
    np.testing.assert_allclose(gram, Gaussian(0.5)(X[np.argsort(y, kind="stable")]))


def test_ordered_by_response(data: tuple[Any, Any]) -> None:
    X = data[0]
    y = np.round(X[:, 0])  # These are whole numbers, but responses of a regressor.
    model = TwoStageRegressor(UniformCombination()).fit(X, y)
    display = GramMatrixDisplay.from_estimator(model, X, y)
    assert display.ax_.get_title() == "Gram matrix, ordered by response"
    assert (np.diff(display.y) >= 0).all()


def test_few_of_many_samples(data: tuple[Any, Any]) -> None:
    X, y = data
    learner = UniformCombination([Gaussian()]).fit(X, y)
    display = GramMatrixDisplay.from_estimator(learner, X, y, max_samples=10)
    assert display.gram.shape == (10, 10)
    assert display.y.tolist() == ["no"] * 5 + ["yes"] * 5
    assert display.ax_.get_title() == "Gram matrix, ordered by class,\n10 of 60 samples"


def test_matrices_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"gram must have shape \(2, 2\)"):
        GramMatrixDisplay(np.ones((2, 3)), [0, 1])


def test_several_outputs_are_ordered_by_the_first() -> None:
    display = GramMatrixDisplay(np.diag([1.0, 2.0]), [[0.5, 0.0], [0.2, 1.0]]).plot()
    np.testing.assert_array_equal(display.gram, np.diag([2.0, 1.0]))


def test_responses_are_of_the_rows(data: tuple[Any, Any]) -> None:
    learner = UniformCombination([Gaussian()]).fit(*data)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GramMatrixDisplay.from_estimator(learner, data[0], data[1][:5])
