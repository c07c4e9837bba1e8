"""Trees where little can be learned, of odd targets, and of categories that come late."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaign import in_campaign, rotating
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from mercer import KernelStackingClassifier, KernelStackingRegressor, ParquetSource
from mercer._blocks import tables
from mercer._data.encoded_targets import EncodedTarget, encode_target
from mercer._estimators.stacking import default_estimators, drawn_views
from mercer.kernels import Gaussian
from mercer.preprocessing import table_encoder

N = 400
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] > 0.0) + np.abs(X[:, 1]) + 0.1 * RNG.normal(size=N)


@pytest.fixture(autouse=True)
def _few_rows_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small tables, 150 rows stand for the 20,000 that are drawn of large ones."""
    drawn = tables.drawn_rows
    monkeypatch.setattr(
        tables, "drawn_rows", lambda *args, **settings: drawn(*args, **settings, max_rows=150)
    )
    monkeypatch.setattr(drawn_views, "_MOST_ESTIMATOR_ROWS", 200)
    monkeypatch.setattr(default_estimators, "_FEWEST_RESPONSES", 2)


def stack(kind: Any = KernelStackingRegressor) -> Any:
    return kind(approximation="nystroem", n_components=60, max_samples=100)


def has_trees(model: Any) -> bool:
    return any("Boosting" in candidate.description for candidate in model.candidates_)


@pytest.mark.parametrize("n_grown", [200, N])
def test_trees_of_a_constant_target_predict_little(
    n_grown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawn_views, "_MOST_ESTIMATOR_ROWS", n_grown)
    model = stack().fit(X, np.full(N, 3.0))
    assert has_trees(model)
    assert_allclose(model.predict(X), 3.0)


@pytest.mark.parametrize("n_rows", [3, 10, *in_campaign(30)])
def test_trees_of_few_rows_predict_little(n_rows: int) -> None:
    model = stack().fit(X[:n_rows], Y[:n_rows])
    assert has_trees(model)
    assert np.isfinite(model.predict(X)).all()


def test_trees_of_one_row_have_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_views, "_MOST_ESTIMATOR_ROWS", 1)
    model = stack().fit(X, Y)
    assert not any(c.weight for c in model.candidates_ if "Boosting" in c.description)
    assert model.score(X, Y) > 0.8


