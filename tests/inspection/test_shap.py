"""Values are those of shap's exact explainer, on data sets of scikit-learn."""

from typing import Any

import numpy as np
import pytest
from explanation_cases import ridge_on
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from mercer import KernelStackingClassifier, MKLClassifier
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Laplacian

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
    explanation = found.to_shap()
    np.testing.assert_array_equal(explanation.values, found.values)
    assert explanation.feature_names == found.feature_names
