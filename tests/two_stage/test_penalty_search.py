"""Two-stage estimators whose penalty and kernel are chosen by a scorer of scikit-learn."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import center, left_out_kernel_ridge
from sklearn.datasets import make_friedman1
from sklearn.metrics import get_scorer, make_scorer, mean_absolute_error, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, TimeSeriesSplit
from sklearn.svm import SVC
from two_stage_cases import shuffled

from mercer import (
    GradientOuterProduct,
    KernelOptimization,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._model_selection.calibration import fit_temperature
from mercer._model_selection.scoring import LeftOutProbabilities, LeftOutResponses
from mercer._solvers.left_out import ALPHA_GRID
from mercer.kernels import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore:The best (C|alpha)")

ONE_KERNEL = UniformCombination([Gaussian(2.0)])
WORST = make_scorer(mean_absolute_error)
GRID = [0.5, 2.0, 8.0, 32.0]


def responses(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Responses with some outliers."""
    X, y = make_friedman1(n, 5, random_state=seed)
    rng = np.random.default_rng(seed)
    return X, y + np.where(rng.uniform(size=n) < 0.1, 15.0, 1.0) * rng.normal(size=n)


def labels(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One label in four is rare, and hard to tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 2.2).astype(int)


def test_alpha_has_the_best_score_of_refits_without_each_sample() -> None:
    X, y = responses(40, 2)
    model = TwoStageRegressor(ONE_KERNEL, scoring="neg_mean_absolute_error").fit(X, y)
    K, alphas = model.kernel_(X), model.cv_results_["param_alpha"]
    scale = np.trace(center(K)) / len(X)
    expected = [
        -mean_absolute_error(y, left_out_kernel_ridge(K, y, alpha * scale, K[:1]).T[0])
        for alpha in alphas
    ]
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-5)
    assert model.alpha_ == alphas[int(np.argmax(expected))]
    plain = TwoStageRegressor(ONE_KERNEL).fit(X, y)
    assert model.alpha_ != plain.alpha_
    worst = TwoStageRegressor(ONE_KERNEL, scoring=WORST).fit(X, y)
    assert worst.alpha_ == alphas[int(np.argmin(expected))]


@pytest.mark.parametrize(("cv", "n_outputs"), [(4, 0), (TimeSeriesSplit(3), 2)])
def test_scores_of_alphas_are_means_over_folds(cv: Any, n_outputs: int) -> None:
    X, y = responses(60)
    y = np.column_stack([y, 100.0 * X[:, 2]]) if n_outputs else y
    w = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    folds = shuffled(4, X, y, KFold) if cv == 4 else list(cv.split(X))
    scorer = get_scorer("neg_median_absolute_error" if n_outputs else "neg_mean_absolute_error")
    model = TwoStageRegressor(ONE_KERNEL, alpha=[0.01, 1.0], cv=cv, scoring=scorer)
    model.fit(X, y, sample_weight=w)
    for i, alpha in enumerate(model.cv_results_["param_alpha"]):
        found = []
        for train, test in folds:
            K = model.learner_.transform(X)
            gram = K[np.ix_(train, train)]
            # Weighted ridge regression with an intercept, from its stationary equations.
            n = len(train)
            system = np.block(
                [[gram + alpha * np.diag(1.0 / w[train]), np.ones((n, 1))], [np.ones(n), 0.0]]
            )
            right = np.concatenate([y[train], np.zeros((1, *y.shape[1:]))])
            solved = np.linalg.solve(system, right)
            predicted = K[np.ix_(test, train)] @ solved[:-1] + solved[-1]
            rows = np.arange(len(test))
            given = LeftOutResponses(predicted)
            found.append(scorer(given, rows, y[test], sample_weight=w[test]))
        assert_allclose(model.cv_results_["mean_test_score"][i], np.mean(found), rtol=1e-6)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "balanced_accuracy"])
def test_c_has_the_best_score_of_machines_without_each_fold(scoring: str) -> None:
    X, y = labels(120)
    model = TwoStageClassifier(ONE_KERNEL, C=GRID, cv=3, scoring=scoring).fit(X, y)
    K, scorer = model.learner_.transform(X), get_scorer(scoring)
    folds = shuffled(3, X, y)
    expected = []
    for C in GRID:
        values = []
        for train, test in folds:
            machine = SVC(kernel="precomputed", C=C, tol=1e-9)
            machine.fit(K[np.ix_(train, train)], y[train])
            found = machine.decision_function(K[np.ix_(test, train)])
            values.append(np.column_stack([-found, found]))
        known = np.concatenate([y[test] for _, test in folds])
        temperature = fit_temperature(np.concatenate(values), known)
        given = [LeftOutProbabilities(temperature.probabilities(v), np.arange(2)) for v in values]
        pairs = zip(given, folds, strict=True)
        expected.append(
            np.mean([scorer(g, np.arange(len(test)), y[test]) for g, (_, test) in pairs])
        )
    assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=1e-4)
    assert GRID[int(np.argmax(expected))] == model.C_


def test_names_of_classes_are_scored() -> None:
    X, _ = labels(90)
    names = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.7])]
    model = TwoStageClassifier(C=GRID, scoring="roc_auc_ovr").fit(X, names)
    assert 0.8 < model.cv_results_["mean_test_score"].max() <= 1.0


