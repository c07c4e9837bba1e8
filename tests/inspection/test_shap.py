"""Values are those of shap's exact explainer, and its plots take them."""

from typing import Any

import numpy as np
import pytest
from explanation_cases import ridge_on
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    KernelStackingClassifier,
    MKLClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Laplacian
from mercer.preprocessing import table_encoder

# The package issues these warnings, of matplotlib and NumPy, when it is imported.
pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.usefixtures("few_folds_throughout"),
]


@pytest.mark.parametrize(
    ("load", "model"),
    [
        (load_diabetes, Laplacian(9.0, norm=1.0)),
        (load_iris, KernelStackingClassifier([Gaussian(3.0)], approximation="nystroem")),
        (load_wine, MKLClassifier([Gaussian(4.0), Gaussian(9.0)])),
    ],
    ids=["diabetes", "iris", "wine"],
)
def test_values_are_those_of_shap(load: Any, model: Any) -> None:
    shap = pytest.importorskip("shap", exc_type=ImportError)
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:, :10]
    fitted = model.fit(X, y) if hasattr(model, "fit") else ridge_on(model, X, y)
    background, rows = X[::20], X[5:170:50]
    function = fitted.kernel_expansion()
    masker = shap.maskers.Independent(background, len(background))
    expected = shap.explainers.Exact(function, masker)(rows, silent=True).values
    found = shapley_values(fitted, rows, background)
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
@pytest.mark.parametrize(
    "draw",
    [
        lambda shap, shown: shap.plots.bar(shown, show=False),
        lambda shap, shown: shap.plots.bar(shown[0], show=False),
        lambda shap, shown: shap.plots.waterfall(shown[0], show=False),
        lambda shap, shown: shap.plots.beeswarm(shown, show=False),
        lambda shap, shown: shap.plots.scatter(shown[:, "age"], color=shown, show=False),
        lambda shap, shown: shap.plots.scatter(shown[:, "town"], show=False),
        lambda shap, shown: shap.plots.scatter(shown[:, "since"], show=False),
    ],
    ids=["bar", "bar of one", "waterfall", "beeswarm", "numbers", "categories", "dates"],
)
def test_plots_of_shap_take_tables_with_missing_cells(mixed: Any, draw: Any) -> None:
    shap = pytest.importorskip("shap", exc_type=ImportError)
    plt = pytest.importorskip("matplotlib.pyplot")
    draw(shap, mixed.to_shap())
    assert plt.gcf().axes
    plt.close("all")
