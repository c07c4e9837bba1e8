"""dalex: columns that a model of a data frame needs."""

import pytest
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from mercer import TwoStageRegressor
from mercer.preprocessing import table_encoder

dalex = pytest.importorskip("dalex", "1.6")
DISTRIBUTION = "dalex"


def test_parts_of_a_model(patients, found):
    X, y = patients
    first = []
    for model in (TwoStageRegressor(), make_pipeline(table_encoder(), RidgeCV())):
        explainer = dalex.Explainer(model.fit(X, y), X, y, verbose=False)
        parts = explainer.model_parts(B=2, random_state=0, N=None).result
        first.append([one for one in parts["variable"] if not one.startswith("_")][-2:])
    found(f"most needed: {', '.join(first[0])}; linear {', '.join(first[1])}")
    assert set(first[0]) == {"bmi", "s5"}
