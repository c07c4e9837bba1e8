"""How many rows are drawn of a large table or are centers, their weights, and sources as inputs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator

from mercer import ParquetSource, TwoStageClassifier, TwoStageRegressor, UniformCombination
from mercer._blocks import approximation
from mercer._blocks.approximation import (
    all_are_centers,
    number_of_components,
)
from mercer._blocks.tables import DrawnSample, block_source, drawn_rows
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
N_ROWS = 300
X = np.column_stack([np.arange(N_ROWS), RNG.normal(size=N_ROWS)])
"""The first column is the position of a row, by which drawn rows are known."""
LABELS = np.where(RNG.random(N_ROWS) < 0.2, "rare", "usual")
RESPONSES = np.sin(X[:, 0])
WEIGHTS = RNG.uniform(0.5, 2.0, N_ROWS) * (RNG.random(N_ROWS) < 0.8)
OF_CLASSES = {"rare": 5.0, "usual": 0.5}


def drawn(estimator: Any, table: Any, y: Any, weights: Any = None, **options: Any) -> DrawnSample:
    options = {"max_rows": 60, "random_state": 0, **options}
    return drawn_rows(estimator, table, y, weights, **options)


def assert_weights(data: DrawnSample, of_rows: np.ndarray) -> None:
    """The drawn rows, and all rows with a weight, have these weights up to a common factor."""
    rows = data.X[:, 0].astype(int)
    assert len(rows) == len(set(rows)) < N_ROWS
    found, expected = data.weights.values, of_rows[rows]
    assert_allclose(found / found.mean(), expected / expected.mean(), rtol=1e-12)
    among_all = data.all_weights.take(data.positions).values
    assert_allclose(found / found.mean(), among_all / among_all.mean(), rtol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "y"), [(TwoStageRegressor(), RESPONSES), (TwoStageClassifier(), LABELS)]
)
def test_drawn_rows_have_their_own_weights(estimator: BaseEstimator, y: np.ndarray) -> None:
    data = drawn(estimator, X, y, WEIGHTS)
    assert_array_equal(data.y, y[data.X[:, 0].astype(int)])
    assert (WEIGHTS[data.X[:, 0].astype(int)] > 0.0).all()
    assert_weights(data, WEIGHTS)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_drawn_rows_have_the_weights_of_their_classes(weights: Any) -> None:
    estimator = TwoStageClassifier(class_weight=OF_CLASSES)
    of_classes = np.where(LABELS == "rare", 5.0, 0.5)
    own = np.ones(N_ROWS) if weights is None else weights
    assert_weights(drawn(estimator, X, LABELS, weights), own * of_classes)
    assert_weights(drawn(estimator, block_source(X, LABELS), None), of_classes)


@pytest.mark.parametrize("kind", ["memory", "parquet"])
@pytest.mark.parametrize("labels", [True, False])
def test_rows_are_predicted_whether_or_not_their_target_is_known(
    kind: str, labels: bool, tmp_path: Path
) -> None:
    """Sources leave out rows without a target, or refuse them, when they read the target."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X / N_ROWS, columns=["a", "b"])
    make: Any = TwoStageClassifier if labels else TwoStageRegressor
    model = make(UniformCombination([Gaussian(1.0)]), approximation="nystroem", n_components=20)
    model.fit(frame, LABELS if labels else RESPONSES)
    y = pd.Series(LABELS if labels else RESPONSES).where(X[:, 0] % 7 != 2)
    source: Any = block_source(frame, y)
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.assign(y=y).to_parquet(tmp_path / "x.parquet")
        source = ParquetSource(tmp_path, target="y")
    found = model.predict(source)
    assert found.shape == (N_ROWS,)
    if labels:
        assert_array_equal(found, model.predict(frame))
    else:
        assert_allclose(found, model.predict(frame), rtol=1e-9)


def test_a_source_is_refused_by_what_was_fitted_exactly() -> None:
    model = TwoStageRegressor(UniformCombination([Gaussian(1.0)])).fit(X, RESPONSES)
    with pytest.raises(ValueError, match="predicts tables in memory; got a MemorySource"):
        model.predict(block_source(X))


GIB = 2.0**30


def test_all_rows_are_centers_where_working_memory_holds_their_pairs() -> None:
    assert number_of_components("auto", 16_384) == 16_384
    assert number_of_components("auto", 20_001) == 1500
    assert number_of_components("auto", 50_001) == 1000
    with config_context(working_memory=10_000):
        assert all_are_centers(50_000)


@pytest.mark.parametrize(
    ("memory", "n_rows", "expected"),
    [
        (16.0 * GIB, 32_768, 32_768),
        (16.0 * GIB, 32_769, 1500),
        (2.0 * GIB, 20_000, 1500),
        (None, 20_000, 1500),
        (1e6 * GIB, approximation.MOST_PAIRED_ROWS + 1, 1500),
    ],
)
def test_all_rows_are_centers_if_preferred_where_a_quarter_of_memory_holds_their_pairs(
    memory: float | None, n_rows: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approximation, "available_memory", lambda: memory)
    assert number_of_components("auto", n_rows, preferred=True) == expected
