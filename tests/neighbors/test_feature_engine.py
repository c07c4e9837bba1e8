"""feature-engine: columns of a data frame are selected by what a model loses without them."""

import pytest
from feature_engine import selection

from mercer.preprocessing import table_encoder


@pytest.mark.parametrize("way", ["SelectByShuffling", "RecursiveFeatureElimination"])
def test_columns_are_selected(way, patients, models, found):
    X, y = patients
    encoded, chosen = table_encoder().set_output(transform="pandas").fit_transform(X), []
    for model, table in zip(models, (X, encoded), strict=True):
        selector = getattr(selection, way)(model, scoring="r2", cv=3).fit(table, y)
        chosen.append(set(selector.get_feature_names_out()))
    found(f"{way} selects {len(chosen[0])} columns, linear {len(chosen[1])}")
    assert {"bmi", "s5"} <= chosen[0] & chosen[1]
