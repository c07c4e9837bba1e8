"""Displays of contributions draw their numbers, name columns and units, and refuse bad input."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from display_cases import bar_lengths, tick_labels
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from mercer import (
    KernelLogisticRegression,
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import (
    ImportanceDisplay,
    InteractionsDisplay,
    shapley_interactions,
    shapley_values,
)
from mercer.inspection._display import BAR_COLOR, WARM_COLOR
from mercer.kernels import Gaussian, Linear
from mercer.preprocessing import table_encoder

pytestmark = pytest.mark.usefixtures("few_folds_throughout")


N = 90


@pytest.fixture(scope="module")
def model(table: Any) -> Any:
    y = table["age"] / 10.0 * (1.0 + (table["town"] == "Bern")) + table["height"] / 50.0
    learner = UniformCombination([Gaussian(3.0)])
    return make_pipeline(table_encoder(), TwoStageRegressor(learner, alpha=0.1)).fit(table, y)


@pytest.fixture(scope="module")
def values(model: Any, table: Any) -> Any:
    return shapley_values(model, table)


@pytest.fixture(scope="module")
def classifier(table: Any) -> Any:
    y = np.digitize(table["age"], [40, 60])
    stack = KernelStackingClassifier([Gaussian(3.0)], approximation="nystroem", n_components=60)
    return make_pipeline(table_encoder(), stack).fit(table, y)


@pytest.fixture(scope="module")
def far() -> Any:
    """Contributions to predictions of a stack far from its training rows."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    stack = KernelStackingRegressor([Gaussian(2.0)]).fit(X, X[:, 0])
    return shapley_values(stack, 20.0 * X)


class TestOneRow:
    def test_bars_are_signed_contributions(self, values: Any) -> None:
        signs = np.sign(values.values)
        row = int(np.flatnonzero(signs.min(axis=1) < signs.max(axis=1))[0])
        display = ImportanceDisplay(values, row, unit="kg").plot()
        sorted_amounts = sorted(values.values[row], key=abs, reverse=True)
        assert_allclose(bar_lengths(display), sorted_amounts)
        assert tick_labels(display) == [one.cell for one in values.largest(row, 4)]
        colors = [to_hex(bar.get_facecolor()) for bar in display.ax_.patches]
        assert colors == [WARM_COLOR if one > 0.0 else BAR_COLOR for one in sorted_amounts]
        assert display.ax_.get_xlabel() == "Contribution to the prediction, kg"
        prediction, base = values.predictions[row], values.base_value
        title = f"Prediction {prediction:.2f} kg, average row {base:.2f} kg"
        assert display.ax_.get_title() == title

    def test_rows_far_from_the_training_rows(self, far: Any) -> None:
        display = ImportanceDisplay(far, 1).plot()
        position = tick_labels(display).index("far from training rows")
        assert_allclose(bar_lengths(display)[position], far.shrinkage[1])
        assert_allclose(far.base_value + sum(bar_lengths(display)), far.predictions[1])

    def test_the_most_probable_class(self, classifier: Any, table: Any) -> None:
        found = shapley_values(classifier, table[1:2])
        display = ImportanceDisplay(found, 0).plot()
        label = classifier.predict(table[1:2])[0]
        assert display.ax_.get_xlabel() == f"Multiplies the odds of {label} by"
        places, names = display.ax_.get_xticks(), display.ax_.get_xticklabels()
        factors = [float(name.get_text()) for name in names]
        assert 1.0 in factors
        assert len(factors) > 2
        assert_allclose(np.exp(places), factors, rtol=5e-3)
        other = ImportanceDisplay(found, 0, output=0).plot()
        assert other.ax_.get_title().startswith("Probability of 0 ")

    def test_bad_input(self, values: Any) -> None:
        with pytest.raises(IndexError):
            ImportanceDisplay(values, N)
        with pytest.raises(ValueError, match="max_columns"):
            ImportanceDisplay(values).plot(max_columns=0)
        with pytest.raises(NotFittedError):
            ImportanceDisplay.from_estimator(TwoStageRegressor(), np.zeros((3, 2)))


class TestImportance:
    def test_bars_are_mean_absolute_contributions(self, values: Any) -> None:
        display = ImportanceDisplay(values, unit="kg").plot(max_columns=3)
        expected = np.sort(np.abs(values.values).mean(axis=0))[::-1]
        assert_allclose(bar_lengths(display), expected[:3])
        assert tick_labels(display)[0] == values.feature_names[int(values.importances.argmax())]
        assert display.ax_.get_xlabel() == "Mean absolute contribution to the prediction, kg"
        assert display.ax_.get_title() == "Columns that matter, 3 of 4"

    def test_classes_are_averaged(self, classifier: Any, table: Any) -> None:
        found = shapley_values(classifier, table[:20])
        display = ImportanceDisplay.from_estimator(classifier, table[:20])
        parts = [found.of_output(label).importances for label in range(3)]
        assert_allclose(display.importances, np.mean(parts, axis=0))
        assert display.ax_.get_xlabel() == "Mean factor on the odds of a class"
        places, names = display.ax_.get_xticks(), display.ax_.get_xticklabels()
        factors = [float(name.get_text()) for name in names]
        assert_allclose(np.exp(places), factors, rtol=5e-3)
        one = ImportanceDisplay(found, output=2)
        assert_allclose(one.importances, parts[2])


