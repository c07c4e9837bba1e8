"""Scores of held-out rows: their values, their intervals, and simple predictors."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn import metrics
from sklearn.linear_model import LogisticRegression, Ridge

from mercer import KernelPoissonRegressor
from mercer.inspection import default_metric
from mercer.inspection._baselines import baselines, beats_constant, compared
from mercer.inspection._held_out import (
    Predictions,
    PredictorScores,
    Truth,
    predict,
    scores,
    with_scores,
)
from mercer.inspection._intervals import Estimate, estimate, relative_loss, share


def against_constant(
    truth: Truth, own: Predictions, constant: Predictions
) -> tuple[bool, Estimate | None]:
    ratio = compared(truth, own, constant)
    return beats_constant(truth, PredictorScores("model", scores(truth, own)), ratio), ratio


def is_better(*losses: Any) -> bool:
    ratio = relative_loss(*losses)
    return ratio is not None and ratio.high < 1.0


def responses(y: Any, predicted: Any, groups: Any = None) -> dict[str, Any]:
    return scores(Truth("regression", y, np.empty(0), groups), Predictions(predicted))


def class_predictions(rng: Any, n: int) -> tuple[Any, Predictions]:
    """Labels, and probabilities that know something of them."""
    y = rng.integers(0, 2, n)
    logits = 1.5 * (2 * y - 1) + 2.0 * rng.normal(size=n)
    p = 1.0 / (1.0 + np.exp(-logits))
    return y, Predictions((p > 0.5).astype(int), np.column_stack([1.0 - p, p]), p)


def test_values_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    y, predicted = rng.normal(size=(2, 50))
    found = responses(y, predicted)
    assert_allclose(found["rmse"].value, metrics.root_mean_squared_error(y, predicted))
    assert_allclose(found["mae"].value, metrics.mean_absolute_error(y, predicted))
    assert_allclose(found["r2"].value, metrics.r2_score(y, predicted))
    labels, own = class_predictions(rng, 60)
    found = scores(Truth("classification", labels, np.arange(2)), own)
    p = own.probabilities
    assert_allclose(found["error"].value, metrics.zero_one_loss(labels, own.values))
    balanced = metrics.balanced_accuracy_score(labels, own.values)
    assert_allclose(found["balanced_accuracy"].value, balanced)
    assert_allclose(found["log_loss"].value, metrics.log_loss(labels, p))
    assert_allclose(found["roc_auc"].value, metrics.roc_auc_score(labels, own.decisions))


@pytest.mark.parametrize("n_each", [1, 5])
def test_intervals_hold_the_truth_in_about_their_share_of_draws(n_each: int) -> None:
    """Rows are independent, or five rows of a group share a part of their errors."""
    rng, n_groups = np.random.default_rng(n_each), 120

    def shared(n: int) -> Any:
        own = rng.normal(size=n * n_each)
        return (np.repeat(rng.normal(size=n), n_each) + own) / np.sqrt(2.0)

    def drawn(n: int) -> tuple[dict[str, Any], dict[str, Any]]:
        of = np.repeat(np.arange(n), n_each)
        predicted, noise = shared(n), shared(n)
        y = (predicted + noise > 0).astype(int)
        p = np.clip(1.0 / (1.0 + np.exp(-1.7 * predicted)), 0.01, 0.99)
        own = Predictions((p > 0.5).astype(int), np.column_stack([1.0 - p, p]), p)
        truth = Truth("classification", y, np.arange(2), of if n_each > 1 else None)
        return responses(predicted + noise, predicted, truth.groups), scores(truth, own)

    expected = [{name: one.value for name, one in d.items()} for d in drawn(60_000)]
    hits: dict[str, list[bool]] = {}
    for _ in range(400):
        for truths, found in zip(expected, drawn(n_groups), strict=True):
            for name, one in found.items():
                hits.setdefault(name, []).append(one.low <= truths[name] <= one.high)
    shares = {name: np.mean(values) for name, values in hits.items()}
    assert len(shares) == 7
    # Two standard errors of 400 draws are .022.
    assert all(0.92 <= share <= 0.98 for share in shares.values()), shares


def test_extremes() -> None:
    found = share(np.zeros(20), np.arange(20))
    assert (found.value, found.low) == (0.0, 0.0)
    assert 0.1 < found.high < 0.2
    perfect = responses(np.arange(20.0), np.arange(20.0))["rmse"]
    assert (perfect.value, perfect.low, perfect.high) == (0.0, 0.0, 0.0)
    assert "r2" not in responses(np.array([2.0]), np.array([0.0]))


@pytest.mark.parametrize("error", [0.0, 1.0])
@pytest.mark.parametrize("n_rows", [1, 3])
def test_errors_of_one_row_or_group_may_be_any(n_rows: int, error: float) -> None:
    y, group = np.arange(1.0, n_rows + 1.0), np.zeros(n_rows)
    truth = Truth("regression", y, np.empty(0), group, log_floor=0.5, kind="count")
    found = scores(truth, Predictions(y + error))
    ends = {name: (one.low, one.high) for name, one in found.items()}
    assert ends.pop("r2", (-np.inf, 1.0)) == (-np.inf, 1.0)
    assert ends == dict.fromkeys(["rmse", "mae", "poisson_deviance", "log_rmse"], (0.0, np.inf))


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(10), 2)])
def test_classes_without_errors_have_an_interval(groups: Any) -> None:
    """The balanced accuracy is as uncertain as the recalls of classes of ten or five units."""
    y = np.repeat([0, 1], 10)
    found = scores(Truth("classification", y, np.arange(2), groups), Predictions(y))
    size, quantile = (10, stats.norm.ppf(0.975)) if groups is None else (5, stats.t.ppf(0.975, 4))
    recall = size / (size + quantile**2)
    # The classes are drawn independently, so that the squares of the distances are added.
    expected = 1.0 - np.sqrt(2.0) * (1.0 - recall) / 2.0
    assert_allclose(found["balanced_accuracy"].low, expected, rtol=1e-12)
    assert found["balanced_accuracy"].value == found["balanced_accuracy"].high == 1.0


def drawn(n_positive: int, distance: float, rng: Any, n_rows: int = 100) -> tuple[Any, Any]:
    """Normal scores of two classes, whose means have a distance, and labels between the means."""
    y = (np.arange(n_rows) < n_positive).astype(int)
    values = rng.normal(size=n_rows) + distance * y
    p = 1.0 / (1.0 + np.exp(2.0 - values))
    own = Predictions((values > distance / 2.0).astype(int), np.column_stack([1.0 - p, p]), p)
    return Truth("classification", y, np.arange(2)), own


@pytest.mark.parametrize("n_positive", [1, 2, 5, 10])
@pytest.mark.parametrize("distance", [0.0, 1.5])
def test_intervals_hold_the_truth_with_few_rows_of_a_class(
    n_positive: int, distance: float
) -> None:
    rng, found = np.random.default_rng(n_positive), list[Any]()
    expected = {
        "roc_auc": stats.norm.cdf(distance / np.sqrt(2.0)),
        "balanced_accuracy": stats.norm.cdf(distance / 2.0),
    }
    for _ in range(200):
        own = scores(*drawn(n_positive, distance, rng))
        found.append([own[n].low <= value <= own[n].high for n, value in expected.items()])
    assert (np.mean(found, axis=0) >= 0.91).all()


@pytest.mark.parametrize("n_positive", [1, 2, 5, 50])
def test_noise_is_seldom_better_than_a_constant_with_few_rows_of_a_class(n_positive: int) -> None:
    rng, found = np.random.default_rng(0), list[Any]()
    p = n_positive / 100.0
    constant = Predictions(np.zeros(100, int), np.tile([1.0 - p, p], (100, 1)), np.full(100, 0.5))
    for _ in range(200):
        truth, own = drawn(n_positive, 0.0, rng)
        labels = Predictions(own.values)
        found.append([against_constant(truth, one, constant)[0] for one in (own, labels)])
    assert (np.mean(found, axis=0) <= 0.05).all()


def test_areas_and_mean_shares_of_the_largest_values_have_intervals() -> None:
    y = (np.arange(30) < 2).astype(int)
    truth = Truth("classification", y, np.arange(2))
    for own, value in ((y, 1.0), (1 - y, 0.0)):
        found = scores(truth, Predictions(own, None, own.astype(float)))
        for name in ("roc_auc", "balanced_accuracy"):
            assert found[name].value == value
            assert 0.25 < found[name].high - found[name].low < 0.75
            assert 0.0 <= found[name].low <= value <= found[name].high <= 1.0


@pytest.mark.parametrize("n_groups", [1, 2, 6])
def test_few_groups_with_rows_of_a_class_make_intervals_wide(n_groups: int) -> None:
    """The 30 positive rows are in few groups, and the ranks of a group are alike."""
    rng, found = np.random.default_rng(n_groups), list[Any]()
    groups = np.r_[np.arange(30) % n_groups, 10 + np.arange(90) % 20]
    y = (np.arange(120) < 30).astype(int)
    truth = Truth("classification", y, np.arange(2), groups)
    for _ in range(200):
        own = rng.normal(size=30)[truth.units] + 0.3 * rng.normal(size=120)
        one = scores(truth, Predictions((own > 0.0).astype(int), None, own))
        names = ("roc_auc", "balanced_accuracy")
        found.append([one[name].low <= 0.5 <= one[name].high for name in names])
    assert (np.mean(found, axis=0) >= 0.91).all()


def test_a_few_groups_of_large_losses_do_not_hide_that_a_model_is_better() -> None:
    """Its losses are a hundredth of the others in each of 12 groups, one of which is odd."""
    rng, units = np.random.default_rng(0), np.repeat(np.arange(12), 5)
    others = rng.random(60) * np.where(units == 3, 500.0, 1.0)
    assert is_better(others / 100.0, others, units)
    differences = 0.99 * others
    mean = differences.mean()
    assert estimate(mean, differences - mean, units).low < 0.0


def test_equal_models_are_seldom_better() -> None:
    """Losses with heavy tails, of five rows in each group."""
    units, found = np.repeat(np.arange(12), 5), 0
    for seed in range(400):
        noise = np.random.default_rng(seed).standard_t(5, size=(3, 60))
        found += is_better((noise[0] + noise[1]) ** 2, (noise[0] + noise[2]) ** 2, units)
    # 2.5% of 400 draws, and three standard errors.
    assert found <= 10 + 3 * np.sqrt(400 * 0.025 * 0.975)


def test_a_model_that_ranks_a_rare_class_is_better_than_a_constant() -> None:
    """One in fifty rows is of the second class, and no probability exceeds one half."""
    rng = np.random.default_rng(0)
    y, nothing = (rng.random(1000) < 0.02).astype(int), np.zeros(1000, int)
    p = np.clip(0.02 + 0.3 * y + 0.05 * rng.random(1000), 0.0, 0.45)
    own = Predictions(nothing, np.column_stack([1.0 - p, p]), p)
    constant = Predictions(nothing, np.tile([0.98, 0.02], (1000, 1)), np.full(1000, 0.5))
    truth = Truth("classification", y, np.arange(2))
    assert not is_better(truth.losses(own), truth.losses(constant), truth.units)
    assert scores(truth, own)["roc_auc"].value > 0.98
    better, ratio = against_constant(truth, own, constant)
    assert better
    assert ratio is not None
    assert ratio.low < ratio.value < ratio.high < 1.0
    ranked = Predictions(own.values, None, own.decisions)
    assert against_constant(truth, ranked, constant)[0]
    assert not against_constant(truth, constant, constant)[0]


def test_labels_alone_are_compared_by_balanced_accuracy() -> None:
    """All rows of a rare class are found, and as many others, so that the share of errors rises."""
    y = np.r_[np.ones(20, int), np.zeros(980, int)]
    labels = np.r_[np.ones(50, int), np.zeros(950, int)]
    truth, constant = Truth("classification", y, np.arange(2)), Predictions(np.zeros(1000, int))
    assert not is_better(truth.losses(Predictions(labels)), truth.losses(constant), truth.units)
    assert against_constant(truth, Predictions(labels), constant)[0]
    assert not against_constant(truth, constant, constant)[0]


def test_an_outlier_does_not_hide_that_a_model_is_better() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=100)
    own, constant = Predictions(y + 0.3 * rng.normal(size=100)), Predictions(np.zeros(100))
    y[7], own.values[7] = 300.0, -60.0
    truth = Truth("regression", y, np.empty(0))
    assert not is_better(truth.squared_errors(own), truth.squared_errors(constant), truth.units)
    assert against_constant(truth, own, constant)[0]
    assert not against_constant(truth, Predictions(rng.normal(size=100)), constant)[0]
    assert not against_constant(truth, constant, constant)[0]


@pytest.mark.parametrize("metric", [None, "rmse", "log_rmse"])
def test_models_are_compared_on_the_scale_of_the_first_score(metric: Any) -> None:
    """Three responses have nearly all of the variance; the logarithms are predicted well."""
    rng = np.random.default_rng(0)
    logs = 2.0 * rng.normal(size=200)
    y = np.exp(logs)
    y[7:10], logs[7:10] = 1e4, [10.8, 11.0, 11.2]
    truth = Truth("regression", y[:100], np.empty(0))
    own = Predictions(np.exp(logs[:100] + 0.5 * rng.normal(size=100)))
    truth, _ = with_scores(truth, replace(truth, y=y[100:]), Ridge(), metric)
    constant = Predictions(np.full(100, y[100:].mean() if metric == "rmse" else 1.0))
    better, ratio = against_constant(truth, own, constant)
    assert better == (metric != "rmse")
    assert ratio is not None
    assert ratio.value > 1.0 if metric == "rmse" else ratio.value < 0.2
    # The geometric mean is the best constant for logarithms.
    X = rng.normal(size=(200, 2))
    found = baselines((X[100:], y[100:]), X[:100], truth, own)
    name, value = "geometric mean", stats.gmean(y[100:])
    if metric == "rmse":
        name, value = "mean", y[100:].mean()
    assert found[-1].name == name
    best = scores(truth, Predictions(np.full(100, value)))
    assert found[-1].scores["rmse"].value == pytest.approx(best["rmse"].value)


def test_counts_are_compared_by_their_deviance() -> None:
    rng = np.random.default_rng(0)
    means = np.exp(rng.normal(size=150))
    y = rng.poisson(means).astype(float)
    truth = Truth("regression", y[50:], np.empty(0))
    truth, _ = with_scores(truth, replace(truth, y=y[:50]), KernelPoissonRegressor(), None)
    own, constant = Predictions(means[50:]), Predictions(np.full(100, y[:50].mean()))
    expected = [metrics.mean_poisson_deviance(truth.y, one.values) for one in (own, constant)]
    better, ratio = against_constant(truth, own, constant)
    assert better
    assert ratio is not None
    assert ratio.value == pytest.approx(expected[0] / expected[1])


def test_the_metric_suits_the_target() -> None:
    rng = np.random.default_rng(0)

    def metric(y: Any, task: Any = "classification") -> str:
        return default_metric(y, task)

    assert metric(np.arange(100) % 2) == metric(np.arange(100) % 5) == "error"
    assert metric(np.arange(100) % 4 == 0) == "roc_auc"
    assert metric(np.maximum(np.arange(100) % 9 - 5, 0)) == "balanced_accuracy"
    assert metric(rng.normal(size=200), "regression") == "rmse"
    assert metric(np.exp(1.5 * rng.normal(size=200)), "regression") == "log_rmse"
    assert metric(np.exp(1.5 * rng.normal(size=200)) - 1.0, "regression") == "rmse"
    assert metric(rng.uniform(1.0, 5.0, 200), "regression") == "rmse"
    assert default_metric(np.arange(100) % 4, "classification", "ordinal") == "mae"
    assert default_metric(np.arange(100) % 4, "regression", "count") == "poisson_deviance"


def test_logarithms_are_compared_above_the_floor() -> None:
    y, predicted = np.array([1.0, 2.0, 4.0, 8.0]), np.array([-3.0, 2.0, 2.0, 32.0])
    truth = Truth("regression", y, np.empty(0), log_floor=1.0)
    found = scores(truth, Predictions(predicted))["log_rmse"]
    assert found.value == pytest.approx(np.log(2.0) * np.sqrt(5.0 / 4.0))
    assert "log_rmse" not in scores(Truth("regression", y, np.empty(0)), Predictions(predicted))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_simple_predictors_are_those_of_scikit_learn(task: Any) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=200)
    y = np.where(y > 1, "yes", "no") if task == "classification" else y
    classes = np.unique(y) if task == "classification" else np.empty(0)
    truth = Truth(task, y[150:], classes)
    model = {"classification": LogisticRegression(max_iter=1000), "regression": Ridge()}[task]
    own = predict(model.fit(X[:150], y[:150]), X[150:], classes)
    found = baselines((X[:150], y[:150]), X[150:], truth, own)
    assert len(found) == 4
    # The model is the linear predictor itself.
    assert found[2].ratio == Estimate(1.0, 1.0, 1.0)
    constant = Predictions(np.full(50, y[:150].mean())) if task == "regression" else None
    if constant is None:
        values, counts = np.unique(y[:150], return_counts=True)
        labels = np.full(50, values[counts.argmax()])
        constant = Predictions(labels, np.tile(counts / 150, (50, 1)), np.zeros(50))
    assert found[3].scores == scores(truth, constant)
    squares = [truth.squared_errors(one) for one in (own, constant)]
    kept = np.delete(squares, sum(squares).argmax(), axis=1)
    kept = kept if sum(squares).max() > 0.5 * sum(squares).sum() else np.array(squares)
    assert found[3].ratio is not None
    assert found[3].ratio.value == pytest.approx(kept[0].sum() / kept[1].sum())


def test_labels_are_compared_with_labels() -> None:
    """Squared errors of probabilities are not on the scale of shares of wrong labels."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    y[:2] = 2  # Too few for the folds that calibrate the machine's probabilities.
    truth = Truth("classification", y[100:], np.arange(3))
    own = predict(LogisticRegression(max_iter=1000).fit(X[:100], y[:100]), X[100:], np.arange(3))
    for model in (own, Predictions(own.values)):
        found = baselines((X[:100], y[:100]), X[100:], truth, model)
        [machine] = [one for one in found if one.name == "RBF SVM"]
        assert "log_loss" not in machine.scores
        assert machine.ratio is not None
        expected = truth.losses(own).mean() / machine.scores["error"].value
        assert machine.ratio.value == pytest.approx(expected)


def test_many_rows_are_drawn_for_the_rbf_machine() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 2)), np.r_[np.zeros(99), 1.0].astype(int)
    truth = Truth("classification", y, np.arange(2))
    found = baselines((X, y), X, truth, Predictions(y), max_rows=30)
    assert [one.note for one in found][:2] == ["", "learned from 30 rows"]
