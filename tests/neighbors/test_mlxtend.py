"""mlxtend: stacks out of fold, selection of columns, bias and variance."""

import pytest
from sklearn.linear_model import RidgeCV

from mercer import TwoStageRegressor

pytest.importorskip("mlxtend", "0.23")
DISTRIBUTION = "mlxtend"


def test_stacks_and_bias(numbers, found):
    from mlxtend.evaluate import bias_variance_decomp
    from mlxtend.feature_selection import SequentialFeatureSelector
    from mlxtend.regressor import StackingCVRegressor

    X, y = numbers[0].to_numpy(), numbers[1]
    scores, variances = [], []
    for model in (TwoStageRegressor(), RidgeCV()):
        stack = StackingCVRegressor([model], RidgeCV(), cv=3, random_state=0).fit(X[:250], y[:250])
        scores.append(stack.score(X[250:], y[250:]))
        parts = bias_variance_decomp(
            model, X[:250], y[:250], X[250:], y[250:], loss="mse", num_rounds=5, random_seed=0
        )
        variances.append(parts[2] / parts[0])
    chosen = SequentialFeatureSelector(TwoStageRegressor(), k_features=2, cv=3).fit(X, y)
    found("R² {:.2f}, linear {:.2f}; variance's share {:.2f}, {:.2f}".format(*scores, *variances))
    assert scores[0] > scores[1] - 0.05
    assert set(chosen.k_feature_idx_) == {2, 8}
