"""fairlearn: constraints by weights of rows, and thresholds of groups."""

import numpy as np
from fairlearn.metrics import demographic_parity_difference
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.linear_model import LogisticRegression

from mercer import TwoStageClassifier
from mercer.preprocessing import table_encoder


def test_groups_are_selected_as_often(patients, found):
    X, y = patients[0], (patients[1] > 140).astype(int)
    old, encoded = X["old"], table_encoder().fit_transform(X)
    gaps = []
    for model, table in ((TwoStageClassifier(C=1.0), X), (LogisticRegression(), encoded)):
        plain = model.fit(table, y).predict(table)
        fair = ExponentiatedGradient(model, DemographicParity(), max_iter=5)
        fair.fit(table, y, sensitive_features=old)
        for found_classes in (plain, fair.predict(table, random_state=0)):
            gaps.append(demographic_parity_difference(y, found_classes, sensitive_features=old))
    found("gap between groups {:.2f}, constrained {:.2f}; linear {:.2f}, {:.2f}".format(*gaps))
    assert gaps[1] < 0.5 * gaps[0]
    cut = ThresholdOptimizer(estimator=TwoStageClassifier(C=1.0), predict_method="predict_proba")
    found_classes = cut.fit(X, y, sensitive_features=old).predict(X, sensitive_features=old)
    assert np.unique(found_classes).tolist() == [0, 1]
