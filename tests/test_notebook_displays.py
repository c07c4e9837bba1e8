"""What notebooks show of estimators and transformers, and formulas of kernels as text."""

import numpy as np
import pandas as pd
import pytest
from display_cases import Balanced
from learner_cases import ESTIMATORS
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import make_pipeline

import mercer
from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
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
from mercer.preprocessing import LetterCodes, SoftClippingScaler, TextScores, table_encoder

pytestmark = pytest.mark.usefixtures("few_folds")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=60)


def card_of(model: BaseEstimator) -> str:
    """The card beneath the diagram, whose elements are closed."""
    found = model._repr_html_()
    assert type(model).__name__ in found
    card = found[found.index('<div class="mercer-card"') :]
    return " ".join(Balanced(card).words)


def test_cards_hold_the_kernel_the_score_and_the_relevance() -> None:
    labels = Y > 0.0
    stack = KernelStackingRegressor([Gaussian(2.0), Laplacian(3.0)]).fit(X, Y)
    assert "Left-out rows" not in card_of(stack)
    assert stack.loo_score_ > 0.9  # It is computed when it is first read.
    told = card_of(stack)
    assert "Left-out rows: R² 0.9" in told
    assert "Gaussian, width 2" in told
    assert "Relevance is equal for all features: the kernels treat them alike." in told
    scored = KernelStackingClassifier([Gaussian(2.0)], scoring="roc_auc").fit(X, labels)
    assert scored.loo_score_ > 0.9
    assert "roc_auc 0.9" in card_of(scored)
    model = TwoStageRegressor(UniformCombination([Gaussian(2.0)])).fit(X, Y)
    assert "penalty was chosen: R² 0.9" in card_of(model)
    features = {"approximation": "nystroem", "n_components": 10}
    model = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), **features).fit(X, Y)
    model.prepare_updates(X, Y).update(X, Y + 100.0)
    assert "fit it anew" in card_of(model)
    assert "accuracy" in card_of(TwoStageClassifier(UniformCombination([Linear()])).fit(X, labels))


def test_cards_say_why_there_is_no_relevance() -> None:
    known, own = OnColumns(Gaussian(2.0), [0]), OnColumns(CallableKernel(lambda A, B: A @ B.T), [1])
    told = "Relevance of {} is not known: a kernel has an unknown formula."
    found = card_of(UniformCombination([known, lambda A, B: A @ B.T]).fit(X, Y))
    assert told.format("the features") in found
    assert told.format("1 of the features") in card_of(UniformCombination([known, own]).fit(X, Y))
    widths = card_of(UniformCombination([known, OnColumns(Gaussian(2.0), [1])]).fit(X, Y))
    assert "Relevance x0" in widths
    assert "50.0%" in widths
    grams = np.stack([Gaussian(2.0)(X), Gaussian(4.0)(X)], axis=2)
    precomputed = card_of(UniformCombination("precomputed").fit(grams, Y))
    assert "kernel 1" in precomputed
    assert "Relevance" not in precomputed


def test_many_kernels_and_features_are_cut_and_names_are_escaped() -> None:
    table = pd.DataFrame(RNG.normal(size=(60, 12)), columns=[f"<b>{z}&" for z in range(12)])
    kernels = [OnColumns(Gaussian(float(z + 1)), [z]) for z in range(12)]
    model = UniformCombination(kernels).fit(table, Y)
    html = model._repr_html_()
    card = html[html.index('<div class="mercer-card"') :]
    assert "<b>" not in card
    assert "and 4 more" in card
    assert card.count("<tr") == 18
    assert "&lt;b&gt;0&amp;" in card


N = 24


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_have_a_diagram_and_a_card_once_they_are_fitted(name: str) -> None:
    estimator, counts = ESTIMATORS[name](), np.random.default_rng(1).poisson(2.0, N)
    table = pd.DataFrame(X[:N], columns=["a", "b", "c"])
    assert "mercer-card" not in estimator._repr_html_()
    assert name in make_pipeline(table_encoder(), estimator)._repr_html_()
    fitted = estimator.fit(table, counts > 1 if is_classifier(estimator) else counts)
    assert name in fitted._repr_html_()


@pytest.mark.parametrize(
    ("transformer", "columns"),
    [
        (table_encoder(), ["a", "b", "color"]),
        (SoftClippingScaler(), ["a", "b"]),
        (LetterCodes(), ["color"]),
        (TextScores(), ["color"]),
    ],
)
def test_transformers_have_a_diagram(transformer: BaseEstimator, columns: list[str]) -> None:
    table = pd.DataFrame(X[:N, :2], columns=["a", "b"])
    table["color"] = np.random.default_rng(0).choice(["red", "green", "bluish gray"], N)
    for shown in (transformer, make_pipeline(transformer)):
        assert type(transformer).__name__ in shown._repr_html_()
        assert "fitted" in shown.fit(table[columns], np.arange(N) % 3)._repr_html_()


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (
            WeightedSum([Gaussian(2.0) + Linear(), Linear()], [0.5, 2.0]),
            "0.5 x (1 x Gaussian, width 2 + 1 x Linear) + 2 x Linear",
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
