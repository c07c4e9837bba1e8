"""DoubleML: an effect that is known, with nuisance functions by kernels."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor

doubleml = pytest.importorskip("doubleml", "0.7")
DISTRIBUTION = "DoubleML"


def test_the_effect_is_within_its_interval(found):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    dose = np.cos(2 * X[:, 0]) + 0.5 * random.normal(size=300)
    y = 0.5 * dose + 2 * np.cos(2 * X[:, 0]) + 0.5 * random.normal(size=300)
    effects = []
    for model in (TwoStageRegressor(), RidgeCV()):
        np.random.seed(0)  # noqa: NPY002
        data = doubleml.DoubleMLData.from_arrays(X, y, dose)
        fitted = doubleml.DoubleMLPLR(data, model, model, n_folds=3).fit()
        effects += [fitted.coef[0], fitted.se[0]]
    found("effect {:.2f} ± {:.2f}, linear {:.2f} ± {:.2f} (true 0.5)".format(*effects))
    assert abs(effects[0] - 0.5) < 2.5 * effects[1]
