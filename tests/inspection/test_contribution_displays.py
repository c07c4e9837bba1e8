"""Displays of contributions draw their numbers, name columns and units, and refuse bad input."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from mercer import KernelStackingClassifier, TwoStageRegressor, UniformCombination
from mercer.inspection import (
    BeeswarmDisplay,
    ContributionDisplay,
    ImportanceDisplay,
    InteractionsDisplay,
    WaterfallDisplay,
    shapley_interactions,
    shapley_values,
)
from mercer.kernels import Gaussian, Laplacian
from mercer.preprocessing import table_encoder

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

pd = pytest.importorskip("pandas")
N = 90


@pytest.fixture(scope="module")
def table() -> Any:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, N),
            "town": rng.choice(["Bern", "Basel", "Chur"], N),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
            "height": rng.normal(170.0, 8.0, N),
        }
    )


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


def names(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


class TestWaterfall:
    def test_bars_lead_from_the_average_row_to_the_prediction(self, values: Any) -> None:
        display = WaterfallDisplay(values, 2, unit="kg").plot()
        bars = display.ax_.patches
        order = np.argsort(-np.abs(values.values[2]))
        assert_allclose([bar.get_width() for bar in bars], values.values[2][order])
        ends = [bar.get_x() + bar.get_width() for bar in bars]
        assert_allclose(ends[0], values.predictions[2])
        assert_allclose(bars[-1].get_x(), values.base_value)
        assert_allclose(ends[1:], [bar.get_x() for bar in bars][:-1])
        largest = values.largest(2, 1)[0]
        assert names(display.ax_)[0] == largest.cell
        assert display.ax_.get_xlabel() == "Prediction, kg"
        prediction, base = values.predictions[2], values.base_value
        assert (
            display.ax_.get_title() == f"Prediction {prediction:.2f} kg, average row {base:.2f} kg"
        )
        assert display.ax_.texts[0].get_text() == f"{largest.amount:+.2f}"

    def test_small_contributions_are_one_bar(self, values: Any) -> None:
        display = WaterfallDisplay(values, -1).plot(max_columns=2, color="gray")
        assert names(display.ax_)[2] == "2 other columns"
        widths = [bar.get_width() for bar in display.ax_.patches]
        assert_allclose(sum(widths), values.predictions[-1] - values.base_value)

    def test_only_the_row_is_explained(self, model: Any, table: Any, values: Any) -> None:
        display = WaterfallDisplay.from_estimator(model, table, row=5)
        assert display.values.values.shape == (1, 4)
        assert_allclose(display.values.values[0], values.values[5])

    def test_rows_far_from_the_training_rows(self) -> None:
        from mercer import KernelStackingRegressor

        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3))
        stack = KernelStackingRegressor([Gaussian(2.0)]).fit(X, X[:, 0])
        display = WaterfallDisplay.from_estimator(stack, 20.0 * X)
        assert names(display.ax_)[-1] == "far from training rows"
        bars = display.ax_.patches
        assert_allclose(bars[0].get_x() + bars[0].get_width(), stack.predict(20.0 * X[:1])[0])

    def test_the_most_probable_class(self, classifier: Any, table: Any) -> None:
        display = WaterfallDisplay.from_estimator(classifier, table, row=1)
        label = classifier.predict(table[1:2])[0]
        assert display.ax_.get_xlabel() == f"Log-odds of {label}"
        other = WaterfallDisplay.from_estimator(classifier, table, row=1, output=0)
        assert other.ax_.get_title().startswith("Probability of 0 ")

    def test_rows_that_do_not_exist(self, model: Any, table: Any, values: Any) -> None:
        with pytest.raises(IndexError):
            WaterfallDisplay(values, N)
        with pytest.raises(IndexError):
            WaterfallDisplay.from_estimator(model, table, row=N)
        with pytest.raises(ValueError, match="max_columns"):
            WaterfallDisplay(values).plot(max_columns=0)


class TestImportance:
    def test_bars_are_mean_absolute_contributions(self, values: Any) -> None:
        display = ImportanceDisplay(values, unit="kg").plot(max_columns=3)
        expected = np.sort(np.abs(values.values).mean(axis=0))[::-1]
        assert_allclose([bar.get_width() for bar in display.ax_.patches], expected[:3])
        assert names(display.ax_)[0] == values.feature_names[int(values.importances.argmax())]
        assert display.ax_.get_xlabel() == "Mean absolute contribution to the prediction, kg"
        assert display.ax_.get_title() == "Columns that matter, 3 of 4"

    def test_classes_are_averaged(self, classifier: Any, table: Any) -> None:
        found = shapley_values(classifier, table[:20])
        display = ImportanceDisplay.from_estimator(classifier, table[:20])
        parts = [found.of_output(label).importances for label in range(3)]
        assert_allclose(display.importances, np.mean(parts, axis=0))
        assert display.ax_.get_xlabel() == "Mean absolute contribution to the log-odds"
        one = ImportanceDisplay(found, output=2)
        assert_allclose(one.importances, parts[2])


class TestBeeswarm:
    def test_points_are_contributions(self, values: Any, model: Any, table: Any) -> None:
        display = BeeswarmDisplay.from_estimator(model, table, unit="kg")
        order = np.argsort(-values.importances)
        for player, drawn in zip(order, display.ax_.collections, strict=True):
            x, y = np.asarray(drawn.get_offsets()).T
            assert_allclose(x, values.values[:, player])
            assert len(set(zip(x, y, strict=True))) == N
        rows = [np.asarray(drawn.get_offsets())[:, 1] for drawn in display.ax_.collections]
        assert [np.round(np.median(row)) for row in rows] == [0, 1, 2, 3]
        assert max(np.abs(row - k).max() for k, row in enumerate(rows)) <= 0.4 + 1e-9
        assert display.ax_.get_xlabel() == "Contribution to the prediction, kg"

    def test_colors_are_ranks_and_categories_are_gray(self, values: Any) -> None:
        display = BeeswarmDisplay(values).plot()
        points = dict(zip(names(display.ax_), display.ax_.collections, strict=True))
        assert points["town"].get_array() is None
        ranks = points["age"].get_array()
        ages = values.data[:, 0].astype(float)
        assert (ranks.argmin(), ranks.argmax()) == (ages.argmin(), ages.argmax())
        assert (ranks.min(), ranks.max()) == (0.0, 1.0)

    def test_missing_values_have_no_color(self) -> None:
        X = np.random.default_rng(0).normal(size=(40, 2))
        X[::5, 0] = np.nan
        model = make_pipeline(table_encoder(), TwoStageRegressor()).fit(X, X[:, 1])
        display = BeeswarmDisplay.from_estimator(model, X)
        colors = dict(zip(names(display.ax_), display.ax_.collections, strict=True))["x0"]
        assert np.ma.getmaskarray(np.ma.masked_invalid(colors.get_array())).sum() == 8


class TestContribution:
    @pytest.mark.parametrize("name", ["age", "height", "town", "since"])
    def test_points_are_over_values(self, values: Any, table: Any, name: str) -> None:
        display = ContributionDisplay(values, name, unit="kg").plot()
        x, y = np.asarray(display.ax_.collections[0].get_offsets()).T
        assert_allclose(y, values.values[:, list(table).index(name)])
        if name == "town":
            codes = np.unique(table["town"], return_inverse=True)[1]
            assert np.abs(x - codes).max() <= 0.4 + 1e-9
            shown = [label.get_text() for label in display.ax_.get_xticklabels()]
            assert shown == ["Basel", "Bern", "Chur"]
        elif name != "since":
            assert_allclose(x, table[name].astype(float))
        assert display.ax_.get_xlabel() == name
        assert display.ax_.get_ylabel() == "Contribution to the prediction, kg"

    def test_the_strongest_partner_is_found(self, model: Any, table: Any) -> None:
        display = ContributionDisplay.from_estimator(model, table, "age")
        assert display.partner == "town"
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts == ["Basel", "Bern", "Chur"]
        other = ContributionDisplay.from_estimator(model, table, "town")
        assert other.partner == "age"
        assert other.figure_.axes[1].get_ylabel() == "age"

    def test_partners_in_kernels_that_are_no_products(self, table: Any) -> None:
        X = np.random.default_rng(0).normal(size=(150, 4))
        learner = UniformCombination([Laplacian(3.0)])
        model = TwoStageRegressor(learner, alpha=1e-3).fit(X, 3.0 * X[:, 0] * X[:, 2] + X[:, 1])
        display = ContributionDisplay.from_estimator(model, X[:60], "x0", n_permutations=3)
        assert display.partner == "x2"

    def test_partners_that_are_given(self, model: Any, table: Any) -> None:
        alone = ContributionDisplay.from_estimator(model, table[:20], "age", partner=None)
        assert alone.ax_.get_legend() is None
        assert len(alone.figure_.axes) == 1
        given = ContributionDisplay.from_estimator(model, table[:20], "age", partner="height")
        assert given.figure_.axes[1].get_ylabel() == "height"

    def test_rare_categories_share_a_color(self, values: Any) -> None:
        from dataclasses import replace

        data = values.data.copy()
        data[:, 1] = [f"town {k % 9}" for k in range(N)]
        display = ContributionDisplay(replace(values, data=data), "age", "town").plot()
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts == [*(f"town {k}" for k in range(5)), "others"]

    def test_columns_that_do_not_exist(self, values: Any, model: Any, table: Any) -> None:
        with pytest.raises(ValueError, match="Column 'weight' is absent: values are of age, town"):
            ContributionDisplay(values, "weight")
        with pytest.raises(ValueError, match="Column 'weight' is absent"):
            ContributionDisplay.from_estimator(model, table[:5], "age", partner="weight")
        grouped = shapley_values(model, table[:50], groups={"both": ["age", "height"]})
        with pytest.raises(ValueError, match="'both' holds no numbers, dates or categories"):
            ContributionDisplay(grouped, "both").plot()


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
        assert names(display.ax_) == [found.feature_names[z] for z in order]
        assert len(display.ax_.texts) == 6
        label = display.figure_.axes[1].get_ylabel()
        assert label == "Mean absolute interaction in the prediction, kg"
        assert display.ax_.get_title() == "What pairs of columns do together, 3 of 4"

    def test_classes_are_named(self, classifier: Any, table: Any) -> None:
        display = InteractionsDisplay.from_estimator(
            classifier, table[:5], output=1, independent=True
        )
        label = display.figure_.axes[1].get_ylabel()
        assert label == "Mean absolute interaction in the log-odds of 1"
        with pytest.raises(ValueError, match="output must be one of 0, 1, 2; got None"):
            InteractionsDisplay.from_estimator(classifier, table[:5])

    def test_columns_without_interactions(self) -> None:
        from mercer.kernels import Linear

        X = np.random.default_rng(0).normal(size=(40, 3))
        model = TwoStageRegressor(UniformCombination([Linear()])).fit(X, X[:, 0])
        display = InteractionsDisplay.from_estimator(model, X[:5])
        assert {text.get_text() for text in display.ax_.texts} == {"0.0"}


def test_given_axes_and_models_without_a_fit(values: Any) -> None:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    for display in (
        WaterfallDisplay(values),
        ImportanceDisplay(values),
        BeeswarmDisplay(values),
        ContributionDisplay(values, "age", "town"),
    ):
        ax.clear()
        assert display.plot(ax=ax) is display
        assert (display.ax_, display.figure_) == (ax, figure)
    X = np.zeros((3, 2))
    for kind in (WaterfallDisplay, ImportanceDisplay, BeeswarmDisplay, InteractionsDisplay):
        with pytest.raises(NotFittedError):
            kind.from_estimator(TwoStageRegressor(), X)
