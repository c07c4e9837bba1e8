"""venn-abers: calibrated probabilities."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from venn_abers import VennAbersCalibrator

from mercer import TwoStageClassifier


def test_probabilities(numbers, found):
    X, y = numbers[0].to_numpy(), (numbers[1] > 140).astype(int)
    settings = {"inductive": False, "n_splits": 3, "random_state": 0}
    losses = []
    for model in (TwoStageClassifier(), LogisticRegression()):
        client = VennAbersCalibrator(estimator=model, **settings)
        client.fit(X[:250], y[:250])
        losses.append(log_loss(y[250:], np.asarray(client.predict_proba(X[250:]))))
    own = TwoStageClassifier().fit(X[:250], y[:250]).predict_proba(X[250:])
    losses.append(log_loss(y[250:], own))
    found("log-loss {:.3f}, linear {:.3f}; not calibrated {:.3f}".format(*losses))
    assert losses[0] < losses[1] + 0.05
