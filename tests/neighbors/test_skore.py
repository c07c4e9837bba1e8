"""skore: reports of an estimator and of its folds."""

import skore


def test_reports(patients, frame_models, found):
    X, y = patients
    rows = {"X_train": X[:250], "y_train": y[:250], "X_test": X[250:], "y_test": y[250:]}
    scores = [skore.EstimatorReport(model, **rows).metrics.r2() for model in frame_models]
    folds = skore.CrossValidationReport(frame_models[0], X, y, splitter=3)
    assert len(folds.reports_) == 3
    found("R² {:.2f}, linear {:.2f}".format(*scores))
    assert scores[0] > scores[1] - 0.05
