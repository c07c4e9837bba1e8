"""DoubleML: an effect that is known, with nuisance functions by kernels."""

import doubleml
import numpy as np


def test_the_effect_is_within_its_interval(doses, models, found):
    effects = []
    for model in models:
        np.random.seed(0)  # noqa: NPY002
        data = doubleml.DoubleMLData.from_arrays(*doses)
        fitted = doubleml.DoubleMLPLR(data, model, model, n_folds=3).fit()
        effects += [fitted.coef[0], fitted.se[0]]
    found("effect {:.2f} ± {:.2f}, linear {:.2f} ± {:.2f} (true 0.5)".format(*effects))
    assert abs(effects[0] - 0.5) < 2.5 * effects[1]
