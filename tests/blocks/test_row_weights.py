"""Weights of rows, given or by class, and what statistics of blocks see of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mercer._blocks import (
    Block,
    GivenWeights,
    RowWeights,
    block_source,
    class_row_weights,
    reduce_blocks,
    weighted,
)
from mercer._data.sample import with_class_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = RNG.choice(["a", "b", "c"], 40, p=[0.6, 0.3, 0.1])


@dataclass(frozen=True)
class WeightedSum:
    """The sum of the rows, as often as their weights say."""

    def start(self) -> np.ndarray:
        return np.zeros(2)

    def add(self, state: np.ndarray, block: Block) -> np.ndarray:
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        return state + weights @ block.X

    def merge(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return first + second


@pytest.mark.parametrize("n_rows", [1, 7, 40])
@pytest.mark.parametrize("kind", ["given", "classes"])
def test_blocks_have_the_weights_of_their_rows(kind: str, n_rows: int) -> None:
    source = block_source(X, Y, block_rows=n_rows)
    weights: RowWeights
    if kind == "given":
        values = RNG.uniform(0.5, 2.0, 40)
        weights = GivenWeights(values)
    else:
        values = with_class_weights(None, {"a": 0.5, "c": 3.0}, Y)
        weights = class_row_weights(source, {"a": 0.5, "c": 3.0})
    found = reduce_blocks(source, weighted(WeightedSum(), weights))
    np.testing.assert_allclose(found, values @ X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weights.mean, values.mean())
    rows = np.array([3, 17, 31])
    np.testing.assert_allclose(weights.of(Y[rows], rows), values[rows])


def test_without_weights_there_are_none() -> None:
    statistic = WeightedSum()
    assert weighted(statistic, None) is statistic


def test_parts_of_a_block_have_their_weights() -> None:
    values = RNG.uniform(0.5, 2.0, 40)
    parts = list(Block(X, Y, 0, values).split(7))
    np.testing.assert_array_equal(np.concatenate([part.weights for part in parts]), values)


def test_balanced_classes_have_equal_weight() -> None:
    found = class_row_weights(block_source(X, Y), "balanced")
    np.testing.assert_allclose(
        found.of(Y, slice(0, 40)), with_class_weights(None, "balanced", Y), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"a": 0.0}, "must be positive"),
        ({"a": -1.0}, "must be positive"),
        ({"d": 2.0}, "not in class_weight"),
        ("equal", "class_weight"),
    ],
)
def test_weights_of_classes_are_checked(class_weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_row_weights(block_source(X, Y), class_weight)
