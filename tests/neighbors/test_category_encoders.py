"""category_encoders: a transformer of theirs is the encoder."""

import category_encoders
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from mercer import TwoStageRegressor


def test_is_the_encoder(patients, found):
    X, y = patients[0].drop(columns="visit"), patients[1]
    encoder = make_pipeline(category_encoders.TargetEncoder(cols=["sex"]), SimpleImputer())
    model = TwoStageRegressor(encoder=encoder).fit(X[:250], y[:250])
    linear = make_pipeline(encoder, RidgeCV()).fit(X[:250], y[:250])
    scores = model.score(X[250:], y[250:]), linear.score(X[250:], y[250:])
    found("R² {:.2f}, linear {:.2f}".format(*scores))
    assert scores[0] > scores[1] - 0.05
