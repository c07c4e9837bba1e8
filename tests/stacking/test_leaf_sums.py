"""Ridge regression on leaves from sums over rows, and their fits to all rows of stacks."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.ensemble import ExtraTreesRegressor

from mercer import KernelStackingRegressor, ParquetSource
from mercer._blocks.blocks import Block
from mercer._blocks.tables import block_source
from mercer._data.encoded_targets import encode_target
from mercer._data.weights import SampleWeights
from mercer._estimators.stacking import tree_rows
from mercer._estimators.stacking.leaf_sums import LeafEquations, add_leaves, ridge_on_leaves
from mercer._nystroem.features import Moments
from mercer._solvers.sparse_ridge import ridge_on_sparse_features
from mercer.kernels import Forest

N = 600
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] > 0.0) + np.abs(X[:, 1]) + 0.1 * RNG.normal(size=N)
LABELS = np.digitize(Y, [0.5, 1.5])
WEIGHTS = RNG.uniform(0.2, 3.0, size=N)
TREES = ExtraTreesRegressor(6, max_leaf_nodes=5, random_state=0).fit(X, Y)
KERNEL, LEAVES_OF_ROWS = Forest(TREES).read(X)
INDICATORS = np.sqrt(6.0) * KERNEL.features(X).toarray()
ALPHAS = np.array([0.1, 10.0])
LEAVES = "leaves of boosted trees"


def summed(rows: Any, weights: np.ndarray) -> Moments:
    encoded = np.column_stack([Y, -Y])[rows]
    sums = Moments.zero(INDICATORS.shape[1], 2)
    add_leaves(sums, KERNEL, LEAVES_OF_ROWS[rows], encoded, weights[rows])
    return sums


@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["unit", "weights"])
def test_sums_are_those_of_dense_indicators(weights: np.ndarray) -> None:
    sums, weighted = summed(slice(None), weights), weights[:, None] * INDICATORS
    targets = np.column_stack([Y, -Y])
    assert_allclose(sums.gram, np.triu(INDICATORS.T @ weighted), atol=1e-9)
    assert_allclose(sums.cross, weighted.T @ targets, atol=1e-9)
    assert_allclose(sums.features, weighted.sum(axis=0))
    assert_allclose(sums.values, weights @ targets)
    assert_allclose(sums.squares, weights @ targets**2)
    assert_allclose(sums.count, weights.sum())


@given(st.lists(st.integers(0, N), max_size=4))
def test_any_division_of_the_rows_gives_the_same_sums(cuts: list[int]) -> None:
    statistic = LeafEquations(
        KERNEL, encode_target(Y, classification=False).encoding, SampleWeights(WEIGHTS)
    )
    whole = statistic.add(statistic.start(), Block(X, Y))
    total = statistic.start()
    for first, end in zip([0, *sorted(cuts)], [*sorted(cuts), N], strict=True):
        part = Block(X[first:end], Y[first:end], first)
        added = statistic.add(statistic.start(), part) if part.n_rows else statistic.start()
        total = statistic.merge(total, added)
    for name, expected in vars(whole).items():
        assert_allclose(getattr(total, name), expected, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("n_rows", [100, N])
def test_fits_are_those_on_sparse_features(n_rows: int) -> None:
    rows = slice(0, n_rows)
    targets = np.column_stack([Y, -Y])[rows]
    # Sums are made of all rows: their products are fewer than the leaves of these.
    assert (n_rows * 6 < INDICATORS.shape[1] ** 2) == (n_rows == 100)
    found = ridge_on_leaves(KERNEL, LEAVES_OF_ROWS[rows], targets, ALPHAS, WEIGHTS[rows], tol=1e-9)
    features = KERNEL.features(X[rows])
    expected = ridge_on_sparse_features(features, targets, ALPHAS, WEIGHTS[rows], tol=1e-9)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, atol=1e-6)


def stack(kind: Any = KernelStackingRegressor, **settings: Any) -> Any:
    given = {"n_components": 60, "max_samples": 100}
    return kind(approximation="nystroem", **{**given, **settings})


@pytest.fixture(scope="module", autouse=True)
def _few_rows_are_drawn() -> Any:
    """A tenth of the rows of small tables stand for the 20,000 that are drawn of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        from mercer._blocks import tables

        drawn = tables.drawn_rows
        patch.setattr(
            tables, "drawn_rows", lambda *args, **kwargs: drawn(*args, **kwargs, max_rows=150)
        )
        patch.setattr(tree_rows, "_MOST_SAMPLES", 200)
        yield


