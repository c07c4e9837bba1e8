"""scikit-optimize: a search of penalties."""

import skopt


def test_searches(numbers, penalized, unsearched, found):
    interval, scores = {"alpha": (1e-3, 1e2, "log-uniform")}, []
    for model in penalized:
        search = skopt.BayesSearchCV(model, interval, n_iter=10, cv=3, random_state=0)
        scores.append(search.fit(*numbers).best_score_)
    found("R² {:.3f}, linear {:.3f}; without a search {:.3f}".format(*scores, unsearched))
    assert scores[0] < unsearched + 0.02