class TestInteractions:
    def test_cells_are_mean_absolute_interactions(self, model: Any, table: Any) -> None:
        found = shapley_interactions(model, table[:20])
        display = InteractionsDisplay(found, unit="kg").plot(max_columns=3)
        sizes = np.abs(found.values).mean(axis=0)
        order = np.argsort(-sizes.sum(axis=0))[:3]
        cells = np.ma.filled(display.ax_.images[0].get_array(), np.nan)
        expected = sizes[np.ix_(order, order)]
        off = ~np.eye(3, dtype=bool)
        assert_allclose(cells[off], expected[off])
        assert np.isnan(cells[~off]).all()
        assert tick_labels(display) == [found.feature_names[z] for z in order]
        assert len(display.ax_.texts) == 6
        assert display.ax_.get_xlabel() == "Mean absolute interaction in the prediction, kg"
        assert display.ax_.get_title() == "What pairs of columns do together, 3 of 4"

    def test_cells_of_classes_are_factors(self) -> None:
        X = np.random.default_rng(0).normal(size=(60, 3))
        model = KernelLogisticRegression([Gaussian(2.0)]).fit(X, X[:, 0] * X[:, 1] > 0.0)
        found = shapley_interactions(model, X[:9])
        display = InteractionsDisplay(found).plot()
        assert display.ax_.get_xlabel() == "Mean factor on the odds of True"
        largest = max(float(text.get_text()) for text in display.ax_.texts)
        assert largest == pytest.approx(np.exp(found.importances.max()), rel=0.05)

    def test_many_columns_have_a_color_bar(self) -> None:
        X = np.random.default_rng(0).normal(size=(40, 13))
        model = TwoStageRegressor(UniformCombination([Gaussian(4.0)])).fit(X, X[:, 0])
        display = InteractionsDisplay.from_estimator(model, X[:3], max_columns=13)
        assert not display.ax_.texts
        label = display.figure_.axes[1].get_ylabel()
        assert label == "Mean absolute interaction in the prediction"

    def test_columns_without_interactions(self) -> None:
        X = np.random.default_rng(0).normal(size=(40, 3))
        model = TwoStageRegressor(UniformCombination([Linear()])).fit(X, X[:, 0])
        display = InteractionsDisplay.from_estimator(model, X[:5])
        assert {text.get_text() for text in display.ax_.texts} == {"0.0"}


class TestObjectsOfShap:
    """What `to_shap` passes to the package, which need not be installed."""

    @pytest.fixture(autouse=True)
    def package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=SimpleNamespace))

    def test_cells_are_numbers_years_and_text(self, model: Any, table: Any) -> None:
        rows = table[:6].copy()
        rows.loc[0, ["age", "town", "since"]] = [None, None, None]
        found = shapley_values(model, rows)
        shown = found.to_shap()
        assert shown.feature_names == ["age", "town", "since", "height"]
        assert_allclose(shown.data[:, [0, 3]].astype(float), rows[["age", "height"]])
        assert shown.data[:, 1].tolist() == ["missing", *rows["town"][1:]]
        years = shown.data[:, 2].astype(float)
        assert np.isnan(years[0])
        dates = rows["since"][1:].dt
        assert_allclose(years[1:], dates.year + (dates.day_of_year - 0.5) / 365.25, atol=4e-3)
        assert_allclose(shown.values, found.values)
        assert_allclose(shown.base_values, np.full(6, found.base_value))
        assert_allclose(shown.error_std, found.standard_errors)
        assert shown.output_names is None

    def test_shrinkage_is_a_column(self, far: Any) -> None:
        shown = far.to_shap()
        assert shown.feature_names == ["x0", "x1", "x2", "far from training rows"]
        assert_allclose(shown.base_values + shown.values.sum(axis=1), far.predictions)
        assert (shown.data.shape, shown.error_std.shape) == (shown.values.shape,) * 2

    def test_classes(self, classifier: Any, table: Any) -> None:
        found = shapley_values(classifier, table[:5])
        shown = found.to_shap()
        assert (shown.base_values.shape, shown.values.shape) == ((5, 3), (5, 4, 3))
        assert shown.output_names == ["0", "1", "2"]
        one = found.of_output(2).to_shap()
        assert (one.values.shape, one.output_names) == ((5, 4), ["2"])
