"""Pictures of partial dependence draw the numbers, label them, and show the data beneath."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

from mercer import KernelStackingClassifier, TwoStageRegressor
from mercer.inspection import PartialDependenceDisplay, partial_dependence
from mercer.preprocessing import table_encoder

pytestmark = pytest.mark.usefixtures("few_folds_throughout")


@pytest.fixture(scope="module")
def table(table: Any) -> Any:
    sex = np.random.default_rng(1).choice(["f", "m"], len(table))
    return table.assign(age=20 + table["age"] % 20, sex=sex)


@pytest.fixture(scope="module")
def model(table: Any) -> Any:
    y = table["age"] / 10.0 + 2.0 * (table["town"] == "Bern") + table["height"] / 50.0
    return make_pipeline(table_encoder(), TwoStageRegressor()).fit(table, y)


def bars(ax: Any) -> np.ndarray:
    return np.array([patch.get_height() for patch in ax.patches])


def test_curves_with_the_data_beneath(model: Any, table: Any) -> None:
    names = ["age", "town", "since"]
    display = PartialDependenceDisplay.from_estimator(model, table, names, kind="both", unit="kg")
    assert display.axes_.shape == (3,)
    for name, ax in zip(names, display.axes_, strict=True):
        found = partial_dependence(model, table, name)
        assert (ax.get_xlabel(), ax.get_ylabel()) == (name, "Prediction, kg")
        assert len(ax.lines) == 50 + 1
        assert_allclose(ax.lines[-1].get_ydata(), found.average[0])
        assert_allclose(ax.lines[0].get_ydata(), found.individual[0, 0])
        # The bars' height is a part of that of the axes, and curves are above them.
        assert bars(ax).max() == pytest.approx(0.14)
        low, high = ax.get_ylim()
        lowest = min(line.get_ydata().min() for line in ax.lines)
        assert lowest > low + 0.14 * (high - low)
    assert len({ax.get_ylim() for ax in display.axes_}) == 1


def test_bars_count_rows(model: Any, table: Any) -> None:
    display = PartialDependenceDisplay.from_estimator(model, table, ["town", "age"])
    towns, ages = display.axes_
    counts = table["town"].value_counts().sort_index().to_numpy()
    assert_allclose(bars(towns), 0.14 * counts / counts.max())
    assert [label.get_text() for label in towns.get_xticklabels()] == ["Basel", "Bern", "Chur"]
    assert towns.lines[0].get_linestyle() == "None"
    counts = np.bincount(table["age"])[20:]
    assert_allclose(bars(ages), 0.14 * counts / counts.max())


def test_kinds_and_centered_curves(model: Any, table: Any) -> None:
    alone = PartialDependenceDisplay.from_estimator(model, table, "town", kind="individual")
    assert len(alone.ax_.lines) == 50
    options = {"centered": True, "max_curves": 5, "color": "red"}
    display = PartialDependenceDisplay.from_estimator(
        model, table, "height", kind="both", plot_options=options
    )
    assert len(display.ax_.lines) == 6
    assert {float(line.get_ydata()[0]) for line in display.ax_.lines} == {0.0}
    assert display.ax_.get_ylabel() == "Prediction from the first value"
    assert display.ax_.lines[-1].get_color() == "red"


def test_two_columns(model: Any, table: Any) -> None:
    pairs = [("height", "since"), ("town", "age"), ("town", "sex")]
    display = PartialDependenceDisplay.from_estimator(model, table, pairs)
    surface, turned, cells = display.axes_
    assert (surface.get_xlabel(), surface.get_ylabel()) == pairs[0]
    expected = partial_dependence(model, table, pairs[1]).average[0]
    assert turned.get_xlabel() == "age"
    assert_allclose(turned.lines[1].get_ydata(), expected[1])
    names = [text.get_text() for text in turned.get_legend().get_texts()]
    assert names == ["Basel", "Bern", "Chur"]
    expected = partial_dependence(model, table, pairs[2]).average[0]
    assert_allclose(cells.images[0].get_array(), expected.T)
    assert len(cells.texts) == 6


def test_classes(table: Any) -> None:
    y = np.digitize(table["height"], [165.0, 175.0])
    model = make_pipeline(table_encoder(), KernelStackingClassifier(["rbf"])).fit(table, y)
    display = PartialDependenceDisplay.from_estimator(model, table, "height", target=2)
    assert display.ax_.get_ylabel() == "Probability of 2"
    every = PartialDependenceDisplay.from_estimator(model, table, "height")
    assert [text.get_text() for text in every.ax_.get_legend().get_texts()] == ["0", "1", "2"]
    assert_allclose(every.ax_.lines[2].get_ydata(), display.ax_.lines[0].get_ydata())
    with pytest.raises(ValueError, match="output must be one of 0, 1, 2; got None"):
        PartialDependenceDisplay.from_estimator(model, table, ("town", "sex"))


def test_given_axes_and_bad_input(model: Any, table: Any) -> None:
    import matplotlib.pyplot as plt

    figure, given = plt.subplots(1, 2)
    display = PartialDependenceDisplay.from_estimator(model, table, ["town", "sex"], ax=given)
    assert list(display.axes_) == list(given)
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="ax must hold 2 axes, one for each picture; got 1"):
        display.plot(ax=given[0])
    found = partial_dependence(model, table, "town")
    with pytest.raises(ValueError, match="kind must be"):
        PartialDependenceDisplay([found], kind="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dependences must hold at least one"):
        PartialDependenceDisplay([])
    with pytest.raises(ValueError, match="max_curves"):
        PartialDependenceDisplay([found]).plot(max_curves=0)
