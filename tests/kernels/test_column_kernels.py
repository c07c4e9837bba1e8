"""Kernels of the columns of tables: categories, ranks, cycles and missing values."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from reference import central_difference
from sklearn.gaussian_process.kernels import ExpSineSquared
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
    Linear,
    Matern,
    Missing,
    OnColumns,
    Ordinal,
    Periodic,
    Product,
    Spectrum,
    WeightedSum,
    kernels_for,
)
from mercer.kernels._categorical import _MANY
from mercer.kernels._kernel import BLOCK_ROWS
from mercer.preprocessing import column_encoder

# No whole number, at which kernels of ranks have a kink.
WIDTHS = np.array([0.7, 1.5, 4.3])

TAKE_MISSING: dict[str, Kernel] = {
    "categorical-ard": Categorical(WIDTHS, ard=True),
    "missing-ard": Missing(Matern(WIDTHS, ard=True), 2.0),
    "missing-ordinal": Missing(Ordinal(WIDTHS, ard=True)),
    "mixed": Product([OnColumns(Missing(Periodic()), [0]), OnColumns(Categorical(), [1, 2])]),
}


def incomplete_tables() -> st.SearchStrategy[np.ndarray]:
    """Tables with equal and missing values, whose columns are often constant or empty."""
    entries = st.sampled_from([0.0, 1.0, 2.0, np.nan]) | st.floats(-3, 3, allow_subnormal=False)
    table = arrays(np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=entries)
    column = arrays(np.float64, (1, 3), elements=st.sampled_from([0.0, 1.0, np.nan]))
    constant = st.tuples(table, column, arrays(bool, 3)).map(
        lambda drawn: np.where(drawn[2], drawn[1], drawn[0])
    )
    return table | constant


@pytest.mark.parametrize("kernel", TAKE_MISSING.values(), ids=TAKE_MISSING)
class TestKernelsOfMissingValues:
    @given(X=incomplete_tables(), Z=incomplete_tables())
    def test_they_are_positive_semidefinite_on_two_tables(
        self, kernel: Kernel, X: np.ndarray, Z: np.ndarray
    ) -> None:
        K = kernel(np.vstack([X, Z]))
        assert_allclose(K, K.T, atol=1e-12)
        assert np.linalg.eigvalsh(K).min() >= -1e-10 * max(1.0, np.abs(K).max())
        assert_allclose(kernel.diag(X), np.diag(K)[: len(X)], rtol=1e-12, atol=1e-12)
        assert_allclose(kernel(X, Z), K[: len(X), len(X) :], atol=1e-7)

    @given(X=incomplete_tables(), seed=st.integers(0, 99))
    def test_gradients_are_differences(self, kernel: Kernel, X: np.ndarray, seed: int) -> None:
        # Rows at rational distances lie on the kinks of ordinal kernels.
        rng = np.random.default_rng(seed)
        X = X + 0.01 * rng.normal(size=3) * (np.arange(len(X)) % 3)[:, None]
        P = rng.normal(size=(len(X), len(X)))
        value, gradient = kernel.vjp(X, P)
        size = np.abs(P * kernel(X)).sum()
        assert value == pytest.approx(np.sum(P * kernel(X)), abs=1e-10 * size)
        numeric = central_difference(
            lambda theta: float(np.sum(P * kernel.with_theta(theta)(X))), kernel.theta, step=1e-5
        )
        assert_allclose(gradient, numeric, atol=1e-6 * max(size, 1.0))


class TestCategorical:
    @pytest.mark.parametrize("n_levels", [3, 3 * _MANY])
    def test_it_is_the_product_of_one_factor_for_each_column(self, n_levels: int) -> None:
        rng = np.random.default_rng(0)
        X, Z = (rng.integers(0, n_levels, (n, 3)).astype(float) for n in (2 * n_levels, 50))
        expected = np.ones((len(X), len(Z)))
        for z, width in enumerate(WIDTHS):
            different = X[:, [z]] != Z[:, z]
            expected[different] *= np.exp(-(width**-2))
        kernel = Categorical(WIDTHS, ard=True)
        assert_allclose(kernel(X, Z), expected, rtol=1e-12)
        W = rng.normal(size=expected.shape)
        different = [X[:, [z]] != Z[:, z] for z in range(3)]
        slopes = 2.0 * WIDTHS**-2 * [np.sum((W * expected)[where]) for where in different]
        assert_allclose(kernel.vjp(X, W, Z)[1], slopes, rtol=1e-9)

    def test_rarity_is_the_normalized_kernel_of_belanche_and_villegas(self) -> None:
        X = np.random.default_rng(0).integers(0, 4, (40, 3)).astype(float) ** 2
        kernel = Categorical(WIDTHS, ard=True, rarity=0.6).bind(X)
        exponent = np.zeros((40, 40))
        for z, width in enumerate(WIDTHS):
            frequency = np.mean(X[:, [z]] == X[:, z], axis=1)
            heights = (1.0 - frequency**0.6) ** (1.0 / 0.6)
            exponent += width**-2 * heights * (X[:, [z]] == X[:, z])
        overlap = np.exp(exponent)
        roots = np.sqrt(np.diag(overlap))
        assert_allclose(kernel(X), overlap / np.outer(roots, roots), rtol=1e-12)

    def test_rarer_categories_are_farther_from_others(self) -> None:
        kernel = Categorical(rarity=1.0).bind(np.array([[0.0]] * 6 + [[1.0]] * 3 + [[2.0]]))
        common, rare, new = kernel([[0.0]], [[1.0], [2.0], [5.0]])[0]
        assert common > rare > new
        assert new == pytest.approx(np.exp(-(0.4 + 1.0) / 2))
        assert_allclose(kernel([[0.0]], [[-3.0], [0.5], [1.5], [np.nan]]), np.full((1, 4), new))

    def test_frequencies_must_be_known(self) -> None:
        with pytest.raises(ValueError, match="frequencies of categories are read off the data"):
            Categorical(rarity=1.0)([[0.0]])


class TestOrdinal:
    def test_it_is_the_share_of_common_steps(self) -> None:
        windows = np.array([[x <= t < x + 5 for t in range(12)] for x in range(7)], dtype=float)
        ranks = np.arange(7.0)[:, None]
        assert_allclose(Ordinal(5.0)(ranks), windows @ windows.T / 5.0, atol=1e-15)

    def test_categories_without_an_order_are_refused(self) -> None:
        frame = pd.DataFrame({"size": pd.Categorical([1, 3, 2])})
        with pytest.raises(ValueError, match="'size' contains categories without an order"):
            Ordinal().bind(frame)
        with pytest.raises(ValueError, match="'size' contains categories without an order"):
            OnColumns(Ordinal(), ["size"])(frame)
        ordered = pd.DataFrame({"size": pd.Categorical([1, 3, 2], [1, 2, 3], ordered=True)})
        assert_array_equal(Ordinal(4.0)(ordered), Ordinal(4.0)([[1.0], [3.0], [2.0]]))


class TestPeriodic:
    def test_it_is_that_of_scikit_learn(self) -> None:
        X = np.random.default_rng(0).normal(scale=5.0, size=(20, 1))
        expected = ExpSineSquared(1.1 / np.sqrt(2.0), 7.0)(X)
        assert_allclose(Periodic(1.1, period=7.0)(X), expected, rtol=1e-9)


class TestMissing:
    @pytest.mark.parametrize("kernel", [Gaussian(), Linear(), WeightedSum([Gaussian()], [3.0])])
    def test_known_values_have_the_kernel_and_missing_ones_a_similarity(
        self, kernel: Kernel
    ) -> None:
        X = np.array([[0.0], [1.0], [np.nan], [np.nan], [3.0]])
        r = np.exp(-(2.0**-2))
        expected = np.full((5, 5), r)
        known = [0, 1, 4]
        expected[np.ix_(known, known)] = r + (1 - r) * kernel(X[known])
        expected[2:4, 2:4] = 1.0
        assert_allclose(Missing(kernel, 2.0)(X), expected, rtol=1e-12)
        assert_allclose(Missing(kernel, 2.0).diag(X), np.diag(expected), rtol=1e-12)

    def test_inner_products_with_many_rows(self) -> None:
        """They are summed over blocks of rows, and the first blocks hold missing values."""
        rng = np.random.default_rng(0)
        X, P = rng.normal(size=(BLOCK_ROWS + 30, 2)), rng.normal(size=(2, BLOCK_ROWS + 30))
        X[::7, 0] = np.nan
        kernel = Missing(Gaussian(0.5))
        assert_allclose(kernel.vjp(X, P.T @ P)[0], np.sum(P.T @ P * kernel(X)), rtol=1e-10)

    def test_the_inner_kernel_meets_known_samples_only(self) -> None:
        X = np.array([[0.0], [np.nan], [4.0], [np.nan]])
        bound = Missing(Gaussian("median")).bind(X)
        assert bound.kernel == Gaussian(4.0)
        assert_array_equal(bound.log_bounds(X)[:1], Gaussian().log_bounds(X[[0, 2]]))

    def test_the_only_known_sample_and_none(self) -> None:
        for X in (np.array([[np.nan], [1.0]]), np.full((3, 1), np.nan)):
            kernel = Missing(Gaussian("median")).bind(X)
            assert np.isfinite(kernel(X)).all()
            assert np.isfinite(kernel.starts(X)).all()

    def test_other_kernels_refuse_missing_values(self) -> None:
        X = np.array([[0.0, np.nan], [1.0, 2.0]])
        kernel = Product([OnColumns(Gaussian(), [0]), OnColumns(Missing(Gaussian()), [1])])
        assert kernel(X).shape == (2, 2)
        for refused in (Gaussian(), OnColumns(Gaussian(), [1]), kernel.with_theta(kernel.theta)):
            table = X[:, ::-1] if isinstance(refused, Product) else X
            with pytest.raises(ValueError, match=r"Input (X )?contains NaN"):
                refused(table)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Categorical(2.0, rarity=0.5), "Categorical, width 2, rarity 0.5"),
        (Ordinal([2.0, 3.0]), "Ordinal, widths 2 to 3"),
        (Periodic(period=[7.0, 24.0]), "Periodic, periods 7 to 24, width 1"),
        (Missing(Gaussian(2.0), 1.0), "Gaussian, width 2, missing values at 0.368"),
        (Spectrum(4, mismatches=1), "Spectrum of length 4, 1 mismatches"),
    ],
)
def test_descriptions_name_what_is_learned(kernel: Kernel, text: str) -> None:
    assert kernel.describe() == text


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
ORDER = {"size": ["S", "M", "L"]}
KERNEL = kernels_for(FRAME, ORDER)


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
        assert kernels_for(FRAME, ORDER, combine="sum") == WeightedSum(expected, np.ones(4))

    def test_an_order_in_the_table_alone_is_none(self) -> None:
        kernel = kernels_for(FRAME[["size"]])
        assert kernel == Product([OnColumns(Categorical(ard=True), [0])])

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
    return make_pipeline(column_encoder(FRAME, ORDER), ESTIMATORS[name](KERNEL)).fit(FRAME, Y)


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
    X = column_encoder(FRAME, ORDER).fit_transform(FRAME)
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
    constant = FRAME.assign(job="cook", size=pd.Categorical(["S"] * len(FRAME)))
    order = {"size": ["S"]}
    learner = EvidenceMaximization(kernels_for(constant, order))
    model = make_pipeline(column_encoder(constant, order), TwoStageClassifier(learner, C=1.0))
    model.fit(constant, Y)
    assert model.score(constant, Y) > 0.6
    values = shapley_values(model, constant.iloc[:3]).values
    assert_allclose(values[:, 2:], 0.0, atol=1e-14)
