"""scikit-activeml: rows to label next are those of which a classifier is least certain."""

import numpy as np
from skactiveml.classifier import SklearnClassifier
from skactiveml.pool import UncertaintySampling
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from mercer import TwoStageClassifier


def test_uncertain_rows_are_labeled(found):
    X, y = load_breast_cancer(return_X_y=True)
    X, scores = StandardScaler().fit_transform(X), []
    for model in (TwoStageClassifier(C=1.0), LogisticRegression()):
        labels = np.full(len(y), np.nan)
        labels[:20] = y[:20]
        client = SklearnClassifier(model, classes=[0, 1], random_state=0)
        for _ in range(5):
            query = UncertaintySampling(method="entropy", random_state=0)
            chosen = query.query(X[:300], labels[:300], client, batch_size=5)
            labels[chosen] = y[chosen]
        scores.append(client.fit(X, labels).score(X[300:], y[300:]))
    found("accuracy from 45 labels {:.3f}, linear {:.3f}".format(*scores))
    assert scores[0] > 0.9
