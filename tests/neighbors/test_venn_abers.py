"""venn-abers: calibrated probabilities."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from mercer import TwoStageClassifier

pytest.importorskip("venn_abers")
DISTRIBUTION = "venn-abers"


def test_probabilities(numbers, found):
    from venn_abers import VennAbersCalibrator

    X, y = numbers[0].to_numpy(), (numbers[1] > 140).astype(int)
    losses = []
    for model in (TwoStageClassifier(), LogisticRegression()):
        client = VennAbersCalibrator(estimator=model, inductive=False, n_splits=3, random_state=0)
        client.fit(X[:250], y[:250])
        losses.append(log_loss(y[250:], np.asarray(client.predict_proba(X[250:]))))
    own = TwoStageClassifier().fit(X[:250], y[:250]).predict_proba(X[250:])
    found(
        "log-loss {:.3f}, linear {:.3f}; not calibrated {:.3f}".format(
            *losses, log_loss(y[250:], own)
        )
    )
    assert losses[0] < losses[1] + 0.05
