"""yellowbrick: its drawings take fitted models."""

from yellowbrick.classifier import ROCAUC
from yellowbrick.model_selection import LearningCurve
from yellowbrick.regressor import ResidualsPlot

from mercer import TwoStageClassifier


def test_drawings_score(numbers, models, found):
    X, y = numbers
    scores = []
    for model in models:
        drawing = ResidualsPlot(model, hist=False, is_fitted=False, force_model=True)
        scores.append(drawing.fit(X[:250], y[:250]).score(X[250:], y[250:]))
    curve = LearningCurve(models[0], force_model=True, train_sizes=[0.3, 0.6, 0.9], cv=3).fit(X, y)
    roc = ROCAUC(TwoStageClassifier(), force_model=True, micro=False, macro=False)
    roc.fit(X[:250], y[:250] > 140).score(X[250:], y[250:] > 140)
    found("R² {:.2f}, linear {:.2f}".format(*scores))
    assert scores[0] > scores[1] - 0.05
    assert curve.test_scores_mean_.shape == (3,)
    assert min(roc.roc_auc.values()) > 0.75
