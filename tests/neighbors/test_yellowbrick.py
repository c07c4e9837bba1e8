"""yellowbrick: its drawings take fitted models."""

import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageClassifier, TwoStageRegressor

yellowbrick = pytest.importorskip("yellowbrick", "1.5")
DISTRIBUTION = "yellowbrick"


def test_drawings_score(numbers, found):
    from yellowbrick.classifier import ROCAUC
    from yellowbrick.model_selection import LearningCurve
    from yellowbrick.regressor import ResidualsPlot

    X, y = numbers
    scores = []
    for model in (TwoStageRegressor(), RidgeCV()):
        drawing = ResidualsPlot(model, hist=False, is_fitted=False, force_model=True).fit(
            X[:250], y[:250]
        )
        scores.append(drawing.score(X[250:], y[250:]))
    curve = LearningCurve(
        TwoStageRegressor(), force_model=True, train_sizes=[0.3, 0.6, 0.9], cv=3
    ).fit(X, y)
    roc = ROCAUC(TwoStageClassifier(), force_model=True, micro=False, macro=False)
    roc.fit(X[:250], y[:250] > 140).score(X[250:], y[250:] > 140)
    found("R² {:.2f}, linear {:.2f}".format(*scores))
    assert scores[0] > scores[1] - 0.05
    assert curve.test_scores_mean_.shape == (3,)
    assert min(roc.roc_auc.values()) > 0.75
