"""econml: an effect that is known, with nuisance functions by kernels."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor

pytest.importorskip("econml", "0.15")
DISTRIBUTION = "econml"


def test_the_effect_is_within_its_interval(found):
    from econml.dml import LinearDML

    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    dose = np.cos(2 * X[:, 0]) + 0.5 * random.normal(size=300)
    y = 0.5 * dose + 2 * np.cos(2 * X[:, 0]) + 0.5 * random.normal(size=300)
    effects = []
    for model in (TwoStageRegressor(), RidgeCV()):
        fitted = LinearDML(model_y=model, model_t=model, cv=3, random_state=0).fit(y, dose, W=X)
        effects += [fitted.intercept_, fitted.intercept__inference().stderr]
    found("effect {:.2f} ± {:.2f}, linear {:.2f} ± {:.2f} (true 0.5)".format(*effects))
    assert abs(effects[0] - 0.5) < 2.5 * effects[1]
