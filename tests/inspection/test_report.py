"""The report on a fitted model: its parts, what is absent, its texts, and bad input."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from display_cases import Balanced
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from mercer import (
    KernelOrdinalClassifier,
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import ModelReport, report

N_TRAIN, N = 120, 200


@pytest.fixture(scope="module")
def responses() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)


@pytest.fixture(scope="module")
def classes(responses: Any) -> tuple[Any, Any]:
    X, y = responses
    return X, np.where(y > 0, "yes", "no")


def reported(model: Any, data: Any, train: bool = True, **settings: Any) -> ModelReport:
    X, y = data
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    known = {"train": (X[:N_TRAIN], y[:N_TRAIN])} if train else {}
    return report(model, X[N_TRAIN:], y[N_TRAIN:], **known, **settings)


@pytest.fixture(scope="module")
def regression(responses: Any) -> Any:
    model = KernelStackingRegressor(["rbf", "linear"])
    return model, reported(model, responses)


@pytest.fixture(scope="module")
def classification(classes: Any) -> Any:
    model = KernelStackingClassifier(["rbf", "linear"])
    return model, reported(model, classes)


def test_scores_of_responses(responses: Any, regression: Any) -> None:
    (X, y), (model, found) = responses, regression
    own = found.held_out[0].scores
    predicted = model.predict(X[N_TRAIN:])
    assert own["r2"].value == pytest.approx(r2_score(y[N_TRAIN:], predicted))
    assert found.left_out.scores["r2"].value == pytest.approx(
        r2_score(y[:N_TRAIN], model.loo_predictions_)
    )
    assert found.beats_constant
    low, high = model.predict_interval(X[N_TRAIN:]).T
    inside = (low <= y[N_TRAIN:]) & (y[N_TRAIN:] <= high)
    assert found.coverage.share.value == pytest.approx(inside.mean())
    assert found.coverage.width == pytest.approx((high - low).mean())
    assert sum(one.count for one in found.coverage.bins) == N - N_TRAIN
    assert [one.name for one in found.held_out] == [
        *("model", "histogram boosting", "RBF kernel ridge", "linear (ridge)", "mean")
    ]
    assert (found.n_rows, found.n_train, found.n_groups) == (N - N_TRAIN, N_TRAIN, None)
    assert found.warnings == ()


def test_scores_of_classes(classes: Any, classification: Any) -> None:
    (X, y), (model, found) = classes, classification
    p = model.predict_proba(X[N_TRAIN:])
    own = found.held_out[0].scores
    assert own["log_loss"].value == pytest.approx(log_loss(y[N_TRAIN:], p))
    hits = [one.share.value * one.count for one in found.calibration]
    assert sum(hits) == pytest.approx(np.sum(y[N_TRAIN:] == "yes"))
    assert sum(one.value * one.count for one in found.calibration) == pytest.approx(p[:, 1].sum())
    sets = model.predict_set(X[N_TRAIN:])
    covered = sets[np.arange(len(p)), (y[N_TRAIN:] == "yes").astype(int)]
    assert found.coverage.share.value == pytest.approx(covered.mean())


def test_coverage_is_measured_on_demand(responses: Any, regression: Any) -> None:
    (X, y), (model, found) = responses, regression
    without = report(model, X[N_TRAIN:], y[N_TRAIN:], coverage=None)
    assert (without.coverage, without.regions) == (None, None)
    assert without.held_out[0].scores == found.held_out[0].scores
    assert_allclose(found.regions, model.predict_interval(X[N_TRAIN:]))
    assert_allclose(found.predictions.values, model.predict(X[N_TRAIN:]))


def test_residuals_of_two_stages_are_left_out_predictions(responses: Any) -> None:
    model = TwoStageRegressor(UniformCombination(["rbf", "linear"]))
    found = reported(model, responses)
    expected = np.sqrt(np.mean(model.cv_residuals_**2))
    assert found.left_out is not None
    assert found.left_out.scores["rmse"].value == pytest.approx(expected)


def test_a_sample_of_the_training_rows_is_not_scored_by_predictions_for_others(
    responses: Any, regression: Any
) -> None:
    (X, y), model = responses, regression[0]
    others = np.random.default_rng(1).permutation(N)[:N_TRAIN]
    test = slice(N_TRAIN, None)
    found = report(model, X[test], y[test], train=(X[others], y[others]), sampled=True)
    assert found.left_out is None
    assert len(found.held_out) > 1


def test_parts_that_are_absent_are_named(responses: Any, classes: Any) -> None:
    found = reported(LinearSVC(), classes, train=False)
    assert (found.calibration, found.coverage, found.beats_constant) == ((), None, None)
    assert (found.left_out, len(found.held_out)) == (None, 1)
    remarks = " ".join(found.remarks)
    assert "the model predicts no probabilities" in remarks
    assert "need the rows of the fit, which are not given" in remarks
    assert "the model predicts no sets" in remarks
    assert "log_loss" not in found.held_out[0].scores
    assert "roc_auc" in found.held_out[0].scores
    found = reported(TwoStageRegressor(UniformCombination(["rbf"]), alpha=0.1), responses)
    assert any("There is no coverage: Intervals need residuals" in text for text in found.remarks)


@pytest.mark.parametrize("scaled", [False, True])
def test_pipelines_and_searches(responses: Any, scaled: bool) -> None:
    model: Any = TwoStageRegressor(UniformCombination(["rbf"]))
    search = GridSearchCV(model, {"alpha": ["auto"]}, cv=2)
    pipeline = make_pipeline(StandardScaler(), search) if scaled else search
    found = reported(pipeline, responses)
    assert found.model == "TwoStageRegressor"
    assert found.coverage is not None
    assert len(found.held_out) == 5


def test_a_transformer_that_learns_a_kernel_does_not_prepare_columns(responses: Any) -> None:
    learner = UniformCombination(["rbf"])
    alone, piped = (
        [(one.name, one.scores) for one in reported(model, responses).held_out[1:]]
        for model in (Ridge(), make_pipeline(learner, Ridge()))
    )
    assert piped == alone


def test_groups_widen_intervals_and_are_counted() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    X = np.column_stack([rng.normal(size=200), rng.normal(size=40)[groups]])
    y = 3.0 * X[:, 0] + rng.normal(size=40)[groups] + 0.2 * rng.normal(size=200)
    train = groups < 25
    model = KernelStackingRegressor(["rbf", "linear"]).fit(X[train], y[train], groups=groups[train])
    known = (X[train], y[train], groups[train])
    grouped = report(model, X[~train], y[~train], groups[~train], train=known)
    plain = report(model, X[~train], y[~train], train=known[:2])
    widths = [one.held_out[0].scores["mae"] for one in (grouped, plain)]
    assert widths[0].high - widths[0].low > 1.3 * (widths[1].high - widths[1].low)
    assert grouped.n_groups == 15
    assert grouped.n_rows == 75
    assert grouped.warnings == ()
    # Rows of a group follow each other, and their residuals are alike.
    assert any("residuals of neighbors" in text for text in plain.warnings)
    shared = report(
        model, X[~train], y[~train], groups[~train], train=(*known[:2], groups[train] + 5)
    )
    assert any(text.startswith("5 of 15 groups have rows") for text in shared.warnings)


def test_made_faults_are_all_told() -> None:
    rng = np.random.default_rng(0)
    n = 400
    drift = np.cumsum(rng.normal(size=n)) / 5.0
    frame = pd.DataFrame({"x": rng.normal(size=n), "day": pd.date_range("2024-01-01", periods=n)})
    y = frame["x"].to_numpy() + drift
    frame["answer"] = 3.0 * y
    frame.iloc[390:] = frame.iloc[:10].to_numpy()
    frame = frame.astype({"x": float, "answer": float, "day": "datetime64[ns]"})
    y[390:] = y[:10]
    chosen = make_column_transformer((StandardScaler(), ["x"]))
    model = make_pipeline(chosen, Ridge()).fit(frame[:250], y[:250])
    found = report(model, frame[250:], y[250:], train=(frame[:250], y[:250]))
    told = " ".join(found.warnings)
    for part in (
        "column 'answer' alone predicts",
        "6.7% of the held-out rows (10 of 150) are copies",
        "'day' differs most",
        "residuals of neighbors in the order of the held-out rows are alike",
        "residuals of neighbors by 'day' are alike",
        "rows follow each other by 'day', and targets of neighbors are alike",
    ):
        assert part in told
    new = frame[250:390], y[250:390]
    later = report(model, *new, train=(frame[:250], y[:250]), later=1)
    assert "by 'day'" not in " ".join(later.warnings)
    # A column that decreases in time is of the order as well.
    ages = frame.assign(day=pd.Timestamp("2030-01-01") - frame["day"] + pd.Timestamp(0))
    new = ages[250:390], y[250:390]
    later = report(model, *new, train=(ages[:250], y[:250]), later=1)
    assert "'day' differs" not in " ".join(later.warnings)


def test_rows_that_are_sorted_by_their_target_have_no_order() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200)
    found = report(Ridge().fit(X, np.sort(y)), X[np.argsort(y)], np.sort(y))
    assert found.warnings == ()


def test_clean_data_are_clean() -> None:
    """Each of four checks warns with a probability of 1% at most."""
    warned = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 2))
        y = X[:, 0] + rng.normal(size=120)
        model = Ridge().fit(X[:60], y[:60])
        warned += bool(report(model, X[60:], y[60:], train=(X[:60], y[:60])).warnings)
    assert warned <= 2


def test_a_model_of_noise_is_not_better_than_a_constant() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    found = report(Ridge().fit(X[:50], y[:50]), X[50:], y[50:], train=(X[:50], y[:50]))
    assert found.beats_constant is False
    assert "not better than a constant prediction" in found.warnings[0]


def test_frames_hold_what_the_report_does(regression: Any, classification: Any) -> None:
    for _, found in (regression, classification):
        frame = found.to_frame()
        first = found.held_out[0].scores[found.metric]
        assert list(frame.columns[:3]) == [(found.metric, end) for end in ("value", "low", "high")]
        assert frame.loc["model"][found.metric].tolist() == [first.value, first.low, first.high]
        names = [found.left_out.name, *(one.name for one in found.held_out)]
        assert sorted(frame.index) == sorted(names)
        bins = found.to_frame("coverage")
        assert bins["rows"].sum() == N - N_TRAIN
        assert bins["share"].tolist() == [one.share.value for one in found.coverage.bins]
    assert regression[1].to_frame("calibration").empty
    assert len(classification[1].to_frame("calibration")) == len(classification[1].calibration)
    with pytest.raises(ValueError, match="part must be"):
        found.to_frame("pictures")


def test_checks_have_a_code_and_a_severity_and_a_row_for_each_finding() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    found = reported(Ridge(), (np.column_stack([X, X[:, 0]]), X[:, 0]))
    assert [check.code for check in found.checks] == [
        *("constant", "leakage", "copies", "shift", "identifiers", "time order", "coverage"),
        "left-out score",
    ]
    frame = found.to_frame("checks")
    assert frame["code"].tolist() == ["leakage", "leakage"]
    assert frame["severity"].tolist() == ["error", "error"]
    assert frame["column"].tolist() == ["x0", "x2"]
    assert tuple(frame["sentence"]) == found.warnings


def test_names_are_text_in_notebooks() -> None:
    rng = np.random.default_rng(0)
    name = "<b>a|b</b>"
    frame = pd.DataFrame({name: rng.random(300)})
    y = 2.0 * frame[name].to_numpy()
    model = Ridge().fit(frame[:100], y[:100])
    found = report(model, frame[100:], y[100:], train=(frame[:100], y[:100]))
    text = Balanced(found._repr_html_())
    assert any(f"column '{name}' alone" in words for words in text.words)
    assert "<b>" not in found._repr_html_()
    assert "model" in text.words
    y = frame[name].to_numpy() ** 2 * rng.normal(size=300)
    found = report(Ridge().fit(frame[:100], y[:100]), frame[100:], y[100:])
    assert set(found.to_frame("losses")["column"]) == {name}


def test_one_row_has_infinite_intervals(responses: Any) -> None:
    X, y = responses
    model = Ridge().fit(X[:50], y[:50])
    found = report(model, X[60:61], y[60:61], train=(X[:50], y[:50]))
    assert found.held_out[0].scores["rmse"].high == np.inf
    assert found.held_out[0].told("rmse")[1].endswith("∞")


def test_scores_suit_the_number_of_classes(responses: Any, classes: Any) -> None:
    X, y = classes
    rows = np.flatnonzero(y == "yes")
    model = LogisticRegression().fit(X[:50], y[:50])
    single = report(model, X[rows], y[rows], train=(X[:50], y[:50]))
    assert "roc_auc" not in single.held_out[0].scores
    several = (X, np.digitize(responses[1], [-0.5, 0.5]))
    found = reported(TwoStageClassifier(UniformCombination(["rbf"])), several)
    assert "roc_auc" not in found.held_out[0].scores
    assert found.n_classes == 3


def test_classes_that_training_rows_lack_have_no_probability() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    model = DummyClassifier().fit(X, y)
    kept = y < 2
    found = report(model, X, y, train=(X[kept], y[kept]))
    assert found.held_out[-1].scores["log_loss"].value > 10.0
    assert_allclose(found.held_out[0].scores["log_loss"].value, np.log(3.0))


def test_sparse_tables_are_scored() -> None:
    rng = np.random.default_rng(0)
    X = csr_array(rng.random((100, 6)) * (rng.random((100, 6)) < 0.3))
    y = np.asarray(X.sum(axis=1)).ravel() + 0.1 * rng.normal(size=100)
    model = make_pipeline(StandardScaler(with_mean=False), Ridge()).fit(X[:60], y[:60])
    found = report(model, X[60:], y[60:], train=(X[:60], y[:60]))
    names = [one.name for one in found.held_out]
    assert names == ["model", "RBF kernel ridge", "linear (ridge)", "mean"]
    assert "Columns of this table are not examined one by one" in found.remarks


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: {"y": y[:-1]}, "inconsistent numbers of samples"),
        (lambda X, y: {"X": X[:, :2]}, "expecting 3 features"),
        (lambda X, y: {"y": np.column_stack([y, y])}, "y should be a 1d array"),
        (lambda X, y: {"y": np.r_[np.nan, y[1:]]}, "Input y contains NaN"),
        (lambda X, y: {"groups": np.r_[np.nan, y[1:]]}, "Input groups contains NaN"),
        (lambda X, y: {"groups": y[1:]}, "inconsistent numbers of samples"),
        (lambda X, y: {"groups": np.zeros(N)}, "groups contains only one group"),
        (lambda X, y: {"coverage": 90}, "coverage must be between 0 and 1"),
        (lambda X, y: {"train": (X,)}, "train must hold"),
    ],
)
def test_bad_input_is_refused(responses: Any, change: Any, message: str) -> None:
    X, y = responses
    with pytest.raises(ValueError, match=message):
        report(Ridge().fit(X, y), **{"X": X, "y": y, **change(X, y)})


def test_unsuitable_models_are_refused(classes: Any) -> None:
    X, labels = classes
    with pytest.raises(NotFittedError):
        report(Ridge(), X, labels)
    classifier = LogisticRegression().fit(X, labels)
    with pytest.raises(ValueError, match="previously unseen labels: \\['maybe'\\]"):
        report(classifier, X, np.r_[["maybe"], labels[1:]])


def test_grades_in_words_may_have_any_order() -> None:
    X = np.random.default_rng(0).normal(size=(90, 2))
    codes = np.digitize(X[:, 0], [-0.5, 0.5])
    words = ["poor", "fair", "a good one"]
    numbers = KernelOrdinalClassifier(alpha=1.0).fit(X, codes)
    named = KernelOrdinalClassifier(alpha=1.0, categories=words).fit(X, np.array(words)[codes])
    grades = np.array(words)[codes]
    expected = report(numbers, X, codes, train=(X, codes), metric="log_loss")
    found = report(named, X, grades, train=(X, grades))
    assert found.left_out is not None
    assert expected.left_out is not None
    pairs = (found.held_out[0], expected.held_out[0]), (found.left_out, expected.left_out)
    for own, other in pairs:
        for name in ("error", "log_loss", "balanced_accuracy"):
            assert own.scores[name].value == pytest.approx(other.scores[name].value)
    assert found.coverage is not None
    assert expected.coverage is not None
    assert found.coverage.share.value == expected.coverage.share.value
