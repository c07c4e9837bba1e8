"""Errors say what is wrong in the words of a user, and what to do, in every estimator alike."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import mercer
from mercer import (
    AlignmentMaximization,
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    KernelLogisticRegression,
    KernelOptimization,
    KernelPoissonRegressor,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    MKLRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=24)
CODES = (Y > 0.0).astype(int)
GRAMS = (X @ X.T)[:, :, None]

PREDICTORS = [
    "BayesianMKLClassifier", "BayesianMKLRegressor", "ContinuousMKLClassifier",
    "ContinuousMKLRegressor", "KernelLogisticRegression", "KernelOrdinalClassifier",
    "KernelPoissonRegressor", "KernelStackingClassifier", "KernelStackingRegressor", "L1SVM",
    "L2KRR", "MKLClassifier", "MKLRegressor", "TwoStageClassifier", "TwoStageRegressor",
]  # fmt: skip
CLASSIFIERS = {
    "BayesianMKLRegressor": "BayesianMKLClassifier",
    "ContinuousMKLRegressor": "ContinuousMKLClassifier",
    "KernelPoissonRegressor": "KernelLogisticRegression",
    "KernelStackingRegressor": "KernelStackingClassifier",
    "L2KRR": "L1SVM",
    "MKLRegressor": "MKLClassifier",
    "TwoStageRegressor": "TwoStageClassifier",
}
LEARNERS = ["AlignmentMaximization", "ContinuousAlignment", "KernelOptimization", "ForestKernel"]


def made(name: str, **parameters: Any) -> Any:
    return getattr(mercer, name)(**parameters)


def refusal(model: Any, table: Any, y: Any, **options: Any) -> str:
    """The message of a fit that is refused, in one line."""
    with pytest.raises(ValueError, match=r"\.$") as error:
        model.fit(table, y, **options)
    return " ".join(str(error.value).split())


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_text_as_the_target_names_what_learns_from_it(name: str) -> None:
    for y in (np.where(CODES, "yes", "no"), ["no", 1.5] * 12):
        told = refusal(made(name), X, y)
        assert told.startswith("y holds text, such as 'no', and ") or "'yes', and" in told
        assert f"{name} predicts numbers: {CLASSIFIERS[name]} predicts classes." in told
    told = refusal(KernelOptimization(task="regression"), X, np.where(CODES, "yes", "no"))
    assert 'responses are numbers: task="classification" learns from classes' in told


def test_text_that_is_numbers_is_read_as_numbers() -> None:
    model = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), alpha=0.1)
    text = np.array([f"{value:.17g}" for value in Y])
    np.testing.assert_array_equal(model.fit(X, text).predict(X), model.fit(X, Y).predict(X))


@pytest.mark.parametrize("name", [*PREDICTORS, *LEARNERS])
def test_missing_values_recommend_the_encoder_alone(name: str) -> None:
    table = X.copy()
    table[3, 0] = np.nan
    told = refusal(made(name), table, CODES)
    assert "Input X contains NaN." in told
    encodes = "encoder" in made(name).get_params()
    code = "encoder=table_encoder()" if encodes else "make_pipeline(table_encoder(), estimator)"
    assert code in told
    assert "HistGradientBoosting" not in told


@pytest.mark.parametrize("name", [*PREDICTORS, *LEARNERS, "BAHSIC", "HSICLasso", "Gaussian"])
def test_dates_beside_numbers_recommend_the_encoder(name: str) -> None:
    days = np.datetime64("2024-01-01", "s") + np.arange(len(X))
    for other in (0.5, True, "a", np.timedelta64(1, "s")):
        table = pd.DataFrame({"day": days, "other": [other] * len(X)})
        model = Gaussian(1.0) if name == "Gaussian" else made(name)
        if "encoder" in model.get_params():
            model.set_params(encoder=None)
        called = model if name == "Gaussian" else model.fit
        with pytest.raises(ValueError, match=r"=table_encoder\(\)|table_encoder\(\), estimator"):
            called(*([table] if name == "Gaussian" else [table, CODES]))


def test_missing_values_of_new_rows_do_too() -> None:
    for model in (
        KernelStackingRegressor([Gaussian(2.0)]),
        TwoStageRegressor(UniformCombination([Gaussian(2.0)]), alpha=0.1),
        MKLRegressor([Gaussian(2.0)], alpha=0.1),
    ):
        with pytest.raises(ValueError, match=r"Input X contains NaN[\s\S]+table_encoder\(\)"):
            model.fit(X, Y).predict(np.full((2, 2), np.nan))


@pytest.mark.parametrize("name", PREDICTORS)
def test_gram_matrices_name_estimators_that_take_them(name: str) -> None:
    told = refusal(made(name), GRAMS, CODES)
    assert told.endswith('TwoStageClassifier(UniformCombination("precomputed")).')


def test_names_of_no_argument_are_not_recommended() -> None:
    for model in (KernelStackingClassifier("precomputed"), KernelStackingRegressor("precomputed")):
        assert "Gram matrices are not accepted" in refusal(model, X, CODES)
    told = refusal(TwoStageClassifier("precomputed"), GRAMS, CODES)
    assert told.endswith("UniformCombination('precomputed') takes Gram matrices.")


def test_precomputed_kernels_have_no_nystroem_features() -> None:
    given = TwoStageClassifier(UniformCombination("precomputed"), approximation="nystroem")
    told = refusal(given, GRAMS, CODES)
    assert 'with precomputed kernels, pass approximation="exact".' in told


@pytest.mark.parametrize("name", PREDICTORS)
def test_one_weight_that_hides_all_others(name: str) -> None:
    weights = np.ones(24)
    weights[3] = 1e200
    told = refusal(made(name), X, CODES, sample_weight=weights)
    assert told.startswith("Found 1 sample(s) of positive sample_weight, up to rounding, while")
    assert "the largest weight, 1e+200, hides all others, whose sum is 23." in told


def test_weights_whose_squares_overflow() -> None:
    for name in (*PREDICTORS, "AlignmentMaximization", "KernelOptimization"):
        told = refusal(made(name), X, CODES, sample_weight=np.full(24, 1e300))
        assert told.startswith("sample_weight contains 1e+300, which is too large to be squared")
    features = {"approximation": "nystroem", "n_components": 5}
    model = TwoStageRegressor(UniformCombination([Gaussian(2.0)]), alpha=0.1, **features)
    model.fit(X, Y).prepare_updates(X, Y)
    with pytest.raises(ValueError, match="too large to be squared"):
        model.update(X, Y, sample_weight=np.full(24, 1e300))


def test_two_samples_of_two_classes() -> None:
    told = refusal(TwoStageClassifier(UniformCombination()), X[:2], [0, 1])
    assert told.startswith("n_splits=2 cannot be greater than the number of members in each class")
    model = TwoStageClassifier(UniformCombination(), C=1.0).fit(X[:2], [0, 1])
    assert model.predict(X[:2]).tolist() == [0, 1]


NEAR_COPIES = np.vstack([X, X + 1e-9])


def test_near_copies_beside_a_penalty_below_rounding() -> None:
    for model in (
        BayesianMKLRegressor([Gaussian(2.0)], noise=1e-16),
        KernelLogisticRegression([Gaussian(2.0)], alpha=1e-17),
    ):
        told = refusal(model, NEAR_COPIES, np.tile(CODES, 2))
        assert "because samples are nearly equal, or weights very large" in told
        assert "try gradually increasing the penalty" in told


def sigmoid(A: Any, B: Any) -> Any:
    return np.tanh(0.5 * A @ B.T - 1.0)


@pytest.mark.filterwarnings("ignore:'sigmoid' is not positive semi-definite")
@pytest.mark.parametrize("name", ["BayesianMKLRegressor", "MKLRegressor", "TwoStageRegressor"])
def test_indefinite_kernels_have_a_way_out(name: str) -> None:
    kernels = {"kernels": [sigmoid]}
    if name.startswith("TwoStage"):
        kernels = {"learner": UniformCombination([sigmoid])}
    told = refusal(made(name, **kernels), X, Y)
    assert "not positive semi-definite" in told
    assert "AlignmentMaximization(kernels, clip_spectrum=True) sets" in told
    told = refusal(MKLRegressor("precomputed"), sigmoid(X, X)[:, :, None], Y)
    assert "AlignmentMaximization" not in told
    assert "pass K @ P" in told


@pytest.mark.filterwarnings("ignore:'sigmoid' is not positive semi-definite")
@pytest.mark.parametrize("approximation", ["exact", "auto"])
def test_learners_that_clip_the_spectrum_predict_new_rows(approximation: str) -> None:
    X, y, X_new, y_new = two_halves()
    learner = AlignmentMaximization([sigmoid], clip_spectrum=True)
    for model in (TwoStageClassifier(learner), TwoStageRegressor(learner)):
        model.set_params(approximation=approximation).fit(X, y)
        assert ((model.predict(X_new) > 0.5) == y_new).mean() > 0.8


def test_clipped_gram_matrices_predict_new_rows() -> None:
    """The calls are those of the message."""
    X, y, X_new, y_new = two_halves()
    names = {"np": np, "K": sigmoid(X, X), "K_new": sigmoid(X_new, X)}
    told = refusal(MKLClassifier("precomputed"), names["K"], y)
    for found in re.findall(r"(?:w, V|P) = .+?(?= and |\.$)", told):
        exec(found, names)
    K, K_new = (eval(f"{name} @ P", names) for name in re.findall(r"(\w+) @ P", told))
    learner = AlignmentMaximization("precomputed")
    for model in (
        MKLClassifier("precomputed"),
        KernelLogisticRegression("precomputed"),
        BayesianMKLClassifier("precomputed"),
        TwoStageClassifier(learner),
        SVC(kernel="precomputed"),
    ):
        assert model.fit(K, y).score(K_new, y_new) > 0.8, model


def two_halves() -> tuple[np.ndarray, ...]:
    """Rows and labels for training, and others for tests."""
    X, y = make_classification(
        400, 10, n_informative=5, n_redundant=0, class_sep=1.5, random_state=0
    )
    X = scale(X)
    return X[:200], y[:200], X[200:], y[200:]


def test_values_that_overflow_are_named() -> None:
    for model in (
        MKLRegressor("precomputed"),
        TwoStageRegressor(UniformCombination("precomputed")),
    ):
        told = refusal(model, 5e221 * GRAMS, Y)
        assert told == "Input X contains Gram matrices of values too large to be squared."
    told = refusal(KernelPoissonRegressor(alpha=1.0), X[:3], [0, 1, 1e300])
    assert told == "Input y contains values too large to be squared."


def test_a_descent_that_rounding_stops_does_not_ask_for_more_steps() -> None:
    kernels, y = [Gaussian(1.0), Gaussian(2.0)], np.tile(Y, 2)
    # Rows that differ by less would count as copies.
    near, options = np.vstack([X, X + 1e-7]), {"tol": 1e-15, "n_starts": 1}
    with pytest.warns(ConvergenceWarning, match="rounding allows no further descent: raise tol"):
        BayesianMKLRegressor(kernels, **options).fit(near, y)
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter \(now 1\), or tol"):
        BayesianMKLRegressor(kernels, max_iter=1, **options).fit(near, y)


@pytest.mark.parametrize("n_samples", [2, 3])
@pytest.mark.parametrize("name", PREDICTORS)
def test_two_or_three_samples_are_fitted_or_refused_in_words(name: str, n_samples: int) -> None:
    y = np.arange(n_samples) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            model = made(name).fit(X[:n_samples], y.astype(int))
        except ValueError as error:
            assert "n_splits=2 cannot be greater" in str(error)  # noqa: PT017
        else:
            assert len(model.predict(X[:n_samples])) == n_samples


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_column_of_another_case_is_suggested(name: str) -> None:
    frame = pd.DataFrame(X).rename(columns="column {}".format)
    model = made(name).fit(frame, CODES)
    with pytest.raises(ValueError, match=r"'COLUMN 0' is new \(did you mean 'column 0'\?\)"):
        model.predict(frame.rename(columns={"column 0": "COLUMN 0"}))


@pytest.mark.parametrize("name", PREDICTORS)
def test_results_of_an_unfitted_estimator_ask_for_a_fit(name: str) -> None:
    model = made(name)
    for attribute in ("loo_score_", "loo_predictions_", "weights_", "kernel_", "classes_"):
        assert not hasattr(model, attribute)
        message = rf"{name} instance is not fitted yet, and has no attribute '{attribute}'"
        with pytest.raises(NotFittedError, match=message):
            getattr(model, attribute)
    model.fit(X, CODES)
    for attribute in ("nothing_", "nothing", "_nothing"):
        with pytest.raises(AttributeError, match=f"has no attribute '{attribute}'") as raised:
            getattr(model, attribute)
        assert not isinstance(raised.value, NotFittedError)
