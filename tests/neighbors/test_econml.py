"""econml: an effect that is known, with nuisance functions by kernels."""

from econml.dml import LinearDML


def test_the_effect_is_within_its_interval(doses, models, found):
    X, y, dose = doses
    effects = []
    for model in models:
        fitted = LinearDML(model_y=model, model_t=model, cv=3, random_state=0).fit(y, dose, W=X)
        effects += [fitted.intercept_, fitted.intercept__inference().stderr]
    found("effect {:.2f} ± {:.2f}, linear {:.2f} ± {:.2f} (true 0.5)".format(*effects))
    assert abs(effects[0] - 0.5) < 2.5 * effects[1]
