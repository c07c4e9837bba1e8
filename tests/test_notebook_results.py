"""What notebooks show of kernels and of results, and the short texts that terminals show."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from display_cases import Balanced
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from mercer import (
    KernelOptimization,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
)
from mercer._data.notebook import Bar, NotebookResult, listed, table
from mercer.inspection import (
    Contribution,
    PartialDependence,
    ShapleyInteractions,
    ShapleyValues,
    SobolIndices,
    TrainingContributions,
    kernel_terms,
    partial_dependence,
    shapley_interactions,
    shapley_values,
    sobol_indices,
    training_contributions,
)
from mercer.kernels import (
    Categorical,
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    OnProjection,
    Ordinal,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Tanimoto,
    WeightedSum,
)
from mercer.metrics import alignment_bounds
from mercer.preprocessing import table_encoder

pytestmark = pytest.mark.usefixtures("few_folds")

RNG = np.random.default_rng(0)
NAMES = ["<b>a", "b & c", "c"]
X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=NAMES)
Y = X["<b>a"].to_numpy() + 0.1 * RNG.normal(size=60)


class Rows(HTMLParser):
    """The cells of the rows of all tables of a text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def shown(result: Any) -> tuple[str, list[list[str]]]:
    """The text of a result's HTML, and its rows; names are escaped, and colors are the page's."""
    html = result._repr_html_()
    assert "<b>" not in html
    assert "<script" not in html
    assert re.search(r"(?<!-)\bcolor:(?!inherit)|background:(?!currentColor|none)", html) is None
    return " ".join(Balanced(html).words), Rows(html).rows


FORMULAS: dict[str, tuple[Kernel, dict[str, float]]] = {
    "Gaussian": (Gaussian(1.7), {"width": 1.7}),
    "Laplacian": (Laplacian(1.7), {"width": 1.7}),
    "Matern 1/2": (Matern(1.7, nu=0.5), {"width": 1.7}),
    "Matern 3/2": (Matern(1.7, nu=1.5), {"width": 1.7}),
    "Matern 5/2": (Matern(1.7, nu=2.5), {"width": 1.7}),
    "RationalQuadratic": (RationalQuadratic(1.7, alpha=0.6), {"width": 1.7, "alpha": 0.6}),
    "ExponentialPower": (ExponentialPower(1.7, power=0.8), {"width": 1.7, "power": 0.8}),
    "Dirichlet": (Dirichlet(1.3), {"frequency": 1.3}),
    "Linear": (Linear(), {}),
    "Polynomial": (Polynomial(3, gamma=0.7, coef0=1.5), {"gamma": 0.7}),
    "Periodic": (Periodic(1.7, period=2.2), {"width": 1.7, "period": 2.2}),
    "Categorical": (Categorical(1.7), {"width": 1.7}),
    "Ordinal": (Ordinal(4.5), {"width": 4.5}),
    "Tanimoto": (Tanimoto(), {}),
    "Tanimoto of counts": (Tanimoto("inner"), {}),
}


def evaluated(formula: str, known: dict[str, float], x: float, z: float) -> float:
    """The value of a formula for samples of one feature."""
    formula = re.sub(r"ₚ, p = [\d.]+$", "", formula)
    signs = {"\N{MINUS SIGN}": "-", "²": "**2", "^": "**", "·": "*", "∑": "", "∏": "", "≠": "!="}
    signs |= {"sin**2(": "sin_squared("}
    for sign, python in signs.items():
        formula = formula.replace(sign, python)
    formula = re.sub(r"√(\d)", r"sqrt(\1)", formula)
    formula = re.sub(r"‖(.*?)‖", r"abs(\1)", formula)
    formula = re.sub(r"\|(.*?)\|", r"abs(\1)", formula)
    formula = re.sub(r"\[(.*?)\]", r"float(\1)", formula)
    text, _, distance = formula.partition(", d = ")
    names: dict[str, Any] = {"x": x, "z": z, "pi": np.pi, "π": np.pi, **known}
    names |= {"exp": np.exp, "sqrt": np.sqrt, "cos": np.cos, "max": max, "min": min}
    names["sin_squared"] = lambda angle: np.sin(angle) ** 2
    if distance:
        names["d"] = eval(distance, names)
    return float(eval(text, names))


@pytest.mark.parametrize("name", FORMULAS)
def test_shown_formulas_are_those_of_the_kernels(name: str) -> None:
    kernel, known = FORMULAS[name]
    _, (header, row) = shown(kernel)
    assert header == ["Kernel", "Formula"]
    assert row[0] == kernel.describe()
    for x, z in ((1.0, 3.0), (2.0, 2.0)):
        value = evaluated(row[1], known, x, z)
        assert value == pytest.approx(kernel([[x]], [[z]]).item())


