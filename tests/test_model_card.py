"""What fitted estimators look like in notebooks, and formulas of kernels as text."""

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    BayesianMKLRegressor,
    ContinuousAlignment,
    HSICClustering,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import (
    CallableKernel,
    Gaussian,
    Laplacian,
    Linear,
    OnColumns,
    Product,
    WeightedSum,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=60)


class Balanced(HTMLParser):
    """Checks that every element is closed, in order, and collects the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def card_of(model: BaseEstimator) -> str:
    """The card beneath the diagram, whose elements are closed."""
    found = model._repr_html_()
    assert type(model).__name__ in found
    card = found[found.index('<div class="mercer-card"') :]
    return " ".join(Balanced(card).words)


@pytest.mark.parametrize(
    ("model", "score"),
    [
        (KernelStackingRegressor([Gaussian(2.0), Laplacian(3.0)]), "Left-out rows: R² 0.9"),
        (TwoStageRegressor(UniformCombination([Gaussian(2.0)])), "penalty was chosen: R² 0.9"),
        (BayesianMKLRegressor([Gaussian(2.0)]), ""),
    ],
    ids=lambda given: type(given).__name__,
)
def test_cards_of_regressors(model: BaseEstimator, score: str) -> None:
    model.fit(X, Y)
    if isinstance(model, KernelStackingRegressor):
        assert "Left-out rows" not in card_of(model)
        assert model.loo_score_ > 0.9  # It is computed when it is first read.
    found = card_of(model)
    assert score in found
    assert "Gaussian, width 2" in found
    assert "Relevance is equal for all features: the kernels treat them alike." in found


def test_cards_say_why_there_is_no_relevance() -> None:
    known, own = OnColumns(Gaussian(2.0), [0]), OnColumns(CallableKernel(lambda A, B: A @ B.T), [1])
    told = "Relevance of {} is not known: a kernel's formula does not tell it."
    found = card_of(UniformCombination([known, lambda A, B: A @ B.T]).fit(X, Y))
    assert told.format("the features") in found
    assert told.format("1 of the features") in card_of(UniformCombination([known, own]).fit(X, Y))
    widths = card_of(UniformCombination([known, OnColumns(Gaussian(2.0), [1])]).fit(X, Y))
    assert "Relevance x0" in widths
    assert "50.0%" in widths
    grams = np.stack([Gaussian(2.0)(X), Gaussian(4.0)(X)], axis=2)
    assert "Relevance" not in card_of(UniformCombination("precomputed").fit(grams, Y))


def test_cards_of_classifiers_and_learners() -> None:
    labels = Y > 0.0
    stack = KernelStackingClassifier([Gaussian(2.0)]).fit(X, labels)
    assert "accuracy" not in card_of(stack)
    assert stack.loo_score_ > 0.9  # It is computed when it is first read.
    assert "accuracy 0.9" in card_of(stack)
    scored = KernelStackingClassifier([Gaussian(2.0)], scoring="roc_auc").fit(X, labels)
    assert "roc_auc 0.9" in card_of(scored)
    assert "accuracy" in card_of(TwoStageClassifier(UniformCombination([Linear()])).fit(X, labels))
    for model in (MKLClassifier(), ContinuousAlignment(), HSICClustering(2)):
        assert "Kernel" in card_of(model.fit(X, labels))


def test_cards_of_updated_models() -> None:
    model = TwoStageRegressor(UniformCombination([Gaussian(2.0)])).fit(X, Y)
    model.update(X, Y + 100.0)
    assert "fit it anew" in card_of(model)


def test_many_kernels_and_features_are_cut_and_names_are_escaped() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(RNG.normal(size=(60, 12)), columns=[f"<b>{z}&" for z in range(12)])
    kernels = [OnColumns(Gaussian(float(z + 1)), [z]) for z in range(12)]
    model = UniformCombination(kernels).fit(table, Y)
    html = model._repr_html_()
    card = html[html.index('<div class="mercer-card"') :]
    assert "<b>" not in card
    assert "and 4 more" in card
    assert card.count("<tr><td style") == 16
    assert "&lt;b&gt;0&amp;" in card


def test_estimators_that_are_not_fitted_have_the_diagram_alone() -> None:
    for made in (KernelStackingRegressor(), UniformCombination()):
        assert "mercer-card" not in made._repr_html_()
    pipeline = make_pipeline(StandardScaler(), TwoStageRegressor(alpha=0.1)).fit(X, Y)
    assert "mercer-card" not in pipeline._repr_html_()
    stack = np.stack([X @ X.T, np.eye(60)], axis=2)
    precomputed = UniformCombination("precomputed").fit(stack, Y)
    assert "kernel 1" in card_of(precomputed)
    assert "Relevance" not in card_of(precomputed)


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (Gaussian(2.0) + 0.5 * Linear(), "1 x Gaussian, width 2 + 0.5 x Linear"),
        (
            WeightedSum([Gaussian(2.0) + Linear(), Linear()], [0.5, 2.0]),
            "0.5 x (1 x Gaussian, width 2 + 1 x Linear) + 2 x Linear",
        ),
        (
            OnColumns(Gaussian(2.0) + Linear(), [0]),
            "(1 x Gaussian, width 2 + 1 x Linear) on [0]",
        ),
        (
            Product([Gaussian(2.0) + Linear(), OnColumns(Linear(), [1])]),
            "(1 x Gaussian, width 2 + 1 x Linear) x (Linear on [1])",
        ),
        (
            WeightedSum([Gaussian(2.0) * Linear(), OnColumns(Linear(), [0])], [3.0, 1.0]),
            "3 x ((Gaussian, width 2) x (Linear)) + 1 x Linear on [0]",
        ),
    ],
)
def test_descriptions_read_as_one_formula(kernel: mercer.kernels.Kernel, formula: str) -> None:
    assert kernel.describe() == formula
