"""interpret: its curves of a column are means of predictions."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor

pytest.importorskip("interpret", "0.6")
DISTRIBUTION = "interpret-core"


def test_curves_are_those_of_mercer(numbers, found):
    from interpret.blackbox import PartialDependence

    X, y = numbers
    errors = []
    for model in (TwoStageRegressor().fit(X, y), RidgeCV().fit(X, y)):
        curve = PartialDependence(model, X).explain_global().data(X.columns.get_loc("bmi"))
        mean = [model.predict(X.assign(bmi=value)).mean() for value in curve["names"]]
        errors.append(np.abs(np.array(mean) - curve["scores"]).max() / np.std(y))
    found("curves differ by {:.0e}, linear {:.0e}".format(*errors))
    assert errors[0] < 1e-6
