"""feature-engine: columns of a data frame are selected by what a model loses without them."""

import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor
from mercer.preprocessing import table_encoder

selection = pytest.importorskip("feature_engine.selection")
DISTRIBUTION = "feature_engine"


@pytest.mark.parametrize("way", ["SelectByShuffling", "RecursiveFeatureElimination"])
def test_columns_are_selected(way, patients, found):
    X, y = patients
    encoded, chosen = table_encoder().set_output(transform="pandas").fit_transform(X), []
    for model, table in ((TwoStageRegressor(), X), (RidgeCV(), encoded)):
        selector = getattr(selection, way)(model, scoring="r2", cv=3).fit(table, y)
        chosen.append(set(selector.get_feature_names_out()))
    found(f"{way} selects {len(chosen[0])} columns, linear {len(chosen[1])}")
    assert {"bmi", "s5"} <= chosen[0] & chosen[1]
