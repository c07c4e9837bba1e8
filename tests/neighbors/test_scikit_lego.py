"""scikit-lego: a model for each group, decaying weights, thresholds and grades."""

import numpy as np
from numpy.testing import assert_allclose
from sklego.meta import DecayEstimator, GroupedPredictor, OrdinalClassifier, Thresholder

from mercer import TwoStageClassifier, TwoStageRegressor
from mercer.preprocessing import table_encoder


def test_a_model_for_each_group(patients, frame_models, found):
    X, y = patients
    scores = []
    for model in frame_models:
        grouped = GroupedPredictor(model, groups=["sex"], check_X=False).fit(X[:250], y[:250])
        scores.append(1 - np.var(y[250:] - grouped.predict(X[250:])) / np.var(y[250:]))
    found("a model for each sex: R² {:.2f}, linear {:.2f}".format(*scores))
    assert scores[0] > scores[1] - 0.05


def test_decay_weights_rows(patients, found):
    X, y = patients
    model = DecayEstimator(TwoStageRegressor(), decay_func="linear", check_input=False)
    weighted = model.fit(X[:250], y[:250])
    plain = TwoStageRegressor().fit(X[:250], y[:250], sample_weight=weighted.weights_)
    assert_allclose(weighted.predict(X[250:]), plain.predict(X[250:]))
    found("weights are passed on")


def test_classes_of_grades_and_thresholds(patients):
    X, y = patients[0], np.digitize(patients[1], [100, 180])
    graded = OrdinalClassifier(TwoStageClassifier()).fit(table_encoder().fit_transform(X), y)
    assert graded.classes_.tolist() == [0, 1, 2]
    alarm = Thresholder(TwoStageClassifier(), threshold=0.2).fit(X, y > 1)
    assert alarm.predict(X).mean() > TwoStageClassifier().fit(X, y > 1).predict(X).mean()
