"""Values are those of shap's exact explainer, and its plots take them."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    MKLClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian
from mercer.preprocessing import table_encoder

# The package issues these warnings, of matplotlib and NumPy, when it is imported.
pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.usefixtures("few_folds_throughout"),
]


def test_values_are_those_of_shap() -> None:
    shap = pytest.importorskip("shap", exc_type=ImportError)
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:, :10]
    model = MKLClassifier([Gaussian(4.0), Gaussian(9.0)]).fit(X, y)
    background, rows = X[::20], X[5:170:50]
    masker = shap.maskers.Independent(background, len(background))
    explainer = shap.explainers.Exact(model.kernel_expansion(), masker)
    expected = explainer(rows, silent=True).values
    found = shapley_values(model, rows, background)
    np.testing.assert_allclose(found.values.reshape(expected.shape), expected, atol=1e-6)


@pytest.fixture(scope="module")
def mixed() -> Any:
    """Contributions on a table of numbers, categories and dates with missing cells."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 60), "D")
    table = pd.DataFrame({"age": rng.integers(20, 80, 60).astype(float), "since": days})
    table["town"] = rng.choice(["Bern", "Basel", "Chur"], 60)
    y = table["age"] * (1.0 + (table["town"] == "Bern"))
    table.loc[::7, "age"], table.loc[::8, "town"], table.loc[::9, "since"] = None, None, None
    model = TwoStageRegressor(UniformCombination([Gaussian(3.0)]), alpha=0.1)
    return shapley_values(make_pipeline(table_encoder(), model).fit(table, y), table)


# The scatter plot of the package compares missing numbers.
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_plots_of_shap_take_tables_with_missing_cells(mixed: Any) -> None:
    shap = pytest.importorskip("shap", exc_type=ImportError)
    plt = pytest.importorskip("matplotlib.pyplot")
    shown = mixed.to_shap()
    for draw, values in (
        (shap.plots.bar, shown),
        (shap.plots.waterfall, shown[0]),
        (shap.plots.beeswarm, shown),
        (shap.plots.scatter, shown[:, "age"]),
        (shap.plots.scatter, shown[:, "town"]),
        (shap.plots.scatter, shown[:, "since"]),
    ):
        draw(values, show=False)
        assert plt.gcf().axes
        plt.close("all")
