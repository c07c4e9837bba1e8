"""Shapley values of models of tables: players are the columns of the user's table."""

from typing import Any

import numpy as np
import pytest
from explanation_cases import naive_values, responses, ridge_on
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import TwoStageRegressor, UniformCombination
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Linear
from mercer.preprocessing import table_encoder

X_RESPONSE, Y_RESPONSE = responses(60, 4)


RIDGE = TwoStageRegressor(UniformCombination([Gaussian(2.0), Linear()]), alpha=0.1)


@pytest.fixture(scope="module")
def problem(table: Any) -> Any:
    """Some ages are missing."""
    frame = table.assign(age=table["age"].where(table.index % 9 > 0))
    y = frame["age"].fillna(50.0) / 10.0 + 2.0 * (frame["town"] == "Bern")
    return frame, y.to_numpy()


class TestTables:
    def test_players_are_the_columns_of_the_users_table(self, problem: Any) -> None:
        frame, y = problem
        model = make_pipeline(table_encoder(), RIDGE).fit(frame, y)
        background = frame[20:40]
        found = shapley_values(model, frame[:5], background)
        assert found.feature_names == ["age", "town", "since", "height"]
        np.testing.assert_allclose(found.predictions, model.predict(frame[:5]), atol=1e-9)
        assert found.data[0, 1] == frame["town"][0]

        # By the definition, on the codes of rows in the data frame: the last is explained.
        both = frame.iloc[[*range(20, 40), 0]].reset_index(drop=True)

        def predict(codes: np.ndarray) -> Any:
            columns = {name: both[name].to_numpy()[codes[:, j]] for j, name in enumerate(both)}
            return model.predict(type(both)(columns).astype(both.dtypes))

        rows = np.tile(np.arange(21)[:, None], 4)
        expected = naive_values(predict, rows[20], rows[:20], [[0], [1], [2], [3]])[:, 0]
        np.testing.assert_allclose(found.values[0], expected, atol=1e-10)

    def test_groups_by_name_and_frames(self, problem: Any) -> None:
        frame, y = problem
        model = make_pipeline(table_encoder(), RIDGE).fit(frame, y)
        found = shapley_values(model, frame[:3], groups={"person": ["age", "town"]})
        assert found.feature_names == ["person", "since", "height"]
        assert found.data[:2, 0].tolist() == [
            f"missing, {frame['town'][0]}",
            f"{frame['age'][1]:.0f}, {frame['town'][1]}",
        ]
        values = found.to_frame()
        assert list(values.columns) == found.feature_names
        np.testing.assert_array_equal(values, found.values)
        both = shapley_values(TwoStageRegressor().fit(X_RESPONSE, Y_RESPONSE), X_RESPONSE[:2])
        assert both.to_frame()["1", "x2"].tolist() == both.values[:, 2, 1].tolist()

    def test_columns_in_another_order_and_further_ones(self, problem: Any) -> None:
        frame, y = problem
        model = make_pipeline(table_encoder(), RIDGE).fit(frame, y)
        other = frame[["height", "town", "since", "age"]].assign(more=1.0)
        found, expected = (shapley_values(model, X[:5], X[20:40]) for X in (other, frame))
        np.testing.assert_array_equal(found.values, expected.values)
        assert found.data.tolist()[1:] == expected.data.tolist()[1:]

    def test_frames_of_polars_are_as_those_of_pandas(self, problem: Any) -> None:
        pl = pytest.importorskip("polars")
        frame, y = problem
        found, expected = (
            shapley_values(make_pipeline(table_encoder(), RIDGE).fit(X, y), X[:5], X[20:40])
            for X in (pl.from_pandas(frame), frame)
        )
        np.testing.assert_allclose(found.values, expected.values, atol=1e-10)
        assert found.data.tolist()[1:] == expected.data.tolist()[1:]

    def test_searches_and_scalers_are_seen_through(self) -> None:
        search = GridSearchCV(RIDGE, {"alpha": [0.1, 1.0]}, cv=2)
        model = make_pipeline(StandardScaler(), search).fit(X_RESPONSE, Y_RESPONSE)
        found = shapley_values(model, X_RESPONSE[:2])
        np.testing.assert_allclose(found.predictions, model.predict(X_RESPONSE[:2]), atol=1e-9)

    def test_sparse_tables_are_as_dense_ones(self) -> None:
        from scipy.sparse import csr_matrix

        X = np.where(np.abs(X_RESPONSE) > 0.7, X_RESPONSE, 0.0)
        dense = ridge_on(Gaussian(2.0), X, Y_RESPONSE)
        sparse = ridge_on(Gaussian(2.0), csr_matrix(X), Y_RESPONSE)
        found = shapley_values(sparse, csr_matrix(X[:3]), csr_matrix(X[9:20]))
        expected = shapley_values(dense, X[:3], X[9:20])
        np.testing.assert_allclose(found.values, expected.values, atol=1e-10)
        np.testing.assert_array_equal(found.data, X[:3])
