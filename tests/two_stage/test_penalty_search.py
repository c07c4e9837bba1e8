"""Two-stage estimators whose penalty and kernel are chosen by a scorer of scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, left_out_kernel_ridge
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.metrics import get_scorer, log_loss, make_scorer, mean_absolute_error, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, TimeSeriesSplit
from sklearn.svm import SVC, SVR
from two_stage_cases import shuffled

import mercer
from mercer import (
    GradientOuterProduct,
    KernelOptimization,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.weights import UnitWeights
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


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_responses_does_not_change_the_choice(unit: float) -> None:
    X, y = responses(40, 2)
    model = TwoStageRegressor(ONE_KERNEL, scoring="neg_mean_squared_error")
    assert clone(model).fit(X, unit * y).alpha_ == model.fit(X, y).alpha_


@pytest.mark.parametrize("n_outputs", [0, 2])
@pytest.mark.parametrize("cv", [4, TimeSeriesSplit(3)])
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


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc", "balanced_accuracy", "f1"])
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


def test_labels_of_any_kind_are_scored() -> None:
    X, y = labels(90)
    names = np.array(["no", "yes"])[y]
    one, other = (
        TwoStageClassifier(ONE_KERNEL, C=GRID, scoring="neg_log_loss").fit(X, t) for t in (y, names)
    )
    assert_array_equal(one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])
    many = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.7])]
    model = TwoStageClassifier(C=GRID, scoring="roc_auc_ovr").fit(X, many)
    assert 0.8 < model.cv_results_["mean_test_score"].max() <= 1.0


@pytest.mark.parametrize("estimator", [TwoStageClassifier, TwoStageRegressor])
def test_the_scorer_chooses_the_kernel(estimator: Any) -> None:
    X, y = labels(100) if estimator is TwoStageClassifier else responses(100)
    metric = roc_auc_score if estimator is TwoStageClassifier else mean_absolute_error
    ways = {"response_method": "predict_proba"} if estimator is TwoStageClassifier else {}
    fits, scorers = {}, {}
    for greater in (True, False):
        scorers[greater] = make_scorer(metric, greater_is_better=greater, **ways)
        fits[greater] = estimator(scoring=scorers[greater]).fit(X, y)
    chosen = {greater: type(fit.kernel_.kernels[0]) for greater, fit in fits.items()}
    assert chosen[True] is not chosen[False]
    # Each has the best score of the two candidates.
    for greater, fit in fits.items():
        best = [
            np.nanmax(
                estimator(candidate.learner, scoring=scorers[greater])
                .fit(X, y)
                .cv_results_["mean_test_score"]
            )
            for candidate in fit.candidates_
        ]
        assert_allclose(np.nanmax(fit.cv_results_["mean_test_score"]), max(best))


def test_a_number_as_penalty_leaves_the_choice_of_the_kernel() -> None:
    X, y = responses(80)
    found = [
        TwoStageRegressor(alpha=0.1, scoring=scoring).fit(X, y)
        for scoring in ("neg_mean_absolute_error", WORST)
    ]
    assert {model.alpha_ for model in found} == {0.1}
    assert found[0].kernel_ != found[1].kernel_
    assert found[0].cv_results_["mean_test_score"] > -found[1].cv_results_["mean_test_score"]


def test_the_scorer_chooses_between_a_form_and_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = responses(80, 1)
    form = GradientOuterProduct(Gaussian(), n_iter=1)
    monkeypatch.setattr("mercer._estimators.two_stage.two_stage.choose_form", lambda *_: form)
    found = [
        type(TwoStageRegressor("auto", scoring=scoring).fit(X, y).learner_).__name__
        for scoring in ("neg_mean_absolute_error", WORST)
    ]
    assert len(set(found)) == 2


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_scorer_chooses_the_penalty_on_features(task: str) -> None:
    estimator: Any = TwoStageClassifier if task == "classification" else TwoStageRegressor
    X, y = labels(200) if task == "classification" else responses(200)
    scoring = "neg_log_loss" if task == "classification" else "neg_mean_absolute_error"
    settings = {"approximation": "nystroem", "n_components": 40}
    model = estimator(ONE_KERNEL, scoring=scoring, **settings).fit(X, y)
    scores = model.cv_results_["mean_test_score"]
    assert model.alpha_ == model.cv_results_["param_alpha"][int(np.argmax(scores))]
    if task == "regression":
        left_out = np.abs(model.cv_residuals_)
        assert_allclose(scores.max(), -left_out.mean(), rtol=1e-5)
    else:
        # Held-out probabilities are calibrated without their own labels, those of scores with them.
        held_out, predictor = model.held_out_classifier(), model.predictor_
        rows = DrawnSample(
            X, y, UnitWeights(200), source=block_source(X, y), positions=np.arange(200)
        )
        calibrated = predictor.calibration.probabilities(predictor.indicators_out_of_fold(X, rows))
        assert_allclose(scores.max(), -log_loss(y, calibrated))
        found = get_scorer(scoring)(held_out, held_out.samples_, held_out.labels_)
        assert 1.05 * scores.max() < found < scores.max()
    plain = estimator(ONE_KERNEL, **settings).fit(X, y)
    assert_array_equal(plain.cv_results_["param_alpha"], model.cv_results_["param_alpha"])


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


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TwoStageRegressor(scoring="balance"), "'balance' is not a valid scoring value"),
        (TwoStageRegressor(scoring="accuracy"), "'accuracy' does not suit this target"),
        (TwoStageClassifier(scoring="r2"), "'r2' does not suit this target"),
        (
            TwoStageRegressor(ONE_KERNEL, alpha=1.0, scoring="r2"),
            r"scoring has no effect where alpha is a number: .* or pass alpha=\[1.0\]",
        ),
        (
            TwoStageClassifier(ONE_KERNEL, C=2.0, scoring="f1"),
            r"scoring has no effect where C is a number: .* or pass C=\[2.0\]",
        ),
        (
            TwoStageRegressor(alpha=1.0, approximation="nystroem", scoring="r2"),
            "scoring has no effect on Nyström features",
        ),
        (
            TwoStageRegressor(predictor=SVR(kernel="precomputed"), scoring="r2"),
            "scoring has no effect where a predictor is given",
        ),
    ],
    ids=str,
)
def test_scorers_without_effect_or_meaning_are_refused(model: Any, message: str) -> None:
    X, y = labels(40)
    y = np.array(["no", "yes"])[y] if isinstance(model, TwoStageClassifier) else y + X[:, 0]
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_scorers_of_several_labels_are_refused() -> None:
    X, y = labels(40)
    with pytest.raises(ValueError, match="scoring has no effect where samples have several labels"):
        TwoStageClassifier(scoring="f1").fit(X, np.column_stack([y, 1 - y]))


@pytest.mark.parametrize("approximation", ["exact", "nystroem"])
def test_models_with_named_scorers_are_saved(approximation: str, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    X, y = labels(80)
    settings = {"scoring": "roc_auc", "approximation": approximation, "n_components": 30}
    model = TwoStageClassifier(**settings).fit(X, y)
    mercer.save(model, tmp_path / "model.skops")
    again = mercer.load(tmp_path / "model.skops")
    assert again.scoring == "roc_auc"
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