def test_a_subclass_does_not_show_the_formula_of_its_parent() -> None:
    class Own(Gaussian):
        pass

    assert shown(Own())[1] == [["Kernel"], ["Own, width 1"]]


def test_composed_kernels_show_weights_columns_and_widths() -> None:
    product = OnColumns(Matern(1.5), ["c"]) * Categorical()
    kernel = Gaussian(2.0) + 3.0 * OnColumns(Linear(), ["<b>a", "b & c"]) + 0.5 * product
    _, rows = shown(kernel)
    assert rows[0] == ["Weight", "Kernel", "Formula", "Columns"]
    assert [row[0] for row in rows[1:]] == ["3", "1", "0.5", "\N{MULTIPLICATION SIGN}"]
    assert [row[3] for row in rows[1:]] == ["<b>a, b & c", "", "c", ""]
    nested = WeightedSum([2.0 * Linear() + Gaussian(), OnColumns(kernel, [2, 0])], [3.0, 1.0])
    assert [row[0] for row in shown(nested)[1][1:4]] == ["6", "3", "3"]
    sums = Product([Gaussian() + Linear(), Gaussian()])
    assert shown(sums)[1][1][0] == sums.describe()


def test_learned_kernels_show_names_of_columns() -> None:
    parts = [OnColumns(Gaussian(2.0), [1]), OnColumns(Gaussian(np.array([3.0, 0.5])), slice(0, 2))]
    learner = UniformCombination([*parts, OnProjection(Gaussian(), np.eye(3)[:, :2])]).fit(X, Y)
    rows = shown(learner.kernel_)[1]
    assert [row[3] for row in rows[1:]] == [
        "b & c",
        "b & c (width 0.5), <b>a (width 3)",
        "2 projections",
    ]
    ard = shown(KernelOptimization(Gaussian(ard=True)).fit(X, Y).kernel_)[1]
    assert re.fullmatch(r"<b>a \(width .*\), .* \(width .*\), .* \(width .*\)", ard[1][-1])
    assert "x0 (width 1), x2 (width 2)" in shown(Gaussian(np.array([1.0, 3.0, 2.0])))[0]
    by_function = OnColumns(Gaussian(), lambda table: [0])
    assert shown(by_function)[1][1][-1] == "chosen by a function"
    assert shown(OnColumns(Gaussian(), [False, True]))[1][1][-1] == "x1"
    assert shown(OnColumns(Gaussian(), slice("a", None)))[1][1][-1] == "a:"


def test_many_terms_and_columns_are_cut() -> None:
    kernel = WeightedSum([Gaussian(z + 1.0) for z in range(30)], np.arange(30.0))
    _, rows = shown(kernel)
    assert len(rows) == 10
    assert rows[1][0] == "29"
    assert rows[-1] == ["and 22 more"]
    wide = OnColumns(Linear(), list(range(1000)))
    assert shown(wide)[1][1][-1] == "x0, x1, x2, x3, x4, x5 and 994 more"


@pytest.fixture(scope="module")
def model() -> TwoStageRegressor:
    return TwoStageRegressor(UniformCombination([Gaussian(2.0)])).fit(X, Y)


@pytest.fixture(scope="module")
def classifier() -> TwoStageClassifier:
    return TwoStageClassifier(C=1.0).fit(X, (Y > 0.3).astype(int))


