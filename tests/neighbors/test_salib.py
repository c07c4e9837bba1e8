"""SALib: shares of the variance of `predict`, which are those of the function that was learned."""

import numpy as np
from SALib.analyze import sobol
from SALib.sample import sobol as samples
from sklearn.datasets import make_friedman1


def test_first_order_indices(models, found):
    problem = {"num_vars": 5, "names": list("abcde"), "bounds": [[0.0, 1.0]] * 5}
    points = samples.sample(problem, 256, calc_second_order=False, seed=0)
    X, y = make_friedman1(300, n_features=5, random_state=0)
    truth = 10 * np.sin(np.pi * points[:, 0] * points[:, 1]) + 20 * (points[:, 2] - 0.5) ** 2
    truth += 10 * points[:, 3] + 5 * points[:, 4]
    values = [truth, *(one.fit(X, y).predict(points) for one in models)]
    total = [sobol.analyze(problem, one, calc_second_order=False, seed=0)["ST"] for one in values]
    errors = [np.abs(one - total[0]).max() for one in total[1:]]
    found("total indices are wrong by {:.2f}, linear {:.2f}".format(*errors))
    assert errors[0] < 0.1
