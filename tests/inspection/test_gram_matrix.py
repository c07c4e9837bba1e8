"""The display of the learned Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from display_cases import tick_labels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import (
    GramMatrixDisplay,
)
from mercer.kernels import Gaussian

plt = pytest.importorskip("matplotlib.pyplot")


def test_ordered_by_class(data: tuple[Any, Any]) -> None:
    X, y = data
    model = make_pipeline(StandardScaler(), TwoStageClassifier(UniformCombination())).fit(X, y)
    display = GramMatrixDisplay.from_estimator(model, X, y)
    order = np.argsort(y, kind="stable")
    expected = model[-1].kernel_(model[:-1].transform(X)[order])
    np.testing.assert_allclose(display.gram, expected)
    assert display.ax_.get_title() == "Gram matrix, ordered by class"
    assert tick_labels(display) == ["no", "yes"]


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


def test_a_known_matrix(data: tuple[Any, Any]) -> None:
    X, y = data
    gram = Gaussian(2.0)(X)
    display = GramMatrixDisplay.from_gram(gram, y)
    order = np.argsort(y, kind="stable")
    np.testing.assert_array_equal(display.gram, gram[np.ix_(order, order)])
    assert display.ax_.get_title() == "Gram matrix, ordered by class"
    few = GramMatrixDisplay.from_gram(gram, X[:, 0], max_samples=7)
    assert few.gram.shape == (7, 7)
    rows = [int(np.flatnonzero(X[:, 0] == value)[0]) for value in few.y]
    np.testing.assert_array_equal(few.gram, gram[np.ix_(rows, rows)])
    assert few.ax_.get_title() == "Gram matrix, ordered by response,\n7 of 60 samples"
    with pytest.raises(ValueError, match=r"gram must have shape \(60, 60\)"):
        GramMatrixDisplay.from_gram(gram[:, :5], y)


@pytest.mark.parametrize(
    ("limits", "extend"),
    [
        ({"vmin": 0.0, "vmax": 1.0}, "neither"),
        ({"vmin": 0.0, "vmax": 0.5}, "max"),
        ({"vmin": 0.5, "vmax": 1.0}, "min"),
        ({"vmin": 0.4, "vmax": 0.5}, "both"),
    ],
)
def test_the_colorbar_says_where_entries_are_beyond_it(
    data: tuple[Any, Any], limits: dict[str, float], extend: str
) -> None:
    display = GramMatrixDisplay.from_gram(Gaussian(2.0)(data[0]), data[1], **limits)
    [image] = display.ax_.images
    assert image.colorbar.extend == extend


def test_several_outputs_are_ordered_by_the_first() -> None:
    display = GramMatrixDisplay(np.diag([1.0, 2.0]), [[0.5, 0.0], [0.2, 1.0]]).plot()
    np.testing.assert_array_equal(display.gram, np.diag([2.0, 1.0]))


def test_shapes_must_agree(data: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"gram must have shape \(3, 3\)"):
        GramMatrixDisplay(np.eye(2), [0, 1, 1])
    learner = UniformCombination([Gaussian()]).fit(*data)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GramMatrixDisplay.from_estimator(learner, data[0], data[1][:5])
