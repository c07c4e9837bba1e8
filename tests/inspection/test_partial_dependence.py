"""Partial dependence is the mean prediction of rows whose column was replaced, of any table."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from explanation_cases import EXPLAINED, responses, ridge_on
from kernel_cases import KERNELS
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence as by_predictions
from sklearn.pipeline import make_pipeline

from mercer import (
    BayesianMKLClassifier,
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer.inspection import partial_dependence
from mercer.kernels import Gaussian
from mercer.preprocessing import table_encoder

pytestmark = pytest.mark.usefixtures("few_folds_throughout")


def replaced(X: np.ndarray, columns: list[int], values: Any) -> np.ndarray:
    mixed = X.copy()
    mixed[:, columns] = values
    return mixed


@pytest.mark.parametrize("name", EXPLAINED)
def test_curves_are_predictions_of_replaced_values(name: str) -> None:
    X, Y = responses()
    model = ridge_on(KERNELS[name], X, Y)
    function = model.kernel_expansion()
    one = partial_dependence(model, X, 1, grid_resolution=7)
    [grid] = one.grid_values
    expected = np.stack([function(replaced(X, [1], v)) for v in grid])
    size = 1e-10 * np.abs(expected).max()
    np.testing.assert_allclose(one.individual, expected.transpose(2, 1, 0), atol=size)
    np.testing.assert_allclose(one.average, expected.mean(axis=1).T, atol=size)

    two = partial_dependence(model, X, (2, 0), grid_resolution=4)
    assert two.features == ("x2", "x0")
    for i, first in enumerate(two.grid_values[0]):
        for j, second in enumerate(two.grid_values[1]):
            values = function(replaced(X, [2, 0], [first, second]))
            np.testing.assert_allclose(two.individual[:, :, i, j], values.T, atol=size)
            np.testing.assert_allclose(two.average[:, i, j], values.mean(axis=0), atol=size)


X_TABLE, Y_TABLE = responses(60, 4)
LABELS = np.digitize(Y_TABLE[:, 0], [-0.5, 0.5])


@pytest.mark.parametrize(
    ("estimator", "labels"),
    [(TwoStageClassifier(), LABELS > 0), (KernelStackingClassifier([Gaussian(2.0)]), LABELS)],
    ids=["two classes", "three classes"],
)
def test_probabilities(estimator: Any, labels: Any) -> None:
    model = estimator.fit(X_TABLE, labels)
    for X in (X_TABLE, 6.0 * X_TABLE):
        found = partial_dependence(model, X, (0, 1), grid_resolution=5)
        given = dict(enumerate(found.grid_values))
        expected = by_predictions(
            model, X, [0, 1], custom_values=given, method="brute", response_method="predict_proba"
        )
        assert found.scale == "probability"
        np.testing.assert_allclose(found.average, expected["average"], atol=1e-9)


@pytest.fixture(scope="module")
def model() -> Any:
    """Of the table below."""
    stack = make_pipeline(table_encoder(), KernelStackingRegressor())
    return stack.fit(TestTables.frame, TestTables.y)


class TestTables:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, 90),
            "town": rng.choice(["Bern", "Basel", None], 90),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 90), "D"),
            "height": rng.normal(170.0, 8.0, 90),
            "member": rng.random(90) < 0.5,
            "same": 1.0,
            "said": [f"{a} {b}" for b, a in enumerate(rng.choice(list("abcdefgh"), 90))],
        }
    )
    frame.loc[::9, "height"] = np.nan
    y = frame["age"] / 10.0 + 2.0 * (frame["town"] == "Bern") + rng.normal(size=90)

    @pytest.mark.parametrize("name", ["age", "town", "since", "height", "member"])
    def test_values_are_those_of_the_users_columns(self, model: Any, name: str) -> None:
        found = partial_dependence(model, self.frame, name, grid_resolution=12)
        cells = {"None": None, "missing": None, "True": True, "False": False}
        for value, average in zip(found.grid_values[0], found.average[0], strict=True):
            mixed = self.frame.copy()
            mixed[name] = cells.get(value, value) if isinstance(value, str) else value
            mixed[name] = mixed[name].astype(self.frame[name].dtype)
            assert average == pytest.approx(model.predict(mixed).mean(), abs=1e-8)

    def test_kinds_and_values(self, model: Any) -> None:
        found = {n: partial_dependence(model, self.frame, n) for n in self.frame.columns[:5]}
        kinds = [one.kinds for one in found.values()]
        expected = ["number", "category", "date", "number", "category"]
        assert kinds == [(kind,) for kind in expected]
        assert found["town"].grid_values[0].tolist() == ["Basel", "Bern", "missing"]
        assert found["member"].grid_values[0].tolist() == ["False", "True"]
        assert set(found["age"].grid_values[0]) <= set(self.frame["age"])
        assert found["since"].grid_values[0].dtype.kind == "M"
        heights = found["height"].grid_values[0]
        low, high = self.frame["height"].quantile([0.05, 0.95])
        assert low - 2.0 < heights[0] < heights[-1] < high + 2.0

    def test_codes_may_be_categories(self, model: Any) -> None:
        found = partial_dependence(
            model, self.frame, ("age", "height"), categorical_features=["age"], grid_resolution=3
        )
        assert found.kinds == ("category", "number")
        assert found.average.shape == (1, 20, 3)
        assert found.data[0].tolist() == self.frame["age"].astype(str).tolist()

    def test_frames_go_in_and_come_out(self, model: Any) -> None:
        pl = pytest.importorskip("polars")
        found = partial_dependence(model, self.frame, ("town", "age"), grid_resolution=4)
        frame = found.to_frame()
        assert list(frame) == ["town", "age", "average"]
        np.testing.assert_array_equal(frame["average"], found.average.ravel())
        assert (frame["town"][0], frame["age"][0]) == ("Basel", frame["age"].min())
        table = pl.from_pandas(self.frame)
        same = partial_dependence(model, table, ("town", "age"), grid_resolution=4)
        np.testing.assert_allclose(same.average, found.average, atol=1e-10)

    def test_rows_are_drawn(self, model: Any) -> None:
        found = partial_dependence(model, self.frame, "age", subsample=20)
        assert found.individual.shape[1] == 20
        again = partial_dependence(model, self.frame, "age", subsample=20)
        np.testing.assert_array_equal(found.average, again.average)
        other = partial_dependence(model, self.frame, "age", subsample=20, random_state=1)
        assert (other.average != found.average).any()

    def test_columns_without_curves(self, model: Any) -> None:
        with pytest.raises(
            ValueError, match="'said' does not contain numbers, dates or categories"
        ):
            partial_dependence(model, self.frame, "said")
        with pytest.raises(ValueError, match="'same' has the same value in all rows"):
            partial_dependence(model, self.frame, "same")


def test_sparse_tables() -> None:
    from scipy.sparse import csr_matrix

    X = np.where(np.abs(X_TABLE) > 0.7, X_TABLE, 0.0)
    dense, sparse = (
        ridge_on(Gaussian(2.0), X, Y_TABLE),
        ridge_on(Gaussian(2.0), csr_matrix(X), Y_TABLE),
    )
    found = partial_dependence(sparse, csr_matrix(X), 1)
    np.testing.assert_allclose(found.average, partial_dependence(dense, X, 1).average, atol=1e-10)


class TestBadInput:
    X, Y = responses()
    model = ridge_on(Gaussian(1.0), X, Y)

    def test_models(self) -> None:
        with pytest.raises(NotFittedError):
            partial_dependence(TwoStageRegressor(), self.X, 0)
        latent = BayesianMKLClassifier().fit(self.X, self.Y[:, 0] > 0.0)
        assert partial_dependence(latent, self.X, 0).scale == "latent mean"

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"features": "age"}, "'age' is absent"),
            ({"features": 3}, "Column 3 is absent"),
            ({"features": (0, 1, 2)}, "one column, or two that differ"),
            ({"features": (0, 0)}, "one column, or two that differ"),
            ({"features": ()}, "No column is chosen"),
            ({"grid_resolution": 1}, "grid_resolution"),
            ({"subsample": 0}, "subsample"),
            ({"categorical_features": ["age"]}, "'age' is absent"),
        ],
        ids=repr,
    )
    def test_settings(self, settings: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            partial_dependence(self.model, self.X, **{"features": 0, **settings})

    def test_tables(self) -> None:
        with pytest.raises(ValueError, match="features"):
            partial_dependence(self.model, self.X[:, :2], 0)
        with pytest.raises(ValueError, match="NaN"):
            partial_dependence(self.model, np.full((3, 3), np.nan), 0)
        skewed = self.X.copy()
        skewed[:, 0] = np.r_[-1.0, np.zeros(28), 3.0]
        found = partial_dependence(self.model, skewed, 0, grid_resolution=2)
        assert found.grid_values[0].tolist() == [-1.0, 3.0]

    def test_several_outputs(self) -> None:
        found = partial_dependence(self.model, self.X, 0)
        with pytest.raises(ValueError, match="output must be one of 0, 1; got None"):
            found.of_output()
        np.testing.assert_array_equal(found.of_output(1).average[0], found.average[1])
