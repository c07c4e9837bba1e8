"""crepes: conformal intervals and sets, also from the residuals of left-out rows."""

import crepes
import numpy as np

from mercer import TwoStageClassifier, TwoStageRegressor


def test_intervals_cover(patients, frame_models, share_inside, found):
    X, y = patients
    shares = []
    for model in frame_models:
        wrapped = crepes.WrapRegressor(model)
        wrapped.fit(X[:150], y[:150])
        wrapped.calibrate(X[150:250], y[150:250])
        ends = wrapped.predict_int(X[250:], confidence=0.9, seed=0)
        shares.append(share_inside(*ends.T, y[250:]))
    model = TwoStageRegressor().fit(X[:250], y[:250])
    left_out = crepes.ConformalRegressor().fit(model.cv_residuals_)
    ends = left_out.predict_int(model.predict(X[250:]), confidence=0.9)
    shares.append(share_inside(*ends.T, y[250:]))
    found("coverage of 90 %: {:.2f}, linear {:.2f}, of left-out residuals {:.2f}".format(*shares))
    assert all(0.85 < one < 0.97 for one in shares)


def test_sets_contain_the_class(patients, found):
    X, y = patients[0], patients[1] > 140
    wrapped = crepes.WrapClassifier(TwoStageClassifier())
    wrapped.fit(X[:150], y[:150])
    wrapped.calibrate(X[150:250], y[150:250])
    sets = wrapped.predict_set(X[250:], confidence=0.9, seed=0)
    covered = np.mean([one in labels for one, labels in zip(y[250:], sets, strict=True)])
    found(f"sets {covered:.2f}")
    assert covered > 0.84
