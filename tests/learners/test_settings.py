"""Every estimator refuses wrong values of its parameters by name, before it looks at the table."""

import numpy as np
import pytest
from learner_cases import problem
from sklearn.base import BaseEstimator, is_classifier

import mercer

ESTIMATORS = {
    name: getattr(mercer, name)
    for name in mercer.__all__
    if isinstance(getattr(mercer, name), type) and issubclass(getattr(mercer, name), BaseEstimator)
}
OTHERS = {"candidates", "categories", "class_weight", "family", "kernel", "kernels"}
OTHERS |= {"n_jobs", "random_state", "scoring", "similarity"}
"""What depends on the data, and what scikit-learn checks."""
POSITIVE = {"alpha", "jitter", "learning_rate", "max_iter", "max_kernels", "n_clusters", "n_starts"}
POSITIVE |= {"n_trees", "noise", "norm", "radius", "weight_penalty", "width_deviation"}
ZEROS = {("HSICLasso", "alpha"), ("MultipleKernelClustering", "weight_penalty")}
"""Parameters of these names that may be zero."""
CASES = [
    (name, parameter)
    for name, make in ESTIMATORS.items()
    for parameter in make().get_params(deep=False)
    if parameter not in OTHERS
]


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_wrong_values_are_refused(name: str, parameter: str) -> None:
    make = ESTIMATORS[name]
    _, y = problem("binary" if is_classifier(make()) else "regression", 20)
    for value in ("nonsense", -1.0, np.nan, 0.0):
        if value == 0.0 and (parameter not in POSITIVE or (name, parameter) in ZEROS):
            continue
        if parameter == "center" and value != "nonsense":
            continue
        with pytest.raises((ValueError, TypeError), match=rf"(?s)^(?!Input X).*\b{parameter}\b"):
            make(**{parameter: value}).fit(np.full((20, 2), np.nan), y)
