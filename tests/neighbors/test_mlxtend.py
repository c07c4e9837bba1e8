"""mlxtend: stacks out of fold, selection of columns, bias and variance."""

from mlxtend.evaluate import bias_variance_decomp
from mlxtend.feature_selection import SequentialFeatureSelector
from mlxtend.regressor import StackingCVRegressor


def test_stacks_and_bias(numbers, models, found):
    X, y = numbers[0].to_numpy(), numbers[1]
    train, test = (X[:250], y[:250]), (X[250:], y[250:])
    scores, variances = [], []
    for model in models:
        stack = StackingCVRegressor([model], models[1], cv=3, random_state=0).fit(*train)
        scores.append(stack.score(*test))
        settings = {"loss": "mse", "num_rounds": 5, "random_seed": 0}
        parts = bias_variance_decomp(model, *train, *test, **settings)
        variances.append(parts[2] / parts[0])
    chosen = SequentialFeatureSelector(models[0], k_features=2, cv=3).fit(X, y)
    found("R² {:.2f}, linear {:.2f}; variance's share {:.2f}, {:.2f}".format(*scores, *variances))
    assert scores[0] > scores[1] - 0.05
    assert set(chosen.k_feature_idx_) == {2, 8}