@pytest.fixture(scope="module")
def regression() -> Any:
    return stack().fit(X, Y)


def leaf_member(model: Any) -> Any:
    [member] = [m for m in model._members if isinstance(m.kernel, Forest)]
    return member


def test_trees_are_grown_on_some_rows_and_their_leaves_are_fitted_to_all() -> None:
    model = stack().fit(X, Y, sample_weight=WEIGHTS)
    member = leaf_member(model)
    Z = member.kernel.features(model._views.transform(X, member.view))
    values, mean = model._target.encoding.encode(Y), model._target.mean
    predicted = Z @ member.coefficients + member.intercept + mean
    residuals = WEIGHTS[:, None] * (values - predicted)
    # The gradient of the intercept, and that of the coefficients, which the penalty makes up for.
    assert_allclose(residuals.sum(axis=0), 0.0, atol=1e-6)
    [alpha] = [c.alpha for c in model.candidates_ if c.description == LEAVES]
    assert_allclose(Z.T @ residuals, alpha * member.coefficients, atol=0.02 * alpha)
    assert not np.allclose(member.coefficients, 0.0, atol=0.1)


def test_parquet_and_workers_give_the_same_fit(
    regression: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=100)
    pieces = ParquetSource.pieces
    monkeypatch.setattr(ParquetSource, "pieces", lambda self: pieces(self, 100))
    expected = leaf_member(regression).coefficients
    rows: list[int] = []
    on_workers = ParquetSource(tmp_path / "t.parquet", "y", client=client, on_rows=rows.append)
    model = stack().fit(on_workers)
    assert_allclose(leaf_member(model).coefficients, expected, atol=1e-5)
    assert_allclose(model.predict(frame[list("abc")]), regression.predict(X), atol=1e-5)
    assert rows
    assert sum(rows) % len(X) == 0


@dataclass(frozen=True)
class Dying(LeafEquations):
    """Sums of leaves, in which the worker dies that adds the last rows, once."""

    mark: Path = Path()

    def add(self, state: Moments, block: Block) -> Moments:
        if block.start >= 500 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().add(state, block)


def test_a_worker_that_dies_while_leaves_are_counted(client: Any, tmp_path: Path) -> None:
    da = pytest.importorskip("dask.array")
    encoding = encode_target(Y, classification=False).encoding
    source = block_source(da.from_array(X, (100, 3)), da.from_array(Y, 100))
    source.client = client
    found = source.reduce(Dying(KERNEL, encoding, mark=tmp_path / "died"))
    assert (tmp_path / "died").exists()
    expected = block_source(X, Y).reduce(LeafEquations(KERNEL, encoding))
    assert_allclose(found.gram, expected.gram)
    assert_allclose(found.cross, expected.cross, atol=1e-10)


def test_noise_is_not_learned() -> None:
    assert stack().fit(X, np.random.default_rng(1).normal(size=N)).loo_score_ < 0.05


def test_sums_beyond_working_memory_leave_the_fit_to_the_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tree_rows, "_MOST_SAMPLES", 400)
    # Views, Gram matrices and the sample fit one megabyte, and two matrices of leaves do not.
    with config_context(working_memory=1):
        model = stack().fit(X, Y)
    member = leaf_member(model)
    assert 16 * len(member.coefficients) ** 2 > 2**20
    assert model.score(X, Y) > 0.9
