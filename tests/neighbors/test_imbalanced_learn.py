"""imbalanced-learn: rows that are drawn several times, and ensembles of balanced samples."""

import numpy as np
from imblearn.ensemble import BalancedBaggingClassifier
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as with_samplers
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline

from mercer import TwoStageClassifier
from mercer.preprocessing import table_encoder


def test_balanced_samples_find_the_rare_class(patients, found):
    X, y = patients[0], patients[1] > 230
    linear = make_pipeline(table_encoder(), LogisticRegression(max_iter=1000))
    scores = [
        balanced_accuracy_score(y[250:], model.fit(X[:250], y[:250]).predict(X[250:]))
        for model in (
            with_samplers(RandomOverSampler(random_state=0), TwoStageClassifier()),
            with_samplers(RandomOverSampler(random_state=0), linear),
            *(
                BalancedBaggingClassifier(one, n_estimators=5, random_state=0)
                for one in (TwoStageClassifier(encoder=table_encoder()), linear)
            ),
            TwoStageClassifier(class_weight="balanced"),
        )
    ]
    found("balanced accuracy {:.2f}, linear {:.2f}; bagged {:.2f}, {:.2f}".format(*scores))
    found(f"by class_weight {scores[4]:.2f}")
    assert np.min([scores[0], scores[2], scores[4]]) > 0.7
