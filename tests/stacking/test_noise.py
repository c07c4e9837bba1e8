"""Scores and intervals where nothing can be learned, or little: they must say so."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from stacking_cases import RULE, problem

from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._data.encoded_targets import encode_target
from mercer._estimators.stacking.combination import combination_folds, left_out_predictions
from mercer._estimators.stacking.out_of_fold import OutOfFold
from mercer._estimators.stacking.ridges import evaluate
from mercer._gram.dense import to_unit_scale
from mercer.kernels import Gaussian, Laplacian, Linear

KERNELS = [Gaussian(1.0), Gaussian(3.0), Laplacian(2.0), Laplacian(8.0), Linear()]
N_NEW = 1000


def test_balanced_noise_is_half_right() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3))
    y = rng.permutation(np.arange(120) % 2)
    model = KernelStackingClassifier().fit(X, y)
    # Three standard deviations of 120 tosses of a coin.
    assert abs(model.loo_score_ - 0.5) < 3 * 0.5 / np.sqrt(120)


def noise(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=n) if kind == "responses" else rng.permutation(np.arange(n) % 2)


def scores(model: Any, kind: str, n: int, d: int, draws: int) -> np.ndarray:
    """Stated scores less those on new rows."""
    found = []
    for seed in range(draws):
        rng = np.random.default_rng([seed, n, d])
        X, new = rng.normal(size=(n, d)), rng.normal(size=(N_NEW, d))
        model.fit(X, noise(kind, n, rng))
        found.append(model.loo_score_ - model.score(new, noise(kind, N_NEW, rng)))
    return np.array(found)


@pytest.mark.parametrize(("kind", "size"), [("responses", (30, 3)), ("even", (30, 30))])
def test_scores_of_noise_are_those_of_new_rows(kind: str, size: tuple[int, int]) -> None:
    if kind == "responses":
        model: Any = KernelStackingRegressor(KERNELS)
    else:
        model = KernelStackingClassifier(KERNELS)
    found = scores(model, kind, *size, 30 if kind == "responses" else 8)
    # Three standard errors; a stack that scores the labels it was combined by is beyond six.
    assert abs(found.mean()) < 3.0 * found.std(ddof=1) / np.sqrt(len(found))


@pytest.mark.parametrize("kind", ["responses", "even"])
def test_scores_of_noise_on_features_are_too_high_by_at_most_their_standard_error(
    kind: str,
) -> None:
    """Members and penalties are chosen by all folds."""
    estimator: Any = KernelStackingRegressor if kind == "responses" else KernelStackingClassifier
    settings: Any = {"approximation": "nystroem", "n_components": 50, "max_samples": 100}
    found = scores(estimator(KERNELS, **settings), kind, 300, 5, 10)
    assert abs(found.mean()) < 0.5 / np.sqrt(300)


ESTIMATORS = {
    "machine": SVC(C=1.0, kernel="precomputed"),
    "trees": HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5),
    "neighbor": KNeighborsClassifier(1),
    "logistic": LogisticRegression(C=1e-4),
}


def left_out(member: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Left-out deviations of the last class, before they are multiplied by a slope."""
    target = encode_target(y, classification=True)
    rows = to_unit_scale(Gaussian(30.0)(X))[0] if member == "machine" else X
    return OutOfFold(ESTIMATORS[member], 0).left_out(rows, target)[:, -1]


@pytest.mark.parametrize("member", ESTIMATORS)
@pytest.mark.parametrize("frequencies", [[0.5, 0.5], [0.3, 0.7], [0.2, 0.3, 0.5]])
def test_members_to_be_scaled_do_not_tell_the_label(member: str, frequencies: list[float]) -> None:
    found = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 8])
        y = rng.permutation(np.digitize(np.arange(60) / 60.0, np.cumsum(frequencies[:-1])))
        deviations = left_out(member, rng.normal(size=(60, 4)), y)
        found.append(roc_auc_score(y == y.max(), deviations) - 0.5)
    assert np.mean(found) < 3.0 * np.std(found, ddof=1) / np.sqrt(len(found))


@pytest.mark.campaign
@pytest.mark.parametrize("n", [60, 100])
def test_areas_under_curves_of_noise_are_one_half(n: int) -> None:
    found = []
    for seed in range(30):
        rng = np.random.default_rng([seed, n])
        X, y = rng.normal(size=(n, 3)), rng.permutation(np.arange(n) % 2)
        found.append(KernelStackingClassifier(KERNELS, scoring="roc_auc").fit(X, y).loo_score_)
    # Over all samples, among which different combinations are compared, it is lower by .02.
    assert abs(np.mean(found) - 0.5) < 2.0 * np.std(found, ddof=1) / np.sqrt(len(found))


def test_a_response_does_not_move_its_own_left_out_prediction() -> None:
    X, y = problem(60)
    changed = y.copy()
    changed[17] += 0.3
    one, other = (KernelStackingRegressor(KERNELS).fit(X, t) for t in (y, changed))
    assert_allclose(other.loo_predictions_[17], one.loo_predictions_[17], rtol=1e-6, atol=1e-8)
    assert np.abs(other.loo_predictions_ - one.loo_predictions_).max() > 1e-4


def test_left_out_folds_shrink_with_the_table() -> None:
    for n, expected in ((30, 5), (200, 5), (250, 4), (400, 2), (3000, 2)):
        target = encode_target(np.arange(float(n)), classification=False)
        folds: list[np.ndarray] = []

        def choose(train: np.ndarray, folds: list[np.ndarray] = folds, target: Any = target) -> Any:
            folds.append(train)
            return RULE.combine([], target.take(train)), []

        left_out_predictions(target, np.zeros((n, 1)), choose, combination_folds(target, 0))
        assert len(folds) == expected


@pytest.mark.parametrize("kind", ["smooth", "half zero"])
def test_intervals_cover_on_small_samples(kind: str) -> None:
    covered = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30 + 300, 4))
        y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=330)
        if kind == "half zero":
            y[rng.random(330) < 0.5] = 0.0
        low, high = KernelStackingRegressor(KERNELS).fit(X[:30], y[:30]).predict_interval(X[30:]).T
        covered.append(np.mean((low <= y[30:]) & (y[30:] <= high)))
    error = np.std(covered, ddof=1) / np.sqrt(len(covered))
    assert np.mean(covered) > 0.9 - 3.0 * error


@pytest.mark.parametrize("signal", [False, True])
def test_scores_are_honest_where_kernels_are_learned_from_other_rows(
    signal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def recorded(candidates: Any, table: Any, *, others: Any, **settings: Any) -> Any:
        sizes.append((len(table), len(others)))
        return evaluate(candidates, table, others=others, **settings)

    monkeypatch.setattr("mercer._estimators.stacking.selection.evaluate", recorded)
    scores = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(240 + N_NEW, 6))
        y = signal * np.sin(2.0 * X[:, 0]) + 0.5 * rng.normal(size=len(X))
        model = KernelStackingRegressor(max_samples=100).fit(X[:240], y[:240])
        scores.append((model.loo_score_, model.score(X[240:], y[240:])))
        assert (model.loo_score_ > 0.5) == signal
    # The standard error of a mean of four R² near .6 of 240 rows is .6**.5 * .4 / 240**.5 = .02;
    # fits to noise have an R² with a standard deviation of about .04 on new rows.
    left_out, new = np.mean(scores, axis=0)
    assert abs(left_out - new) < 0.06
    # Three quarters of the rows are divided once more.
    assert set(sizes) == {(100, 140), (90, 90)}
