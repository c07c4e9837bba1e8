"""Two-stage learning on Nyström features: beside exact fits, from files, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer import ParquetSource, TwoStageClassifier, TwoStageRegressor, UniformCombination
from mercer.kernels import Gaussian, Linear, Polynomial

pytestmark = pytest.mark.filterwarnings("ignore:The best (C|alpha):UserWarning")

N_TRAIN = 300
GIVEN = UniformCombination([Gaussian(2.0)])


def problem(kind: Any, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Samples, and responses or three classes of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    if kind is TwoStageClassifier:
        y = np.array(["low", "middle", "high"])[np.digitize(y, [0.3, 1.2])]
    return X, y


def approximate(kind: Any, **settings: Any) -> Any:
    return kind(approximation="nystroem", n_components=80, **settings)


KINDS = pytest.mark.parametrize("kind", [TwoStageRegressor, TwoStageClassifier])


@KINDS
def test_predictions_are_as_good_as_those_of_an_exact_fit(kind: Any) -> None:
    X, y = problem(kind)
    found = approximate(kind).fit(X[:N_TRAIN], y[:N_TRAIN])
    exact = kind().fit(X[:N_TRAIN], y[:N_TRAIN])
    held_out = X[N_TRAIN:], y[N_TRAIN:]
    assert found.score(*held_out) > exact.score(*held_out) - 0.08
    assert found.predictor_.columns.n_centers == 80
    assert found.alpha_ in found.cv_results_["param_alpha"]


def test_auto_is_exact_for_few_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem(TwoStageRegressor)
    assert not TwoStageRegressor().fit(X, y)._is_approximate()
    monkeypatch.setattr("mercer._blocks.approximation.EXACT_ROWS", 300)
    found = TwoStageRegressor().fit(X, y)
    assert found._is_approximate()
    assert found.predictor_.columns.n_centers == 400
    assert not TwoStageRegressor(approximation="exact").fit(X, y)._is_approximate()


def test_classes_have_probabilities_and_decision_values() -> None:
    X, y = problem(TwoStageClassifier, 150)
    found = approximate(TwoStageClassifier, learner=GIVEN).fit(X, y)
    probabilities = found.predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    best = found.classes_[probabilities.argmax(axis=1)]
    assert (found.predict(X) == best).all()
    assert_allclose(found.decision_function(X), np.log(probabilities))
    two = approximate(TwoStageClassifier, learner=GIVEN).fit(X, y == "low")
    assert ((two.decision_function(X) > 0.0) == two.predict(X)).all()


@KINDS
def test_a_file_is_fitted_like_the_table(kind: Any, tmp_path: Path) -> None:
    """Classes of a file may have weights; samples may not."""
    pytest.importorskip("pyarrow")
    frames = pytest.importorskip("pandas")
    X, y = problem(kind, 200)
    table = frames.DataFrame(X, columns=["a", "b", "c"])
    table.assign(y=y).to_parquet(tmp_path / "table.parquet", row_group_size=60)
    source = ParquetSource(tmp_path / "table.parquet", target="y")
    model = approximate(kind, learner=GIVEN)
    if kind is TwoStageClassifier:
        model.set_params(class_weight="balanced")
    streamed, in_memory = clone(model).fit(source), clone(model).fit(table, y)
    assert list(streamed.feature_names_in_) == ["a", "b", "c"]
    assert_allclose(outputs(streamed, table), outputs(in_memory, table), rtol=1e-5, atol=1e-7)
    rows = ParquetSource(tmp_path / "table.parquet", columns=["a", "b", "c"])
    assert_allclose(outputs(in_memory, rows), outputs(in_memory, table))
    with pytest.raises(ValueError, match="sample_weight needs a table in memory"):
        model.fit(source, sample_weight=np.ones(200))


def test_several_outputs_and_sparse_tables() -> None:
    X, y = problem(TwoStageRegressor, 150)
    X[np.abs(X) < 0.3] = 0.0
    found = approximate(TwoStageRegressor).fit(sp.csr_matrix(X), np.column_stack([y, -y]))
    predicted = found.predict(sp.csr_matrix(X))
    assert predicted.shape == (150, 2)
    assert_allclose(predicted[:, 0], -predicted[:, 1], atol=1e-6)


def test_an_exact_fit_beyond_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer._gram.memory._UNCHECKED", 0.0)
    monkeypatch.setattr("mercer._gram.memory.available_memory", lambda: 1e5)
    with pytest.raises(MemoryError, match=r"400 rows need .* use approximation='nystroem'"):
        TwoStageRegressor(approximation="exact").fit(*problem(TwoStageRegressor))


def test_intervals_hold_as_many_responses_as_they_say() -> None:
    X, y = problem(TwoStageRegressor, 1200)
    model = approximate(TwoStageRegressor).fit(X[:600], y[:600])
    assert model.cv_residuals_.shape == (600,)
    ends = model.predict_interval(X[600:], 0.9)
    assert ends.shape == (600, 2)
    assert 0.85 < np.mean((ends[:, 0] <= y[600:]) & (y[600:] <= ends[:, 1])) < 0.95


def outputs(model: Any, X: Any) -> np.ndarray:
    """Responses or probabilities."""
    return np.asarray(getattr(model, "predict_proba", model.predict)(X))


@KINDS
def test_rows_of_weight_zero_are_left_out_and_ratios_of_weights_count(kind: Any) -> None:
    X, y = problem(kind, 200)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    weights[::3] = 0.0
    there = weights > 0.0
    found = approximate(kind).fit(X, y, sample_weight=weights)
    expected = approximate(kind).fit(X[there], y[there], sample_weight=weights[there])
    assert_allclose(outputs(found, X), outputs(expected, X))
    given = approximate(kind, learner=GIVEN)
    one, other = (clone(given).fit(X, y, sample_weight=w) for w in (weights, 1e-3 * weights))
    assert_allclose(outputs(other, X), outputs(one, X), atol=1e-5)


def test_whole_weights_count_copies() -> None:
    """With all rows as centers, and a kernel and a penalty that are given."""
    X, y = problem(TwoStageRegressor, 80)
    counts = np.random.default_rng(1).integers(1, 4, 80)
    model = TwoStageRegressor(
        UniformCombination([Linear(), Polynomial(2)]),
        alpha=[0.3],
        approximation="nystroem",
        n_components=240,
    )
    found = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_allclose(found.predict(X), repeated.predict(X), rtol=1e-8, atol=1e-8)
    assert found.cv_residuals_.shape == (counts.sum(),)


def test_balanced_classes_have_equal_weight() -> None:
    X, y = problem(TwoStageRegressor, 200)
    rare = y > 2.0
    model = approximate(TwoStageClassifier, learner=GIVEN)
    found = clone(model).set_params(class_weight="balanced").fit(X, rare)
    weights = np.where(rare, 1.0 / rare.mean(), 1.0 / np.mean(~rare)) / 2.0
    equal = clone(model).fit(X, rare, sample_weight=weights)
    assert_allclose(found.predict_proba(X), equal.predict_proba(X), atol=1e-6)
    assert np.abs(found.predict_proba(X) - clone(model).fit(X, rare).predict_proba(X)).max() > 0.1
