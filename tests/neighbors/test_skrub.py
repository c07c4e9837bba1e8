"""skrub: its pipeline of a table, and steps of its plans."""

import skrub


def test_pipelines_and_plans(patients, models, found):
    X, y = patients
    scores = [
        skrub.tabular_pipeline(model).fit(X[:250], y[:250]).score(X[250:], y[250:])
        for model in models
    ]
    plan = skrub.X(X).skb.apply(models[0], y=skrub.y(y))
    learner = plan.skb.make_learner().fit({"X": X[:250], "y": y[:250]})
    scores.append(learner.score({"X": X[250:], "y": y[250:]}))
    found("R² {:.2f}, linear {:.2f}; of a plan {:.2f}".format(*scores))
    assert min(scores) > scores[1] - 0.05
