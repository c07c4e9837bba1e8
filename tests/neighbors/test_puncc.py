"""puncc: intervals from rows set apart and from folds."""

from deel.puncc.api.prediction import BasePredictor
from deel.puncc.regression import CVPlus, SplitCP


def test_intervals_cover(numbers, models, share_inside, found):
    X, y = numbers[0].to_numpy(), numbers[1]
    shares = []
    for model in models:
        apart = SplitCP(BasePredictor(model))
        apart.fit(X_fit=X[:150], y_fit=y[:150], X_calib=X[150:250], y_calib=y[150:250])
        folds = CVPlus(BasePredictor(model), K=5, random_state=0)
        folds.fit(X[:250], y[:250])
        for client in (apart, folds):
            shares.append(share_inside(*client.predict(X[250:], alpha=0.1)[-2:], y[250:]))
    found("coverage of 90 %: {:.2f}, of folds {:.2f}; linear {:.2f}, {:.2f}".format(*shares))
    assert min(shares[:2]) > 0.84
