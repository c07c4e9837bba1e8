"""interpret: its curves of a column are means of predictions."""

import numpy as np
from interpret.blackbox import PartialDependence


def test_curves_are_those_of_mercer(numbers, models, found):
    X, y = numbers
    errors = []
    for model in models:
        explained = PartialDependence(model.fit(X, y), X).explain_global()
        curve = explained.data(X.columns.get_loc("bmi"))
        mean = [model.predict(X.assign(bmi=value)).mean() for value in curve["names"]]
        errors.append(np.abs(np.array(mean) - curve["scores"]).max() / np.std(y))
    found("curves differ by {:.0e}, linear {:.0e}".format(*errors))
    assert errors[0] < 1e-6
