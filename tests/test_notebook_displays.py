"""What notebooks and terminals show of estimators, kernels and results."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from display_cases import Balanced
from learner_cases import ESTIMATORS
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import make_pipeline

import mercer
from mercer import TwoStageRegressor, UniformCombination
from mercer.inspection import (
    kernel_terms,
    partial_dependence,
    report,
    shapley_interactions,
    shapley_values,
    sobol_indices,
    training_contributions,
)
from mercer.kernels import Gaussian, Linear, OnColumns, Product, WeightedSum
from mercer.metrics import alignment_bounds
from mercer.preprocessing import LetterCodes, SoftClippingScaler, TextScores, table_encoder

pytestmark = pytest.mark.usefixtures("few_folds")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=60)
TABLE = pd.DataFrame(X, columns=["<b>a", "b & c", "c\u202e"])


N = 24


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_have_a_diagram(name: str) -> None:
    estimator, counts = ESTIMATORS[name](), np.random.default_rng(1).poisson(2.0, N)
    table = pd.DataFrame(X[:N], columns=["a", "b", "c"])
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


def test_kernels_have_a_diagram_of_their_parameters() -> None:
    kernel = Gaussian(2.0) + 0.5 * OnColumns(Linear(), ["<b>a"])
    for shown in (kernel, UniformCombination([kernel]).fit(TABLE, Y).kernel_):
        html = shown._repr_html_()
        assert type(shown).__name__ in html
        assert "<b>a" not in html


RESULTS: dict[str, Callable[[Any], Any]] = {
    "Shapley values": lambda model: shapley_values(model, TABLE[:4]),
    "interactions": lambda model: shapley_interactions(model, TABLE[:2]),
    "Sobol": sobol_indices,
    "training rows": lambda model: training_contributions(model, TABLE[:2], TABLE),
    "curve": lambda model: partial_dependence(model, TABLE, "<b>a"),
    "surface": lambda model: partial_dependence(model, TABLE, ("<b>a", "c\u202e")),
    "expansion": lambda model: model.kernel_expansion(),
    "terms": kernel_terms,
    "report": lambda model: report(model, TABLE, Y),
    "contribution": lambda model: shapley_values(model, TABLE[:1]).largest()[0],
    "bounds": lambda model: alignment_bounds(Gaussian(), Y, X=TABLE),
}


@pytest.fixture(scope="module")
def model() -> TwoStageRegressor:
    return TwoStageRegressor(UniformCombination([Gaussian(2.0)])).fit(TABLE, Y)


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_short_texts_and_data_frames(name: str, model: TwoStageRegressor) -> None:
    found = RESULTS[name](model)
    text = repr(found)
    assert text.startswith(f"{type(found).__name__}(")
    assert len(text) < 800
    assert "array([" not in text
    if name in ("expansion", "contribution", "bounds", "training rows"):
        assert not hasattr(found, "_repr_html_")
        return
    html = found._repr_html_()
    Balanced(html.replace("<hr>", "").replace("<br>", ""))
    assert "<table" in html
    assert "<b>" not in html
    assert "\u202e" not in html + text


@pytest.mark.parametrize("name", ["Shapley values", "interactions", "Sobol", "curve", "terms"])
def test_results_are_texts_where_pandas_is_absent(
    name: str, model: TwoStageRegressor, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = RESULTS[name](model)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert found._repr_html_() is None
    with pytest.raises(ImportError, match="pip install pandas"):
        found.to_frame()


def test_frames_hold_the_numbers(model: TwoStageRegressor) -> None:
    pairs = shapley_interactions(model, TABLE[:5])
    frame = pairs.to_frame()
    assert [tuple(row) for row in frame.itertuples(index=False)] == pairs.strongest(3)
    assert replace(pairs, values=pairs.values[:0]).to_frame().empty
    shares = sobol_indices(model)
    np.testing.assert_array_equal(shares.to_frame()["alone"], shares.first_order)
    assert list(shares.to_frame().index) == list(TABLE)
    both = replace(
        shares,
        first_order=np.eye(2),
        total_order=np.eye(2),
        variance=np.array([1.0, 3.0]),
        feature_names=["a", "b"],
    )
    np.testing.assert_allclose(both.to_frame(), [[0.25, 0.25], [0.75, 0.75]])
    terms = kernel_terms(UniformCombination([Gaussian(9.0), Gaussian(1.0)]).fit(TABLE, Y))
    frame = terms.to_frame()
    assert list(frame["kernel"]) == ["Gaussian, width 1", "Gaussian, width 9"]
    np.testing.assert_array_equal(frame["share"], np.sort(terms.shares)[::-1])


def test_terms_of_a_pipeline_have_the_names_of_its_columns() -> None:
    learner = UniformCombination([OnColumns(Gaussian(), [0]), OnColumns(Gaussian(3.0), [1])])
    terms = kernel_terms(make_pipeline(table_encoder(), learner).fit(TABLE, Y))
    assert terms.feature_names == list(TABLE)
    assert kernel_terms(learner.fit(TABLE.to_numpy(), Y)).feature_names is None


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