class FailsOnAllRows(LinearRegression):
    """Fits in folds succeed, and the fit to all rows does not."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if len(X) >= 200:
            raise MemoryError("too many rows")
        return super().fit(X, y, sample_weight)


def test_an_estimator_whose_fit_to_all_rows_fails_is_left_out() -> None:
    settings: Any = {"approximation": "nystroem", "n_components": 60, "max_samples": 100}
    with pytest.warns(UserWarning, match="FailsOnAllRows.*left out.*too many rows"):
        model = KernelStackingRegressor([Gaussian(), FailsOnAllRows()], **settings).fit(X, X[:, 0])
    assert not any("FailsOnAllRows" in c.description for c in model.candidates_)
    alone = KernelStackingRegressor([Gaussian()], **settings).fit(X, X[:, 0])
    assert_allclose(model.predict(X), alone.predict(X), rtol=1e-12)


def test_an_estimator_that_predicts_little_is_kept_if_nothing_else_predicts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drawn_views, "LEAST_SHARE", 2.0)
    model = KernelStackingRegressor(
        [LinearRegression()], approximation="nystroem", n_components=60
    ).fit(X, Y)
    assert [c.description for c in model.candidates_ if c.weight] == ["LinearRegression"]


@pytest.mark.parametrize("n_grown", [2, *in_campaign(3)])
def test_rows_of_folds_without_which_nothing_is_left_are_predicted_by_the_mean(
    n_grown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawn_views, "_MOST_ESTIMATOR_ROWS", n_grown)
    model = stack().fit(X, Y)
    assert has_trees(model)
    assert np.isfinite(model.loo_predictions_).all()
    assert model.loo_score_ > 0.8


def test_all_rows_are_equal() -> None:
    model = stack().fit(np.zeros((N, 2)), Y)
    [prediction] = model.predict(np.zeros((1, 2)))
    assert abs(prediction - Y.mean()) < 3.0 * Y.std() / np.sqrt(150)
    assert model.loo_score_ < 0.01


@pytest.mark.parametrize(("value", "row"), rotating([1e6, 1e200], [5, N - 1]))
def test_one_extreme_response_moves_predictions_by_no_more_than_itself(
    value: float, row: int
) -> None:
    y = Y.copy()
    y[row] = value
    predictions = stack().fit(X, y).predict(X)
    assert np.isfinite(predictions).all()
    assert (np.abs(predictions) <= value).all()


def test_a_class_that_the_trees_have_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_views, "_MOST_ESTIMATOR_ROWS", 160)
    monkeypatch.setattr(default_estimators, "_FEWEST_ROWS", 100)
    labels = 1 * (Y > 1.0)
    labels[[7, 300]] = 2
    model = stack(KernelStackingClassifier).fit(X, labels)
    assert any("Boosting" in candidate.description for candidate in model.candidates_)
    probabilities = model.predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities[:, 2].mean() < 0.1
    assert model.score(X, labels) > 0.8


def test_most_values_are_missing() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        kind=np.where(Y > 1.0, "u", "v"), none=np.nan
    )
    frame = frame.mask(RNG.random(frame.shape) < 0.9)
    noise = RNG.normal(size=N)
    model = make_pipeline(table_encoder(), stack()).fit(frame, noise)
    assert np.isfinite(model.predict(frame)).all()
    assert model[-1].loo_score_ < 0.05


def test_two_thousand_categories_of_which_some_come_late(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    levels = np.array([f"c{k}" for k in range(2000)])
    known = RNG.choice(levels[:1000], size=3000)
    late = RNG.choice(levels[1000:], size=1000)
    frame = pd.DataFrame({"c": np.append(known, late), "x": RNG.normal(size=4000)})
    effects = RNG.normal(size=2000)
    y = effects[frame["c"].str[1:].astype(int)] + frame["x"]
    frame.assign(y=y).to_parquet(tmp_path / "t.parquet", row_group_size=500)
    encoder = table_encoder().fit(frame[:3000], y[:3000])
    source = ParquetSource(tmp_path / "t.parquet", "y", encoder=encoder)
    model = stack().fit(source)
    assert has_trees(model)
    predictions = model.predict(encoder.transform(frame))
    assert np.isfinite(predictions).all()
    assert np.corrcoef(predictions, y)[0, 1] > 0.6
    # Rows of categories that the encoder does not know differ by the other column alone.
    assert np.corrcoef(predictions[3000:], frame["x"][3000:])[0, 1] > 0.8


def test_trees_of_wide_tables_are_grown_on_as_many_rows_as_fit_working_memory() -> None:
    wide = np.hstack([X, np.zeros((N, 200))])
    with config_context(working_memory=1):
        # A mebibyte holds 119 rows.
        assert has_trees(stack().fit(wide, Y))


@pytest.mark.parametrize("kind", ["classes", "responses", "several responses"])
def test_from_many_rows_on_trees_are_larger_or_have_a_larger_member_beside_them(kind: str) -> None:
    y = np.arange(15_000) % 2 + 0.0
    y = np.column_stack([y, -y]) if kind == "several responses" else y
    target = encode_target(y, classification=kind == "classes")

    def leaves(target: EncodedTarget) -> list[int]:
        found = default_estimators.default_estimators(target, "scaled", 0)
        return [getattr(one.estimator, "estimator", one.estimator).max_leaf_nodes for one in found]

    few, many = leaves(target.take(np.arange(14_999))), leaves(target)
    assert len(few) == 1
    assert many[-1] > few[0]
    assert many[:-1] == (few if kind == "classes" else [])
