"""Kernels for the columns of a table, from the encoder to predictions."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline

import mercer
from mercer import (
    EvidenceMaximization,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    TwoStageClassifier,
    UniformCombination,
)
from mercer.inspection import shapley_values
from mercer.kernels import (
    Categorical,
    Gaussian,
    Kernel,
    Laplacian,
    Missing,
    OnColumns,
    Ordinal,
    Product,
    WeightedSum,
    kernels_for,
)
from mercer.preprocessing import column_encoder


def table(n: int = 100, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of all kinds, with missing values, two of which tell the class."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=n),
            "number": rng.normal(size=n),
            "job": rng.choice(["cook", "nurse", "smith"], n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
        }
    )
    y = (frame["number"] + 2.0 * (frame["job"] == "cook") > 0.7).to_numpy().astype(int)
    for column, share in (("number", 0.1), ("job", 0.1), ("size", 0.3)):
        frame.loc[rng.random(n) < share, column] = None
    return frame, y


FRAME, Y = table()
KERNEL = kernels_for(FRAME)


class TestKernelsFor:
    def test_each_kind_of_column_has_its_kernel(self) -> None:
        assert (
            Product(
                [
                    OnColumns(Laplacian(norm=1.0, ard=True), [0]),
                    OnColumns(Missing(Laplacian(norm=1.0)), [1]),
                    OnColumns(Missing(Ordinal()), [2]),
                    OnColumns(Categorical(ard=True), [3]),
                ]
            )
            == KERNEL
        )

    def test_a_sum_has_one_kernel_for_each_column(self) -> None:
        number = Laplacian(norm=1.0)
        parts = [number, Missing(number), Missing(Ordinal()), Categorical()]
        expected = [OnColumns(part, [z]) for z, part in enumerate(parts)]
        assert kernels_for(FRAME, combine="sum") == WeightedSum(expected, np.ones(4))

    def test_columns_with_a_given_order_are_ordinal(self) -> None:
        kernel = kernels_for(FRAME[["job"]].dropna(), {"job": ["smith", "nurse", "cook"]})
        assert kernel == Product([OnColumns(Ordinal(ard=True), [0])])

    def test_other_combinations_are_refused(self) -> None:
        with pytest.raises(ValueError, match='combine must be one of "product", "sum"'):
            kernels_for(FRAME, combine="mean")  # type: ignore[arg-type]


ESTIMATORS: dict[str, Callable[[Kernel], Any]] = {
    "evidence": lambda kernel: TwoStageClassifier(EvidenceMaximization(kernel), C=1.0),
    "one stage": lambda kernel: MKLClassifier([kernel, OnColumns(Categorical(), [3])]),
    "stacked response": lambda kernel: KernelStackingRegressor([kernel]),
}


@cache
def fitted(name: str) -> Any:
    return make_pipeline(column_encoder(FRAME), ESTIMATORS[name](KERNEL)).fit(FRAME, Y)


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore:The best C")
def test_estimators_learn_from_missing_values(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    new, labels = table(seed=1)
    found = model.predict(new)
    assert np.mean((found > 0.5) == labels) > 0.8
    mercer.save(model, tmp_path / "model.mercer")
    assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(new), found)
    unknown = FRAME.assign(noise=np.where(np.arange(len(FRAME)) == 3, np.nan, FRAME["noise"]))
    with pytest.raises(ValueError, match="Input X contains NaN, and Laplacian"):
        model.predict(unknown)


def test_tables_are_refused_where_a_given_kernel_takes_no_missing_values() -> None:
    X = column_encoder(FRAME).fit_transform(FRAME)
    mixed = [OnColumns(Categorical(), [3]), OnColumns(Gaussian(), [1])]
    with pytest.raises(ValueError, match="Input X contains NaN, and Gaussian, width 1 takes no"):
        UniformCombination(mixed).fit(X, Y)
    for estimator in (UniformCombination(), UniformCombination([Gaussian()]), TwoStageClassifier()):
        with pytest.raises(ValueError, match=r"Input X contains NaN"):
            estimator.fit(X, Y)
    with (
        pytest.warns(UserWarning, match="left out: Input X contains NaN"),
        pytest.raises(ValueError, match="No candidate could be evaluated"),
    ):
        KernelStackingClassifier([mixed[1], Missing(Gaussian()) * mixed[1]]).fit(X, Y)


def test_a_column_of_one_level_has_no_part() -> None:
    constant = FRAME.assign(
        job="cook", size=pd.Categorical(["S"] * len(FRAME), ["S"], ordered=True)
    )
    learner = EvidenceMaximization(kernels_for(constant))
    model = make_pipeline(column_encoder(constant), TwoStageClassifier(learner, C=1.0))
    model.fit(constant, Y)
    assert model.score(constant, Y) > 0.6
    values = shapley_values(model, constant.iloc[:3]).values
    assert_array_equal(values[:, 2:], np.zeros((3, 2)))