@pytest.mark.parametrize("estimator", [TwoStageClassifier, TwoStageRegressor])
def test_the_scorer_chooses_the_kernel(estimator: Any) -> None:
    X, y = labels(100) if estimator is TwoStageClassifier else responses(100)
    metric = roc_auc_score if estimator is TwoStageClassifier else mean_absolute_error
    ways = {"response_method": "predict_proba"} if estimator is TwoStageClassifier else {}
    chosen = set()
    for greater in (True, False):
        scorer = make_scorer(metric, greater_is_better=greater, **ways)
        fit = estimator(scoring=scorer).fit(X, y)
        others = [
            estimator(UniformCombination([c.kernel]), scoring=scorer).fit(X, y)
            for c in fit.candidates_
        ]
        assert_allclose(best_score(fit), max(map(best_score, others)))
        chosen.add(type(fit.kernel_.kernels[0]))
    assert len(chosen) == 2


def best_score(model: Any) -> float:
    return float(np.nanmax(model.cv_results_["mean_test_score"]))


def test_a_number_as_penalty_leaves_the_choice_of_the_kernel() -> None:
    X, y = responses(80)
    best, worst = (
        TwoStageRegressor(alpha=0.1, scoring=scoring).fit(X, y)
        for scoring in ("neg_mean_absolute_error", WORST)
    )
    assert best.alpha_ == worst.alpha_ == 0.1
    assert best.kernel_ != worst.kernel_
    assert best.cv_results_["mean_test_score"] > -worst.cv_results_["mean_test_score"]


def test_the_scorer_chooses_between_a_form_and_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = responses(80, 1)
    form = GradientOuterProduct(Gaussian(), n_iter=1)
    monkeypatch.setattr("mercer._estimators.two_stage.two_stage.choose_form", lambda *_: form)
    found = [
        type(TwoStageRegressor("auto", scoring=scoring).fit(X, y).learner_).__name__
        for scoring in ("neg_mean_absolute_error", WORST)
    ]
    assert len(set(found)) == 2


def test_the_scorer_chooses_the_penalty_on_features() -> None:
    settings: Any = {"approximation": "nystroem", "n_components": 40}
    X, y = responses(200)
    model = TwoStageRegressor(ONE_KERNEL, scoring="neg_mean_absolute_error", **settings).fit(X, y)
    scores, alphas = model.cv_results_["mean_test_score"], model.cv_results_["param_alpha"]
    assert model.alpha_ == alphas[int(np.argmax(scores))]
    assert_allclose(scores.max(), -np.abs(model.cv_residuals_).mean(), rtol=1e-5)
    X, y = labels(200)
    model = TwoStageClassifier(ONE_KERNEL, scoring="neg_log_loss", **settings).fit(X, y)
    scores, alphas = model.cv_results_["mean_test_score"], model.cv_results_["param_alpha"]
    assert model.alpha_ == alphas[int(np.argmax(scores))]
    # Held-out probabilities are calibrated without their own labels, those of scores with them.
    held_out = model.held_out_classifier()
    found = get_scorer("neg_log_loss")(held_out, held_out.samples_, held_out.labels_)
    assert 1.05 * scores.max() < found < scores.max()


def test_the_scorer_chooses_the_penalty_where_all_rows_are_centers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three penalties are compared, around that of least squared error on a part of the rows."""
    monkeypatch.setattr("mercer._nystroem.second_stage.FEW_ROWS", 100)
    X, y = responses(200)
    settings: dict[str, Any] = {"approximation": "nystroem", "n_components": 200}
    model = TwoStageRegressor(KernelOptimization(), scoring="neg_mean_absolute_error", **settings)
    results = model.fit(X, y).cv_results_
    assert len(results["param_alpha"]) == 3
    best = int(np.argmax(results["mean_test_score"]))
    assert model.alpha_ == results["param_alpha"][best]
    assert_allclose(results["mean_test_score"][best], -np.abs(model.cv_residuals_).mean())


def test_left_out_groups_are_scored() -> None:
    X, y = responses(60)
    groups = np.repeat(np.arange(12), 5)
    y = y + 5.0 * np.random.default_rng(0).normal(size=12)[groups]
    scoring = "neg_mean_absolute_error"
    model = TwoStageRegressor(ONE_KERNEL, scoring=scoring, alpha=list(ALPHA_GRID))
    exact = model.fit(X, y, groups=groups).cv_results_["mean_test_score"]
    folds = TwoStageRegressor(
        ONE_KERNEL, scoring=scoring, alpha=list(ALPHA_GRID), cv=GroupKFold(12)
    ).fit(X, y, groups=groups)
    # Groups are equally large, so that the mean over all samples is that over folds.
    assert_allclose(exact, folds.cv_results_["mean_test_score"], rtol=1e-6)


def test_folds_on_which_the_scorer_is_undefined_are_left_out() -> None:
    X, y = labels(60)
    order = np.argsort(y, kind="stable")
    zeros = order[:10]
    mixed = [np.concatenate([order[10 + k : 50 : 2], order[50 + k :: 2]]) for k in (0, 1)]
    every = np.arange(60)
    folds = [(np.setdiff1d(every, test), test) for test in (zeros, *mixed)]
    model = TwoStageClassifier(ONE_KERNEL, C=GRID, cv=folds, scoring="roc_auc").fit(X, y)
    assert "split1_test_score" in model.cv_results_
    assert "split2_test_score" not in model.cv_results_
    with pytest.raises(ValueError, match="not defined on the held-out samples of any fold"):
        TwoStageClassifier(ONE_KERNEL, C=GRID, cv=LeaveOneOut(), scoring="roc_auc").fit(X, y)
    with pytest.raises(ValueError, match="not defined on the held-out samples of any fold"):
        TwoStageRegressor(ONE_KERNEL, cv=LeaveOneOut(), scoring="r2").fit(*responses(12))