RESULTS: dict[str, Callable[[Any], Any]] = {
    "Shapley values of a row": lambda model: shapley_values(model, X[:1]),
    "Shapley values": lambda model: shapley_values(model, X[:4]),
    "interactions": lambda model: shapley_interactions(model, X[:2]),
    "Sobol": sobol_indices,
    "training rows": lambda model: training_contributions(model, X[:1], X),
    "training rows of two": lambda model: training_contributions(model, X[:2], X),
    "curve": lambda model: partial_dependence(model, X, "<b>a"),
    "surface": lambda model: partial_dependence(model, X, ("<b>a", "c")),
    "expansion": lambda model: model.kernel_expansion(),
    "terms": kernel_terms,
    "contribution": lambda model: shapley_values(model, X[:1]).largest()[0],
    "bounds": lambda model: alignment_bounds(Gaussian(), Y, X=X),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_shown_as_small_tables(name: str, model: TwoStageRegressor) -> None:
    found = RESULTS[name](model)
    told, rows = shown(found)
    assert len(told) > 20
    if name == "surface":
        assert {len(row) for row in rows} == {len(rows)} == {7}
        corners = found.average[0, [0, -1], [0, -1]]
        assert [float(rows[z][z]) for z in (1, -1)] == pytest.approx(corners, rel=1e-3)
    assert isinstance(found, NotebookResult)
    text = repr(found)
    assert text.startswith(f"{type(found).__name__}(")
    assert len(text) < 800
    assert "array([" not in text


def test_the_largest_contributions_come_first(model: TwoStageRegressor) -> None:
    one = shapley_values(model, X[:1])
    told, rows = shown(one)
    assert told.startswith(one.headline(0))
    assert [row[:2] for row in rows[1:]] == [
        [item.name, item.cell.removeprefix(item.name).strip()] for item in one.largest()
    ]
    many = shapley_values(model, X)
    rows = shown(many)[1]
    assert rows[0][:2] == ["Column", "Mean"]
    assert [row[0] for row in rows[1:]] == [NAMES[z] for z in np.argsort(-many.importances)]
    assert float(rows[1][1]) == pytest.approx(many.importances.max(), rel=1e-3)
    first, second, size = shapley_interactions(model, X[:2]).strongest(1)[0]
    assert shown(shapley_interactions(model, X[:2]))[1][1][:2] == [first, second]
    assert float(shown(shapley_interactions(model, X[:2]))[1][1][2]) == pytest.approx(size, 1e-3)


def values_of(amounts: Any, names: list[str], outputs: list[str]) -> ShapleyValues:
    amounts = np.asarray(amounts, dtype=float)
    single = amounts.ndim == 2
    n_outputs = 1 if single else amounts.shape[2]
    covariances = np.zeros((*amounts.shape[:2], n_outputs, n_outputs))
    base: Any = 0.0 if single else np.zeros(n_outputs)
    shrinkage = np.zeros(len(amounts)) if single else np.zeros((len(amounts), n_outputs))
    data = np.zeros(amounts.shape[:2])
    scale: Any = "response" if not outputs else "logit"
    return ShapleyValues(amounts, base, covariances, data, names, outputs, scale, shrinkage)


def test_shapley_values_of_no_rows_of_many_columns_and_of_unknown_amounts() -> None:
    empty = values_of(np.empty((0, 2)), ["a", "b"], [])
    assert "No rows are explained" in shown(empty)[0]
    wide = values_of(np.arange(40.0)[None], [f"n{z}" for z in range(40)], [])
    rows = shown(wide)[1]
    assert [row[0] for row in rows[1:9]] == [f"n{z}" for z in range(39, 31, -1)]
    assert rows[-1] == ["and 32 more"]
    unknown = shown(values_of([[np.nan, -2.0]], ["a", "b"], []))[1]
    assert [row[0] for row in unknown[1:]] == ["b", "a"]
    assert unknown[2][2] == "NaN"
    of_classes = values_of(RNG.normal(size=(3, 2, 6)), ["a", "b"], list("uvwxyz"))
    told, rows = shown(of_classes)
    assert rows[0] == ["Column", "u", "v", "w", "x", ""]
    assert "and 2 further outputs" in told
    # Several responses have no names, and no class is the most probable one.
    assert shown(values_of(RNG.normal(size=(1, 2, 2)), ["a", "b"], []))[1][0][1] == "output 0"
    long = values_of([[1.0]], ["n" * 500], [])
    assert len(shown(long)[1][1][0]) == 40


def test_other_explanations_of_no_rows_and_of_several_outputs() -> None:
    nothing = ShapleyInteractions(np.empty((0, 2, 2)), ["a", "b"], [], "response")
    pairs = ShapleyInteractions(np.full((1, 5, 5), np.nan), list("abcde"), [], "response")
    assert shown(pairs)[1][-1] == ["and 2 more"]
    zeros, shares = np.zeros((2, 2, 2)), np.eye(2)
    both = SobolIndices(
        shares, zeros, shares, np.array([1.0, 3.0]), ["a", "b"], ["u", "v"], "logit"
    )
    assert [row[:3] for row in shown(both)[1][1:]] == [["b", "0.75", "0.75"], ["a", "0.25", "0.25"]]
    rows, table = np.arange(3), np.zeros((3, 1))
    none = TrainingContributions(
        np.empty((0, 3)), np.empty(0), rows, False, table, ["a"], [], "response"
    )
    assert all("No rows are explained" in shown(one)[0] for one in (nothing, none))
    two = replace(none, values=np.ones((2, 3, 2)), output_names=["u", "v"], are_centers=True)
    assert shown(two)[1][0] == ["Center", "u", "v", ""]


def curve(grid: Any, average: Any, kind: str, names: list[str]) -> PartialDependence:
    average = np.asarray(average, dtype=float)
    individual = average[:, None]
    grid = np.asarray(grid)
    return PartialDependence(
        ("<b>",), (kind,), (grid,), average, individual, (grid,), names, "response"
    )


def test_curves_are_pictures_and_categories_are_bars() -> None:
    told, _ = shown(curve([0.0, 1.0, 3.0], [[1.0, 5.0, 2.0]], "number", []))
    assert all(word in told.split() for word in ("0", "3", "1", "5"))
    picture = curve([0.0, 1.0, 3.0], [[1.0, 5.0, 2.0]], "number", [])._repr_html_()
    assert re.findall(r'points="(.*?)"', picture) == ["70.0,120.0 170.0,10.0 370.0,92.5"]
    broken = curve([0.0, 1.0], [[np.nan, np.nan]], "number", [])
    assert 'points=""' in broken._repr_html_()
    dates = np.array(["2024-01-01", "2024-03-01"], dtype="datetime64[ms]")
    assert "2024-03-01" in shown(curve(dates, [[1.0, 2.0]], "date", []))[0]
    several = curve([0.0, 1.0], np.ones((6, 2)), "number", ["<b>", *"vwxyz"])
    assert several._repr_html_().count("<polyline") == 4
    assert "and 2 further outputs" in shown(several)[0]
    letters = curve([f"<b>{k}" for k in range(20)], [np.arange(20.0)], "category", [])
    rows = shown(letters)[1]
    assert rows[1][:2] == ["<b>19", "19"]
    assert rows[-1] == ["and 12 more"]


def test_probabilities_are_named(classifier: TwoStageClassifier) -> None:
    assert "Probability of 1" in shown(partial_dependence(classifier, X, "c"))[0]
    flowers, kinds = load_iris(return_X_y=True, as_frame=True)
    three = TwoStageClassifier(C=1.0).fit(flowers, kinds)
    told = shown(shapley_values(three, flowers[:1]))[0]
    assert told.startswith("Probability of 0 ")


def test_pipelines_and_searches_show_the_card_of_their_estimator() -> None:
    pipe = make_pipeline(table_encoder(), KernelStackingRegressor([Gaussian(2.0)])).fit(X, Y)
    search = GridSearchCV(TwoStageRegressor(), {"alpha": [1.0, 2.0]}, cv=2).fit(X, Y)
    for estimator in (pipe, search):
        assert estimator._repr_html_().count('<div class="mercer-card"') == 1
    named = make_pipeline(table_encoder(), KernelStackingRegressor([Gaussian(ard=True)]))
    named = named.set_output(transform="pandas").fit(X, Y)
    assert "b &amp; c" in named._repr_html_().split('<div class="mercer-card"')[1]
    fitted = KernelStackingRegressor([Gaussian(2.0)]).fit(X, Y)
    assert fitted._repr_html_().count('<div class="mercer-card"') == 1


def test_terms_of_a_pipeline_have_the_names_of_its_columns() -> None:
    learner = UniformCombination([OnColumns(Gaussian(), [0]), OnColumns(Gaussian(3.0), [1])])
    terms = kernel_terms(make_pipeline(table_encoder(), learner).fit(X, Y))
    assert terms.feature_names == NAMES
    assert ["<b>a", "90.0%", ""] in shown(terms)[1]
    assert kernel_terms(learner.fit(X.to_numpy(), Y)).feature_names is None


def test_compressed_models_show_the_growth_of_the_error(model: TwoStageRegressor) -> None:
    small = compress(model, X, n_components=20)
    n_centers = len(small.rows_per_center_)
    told = f"With {n_centers} centers, the error grows by {small.loss_:.1%}."
    assert told in small._repr_html_()
    assert "mercer-card" not in type(small)(model)._repr_html_()


def test_tables_hold_text_numbers_and_bars() -> None:
    html = table([("\u202e<i>", 0.00001234, Bar(-0.5)), ("b", 3, Bar(np.nan))], ("A", "B", ""))
    assert "<i>" not in html
    assert "width:50.0%" in html
    assert "border:1px solid" in html
    assert [row[1] for row in Rows(html).rows] == ["B", "1.234e-05", "3"]
    assert table([], title="none") != ""
    assert listed([]) == ""
    hidden = Contribution("\u202e", 1.0, 2.0, 0.0)
    assert "\u202e" not in hidden._repr_html_() + repr(hidden)
