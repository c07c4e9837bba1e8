"""Validated training data, and unit scale of estimators that learn a kernel."""

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from campaign import rotating
from learner_cases import LEARNERS, problem, refused
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    ForestKernel,
    IndependentAlignment,
    KernelOptimization,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import (
    Dirichlet,
    Gaussian,
    Linear,
    OnColumns,
)

NAMES = ["age", "bmi", "dose", "noise"]
X, Y = problem("binary")


@pytest.mark.filterwarnings("ignore:Some weights are negative")
@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_learned_kernels_are_of_unit_scale(learner: BaseEstimator) -> None:
    X, y = problem("binary")
    fitted = clone(learner).fit(X, y)
    if (fitted.weights_ >= 0.0).all():
        assert_allclose(center(fitted.transform(X)).trace() / len(X), 1.0, rtol=1e-7)


def test_a_constant_kernel_keeps_its_scale() -> None:
    X, y = np.ones((20, 2)), np.arange(20) % 2
    fitted = UniformCombination([Gaussian(1.0), Gaussian(2.0)]).fit(X, y)
    assert fitted.scale_ == 1.0
    assert_array_equal(fitted.kernel_(X), np.ones((20, 20)))


def test_the_default_dictionary_is_of_twenty_gaussian_widths() -> None:
    """From half the 1 % quantile of the positive distances to twice the largest distance."""
    X, y = problem("binary")
    distances = pdist(X)
    low, high = np.quantile(distances**2, 0.01) ** 0.5, distances.max()
    fitted = UniformCombination().fit(X, y)
    assert all(isinstance(kernel, Gaussian) for kernel in fitted.kernels_)
    found = [kernel.bandwidth for kernel in fitted.kernels_]
    assert_allclose(found, np.geomspace(0.5 * low, 2.0 * high, 20), rtol=5e-2)
    assert_allclose(np.diff(np.log(found), 2), 0.0, atol=1e-12)


every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


# --- features and targets ---------------------------------------------------------------------


NOT_FINITE = [(np.nan, "contains NaN"), (np.inf, "contains infinity"), (-np.inf, "inf")]


@pytest.mark.parametrize(
    ("learner", "refusal", "container"),
    rotating(LEARNERS.values(), NOT_FINITE, [np.asarray, sp.csr_array]),
)
def test_features_that_are_not_finite(
    learner: BaseEstimator, refusal: tuple[float, str], container: Any
) -> None:
    value, message = refusal
    X, y = problem("binary")
    fitted = clone(learner).fit(container(X), y)
    X[3, 1] = value
    refused(learner, container(X), y, message)
    with pytest.raises(ValueError, match=message):
        fitted.transform(container(X))


def with_value(place: tuple[int, ...], value: Any, kind: Any = object) -> np.ndarray:
    """Features, or responses where the place is a row, with one other value."""
    found = np.array(X if len(place) > 1 else problem("regression")[1], dtype=kind)
    found[place] = value
    return found


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "NaN in y": (X, with_value((5,), np.nan, float), "Input y contains NaN"),
    "infinity in y": (X, with_value((5,), np.inf, float), "Input y contains infinity"),
    "one class": (X, np.full(60, "yes"), "only one class: .*yes"),
    "a constant response": (X, np.full(60, 0.5), "y is constant"),
    "one sample": (np.ones((1, 4)), [1], "1 sample"),
    "no sample": (np.empty((0, 4)), [], "0 sample"),
    "no feature": (np.empty((4, 0)), [0, 1, 0, 1], "0 feature"),
    "a vector": (X[:, 0], Y, "Expected 2D array, got 1D"),
    "three dimensions": (X[:, :, None], Y, "Found array with dim 3"),
    "other lengths": (X, Y[:-1], r"inconsistent numbers of samples: \[60, 59\]"),
    "no target": (X, None, "requires y to be passed"),
    "a word": (with_value((2, 1), "tall"), Y, "could not convert string to float: 'tall'"),
    "complex numbers": (X.astype(complex), Y, "Complex data not supported"),
}


@pytest.mark.parametrize(("learner", "case"), rotating(LEARNERS.values(), [*REFUSED]))
def test_data_that_cannot_be_learned_from(learner: BaseEstimator, case: str) -> None:
    refused(learner, *REFUSED[case])


@pytest.mark.parametrize(
    "learner", [made for made in LEARNERS.values() if not isinstance(made, ForestKernel)]
)
def test_two_samples_are_enough(learner: BaseEstimator) -> None:
    """Two samples that differ are two perfect clusters."""
    fitted = clone(learner).fit([[0.0, 1.0], [2.0, 1.0]], ["a", "b"])
    np.testing.assert_allclose(fitted.alignment_, 1.0, rtol=1e-9)


@pytest.mark.parametrize(("learner", "value"), rotating(LEARNERS.values(), [0.0, 0.1, 1e8]))
def test_constant_features_are_learned_from_without_nan(
    learner: BaseEstimator, value: float
) -> None:
    """There is nothing to find, which is no error: a pipeline's fold may be so."""
    fitted = clone(learner).fit(np.full((20, 3), value), np.arange(20) % 2)
    assert np.isfinite(fitted.weights_).all()
    assert abs(fitted.alignment_) < 1e-6
    assert np.isfinite(fitted.transform(np.full((2, 3), value))).all()


TASKS = [
    (np.linspace(0, 1, 60), "classification", "Unknown label type: continuous"),
    (np.array(["a", "b"] * 30), "regression", "y holds text, such as 'a'"),
    (np.arange(60) % 2, "clustering", "task must be .*; got 'clustering'"),
    (np.column_stack([np.arange(60) % 2, np.arange(60) % 3]), "classification", "1d|multi"),
]


@pytest.mark.parametrize(("learner", "case"), rotating(LEARNERS.values(), TASKS))
def test_tasks_that_do_not_fit(learner: BaseEstimator, case: tuple[np.ndarray, str, str]) -> None:
    y, task, message = case
    refused(clone(learner).set_params(task=task), X, y, message)


def test_columns_missing_at_prediction() -> None:
    pd = pytest.importorskip("pandas")
    X, y = problem("binary")
    table = pd.DataFrame(X, columns=list("abcd"))
    learner = UniformCombination([OnColumns(Gaussian(), ["a", "d"])]).fit(table, y)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing:\n- d"):
        learner.transform(table[["a", "b", "c"]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- e"):
        learner.transform(table.assign(e=1.0))
    for model in (TwoStageClassifier(learner), TwoStageRegressor(learner)):
        fitted = model.fit(table, y if model.__sklearn_tags__().classifier_tags else X[:, 0])
        with pytest.raises(ValueError, match="yet now missing:\n- d"):
            fitted.predict(table[["a", "b", "c"]])


# --- tables -----------------------------------------------------------------------------------


@every_learner
def test_single_precision(learner: BaseEstimator) -> None:
    X, y = problem("binary")
    double = clone(learner).fit(X.astype(np.float32).astype(np.float64), y)
    single = clone(learner).fit(X.astype(np.float32), y)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.alignment_, double.alignment_, rtol=1e-9)
    assert_allclose(single.weights_, double.weights_, atol=1e-9)
    gram = double.transform(X)
    assert_allclose(single.transform(X.astype(np.float32)), gram, atol=1e-5 * np.abs(gram).max())


@pytest.mark.parametrize(
    ("learner", "container"),
    rotating(
        [made for made in LEARNERS.values() if get_tags(made).input_tags.sparse],
        [sp.csr_array, sp.csc_matrix, sp.coo_array],
    ),
)
def test_sparse_tables(learner: BaseEstimator, container: Any) -> None:
    X, y = problem("binary")
    X = np.maximum(X, 0.0)
    dense = clone(learner).fit(X, y)
    sparse = clone(learner).fit(container(X), y)
    assert_allclose(sparse.alignment_, dense.alignment_, rtol=1e-6)
    gram = dense.transform(X)
    assert_allclose(sparse.transform(container(X)), gram, atol=1e-4 * np.abs(gram).max())
    assert sp.issparse(sparse.X_fit_)
    assert get_tags(learner).input_tags.sparse


def frame(library: str, X: np.ndarray, names: list[str]) -> Any:
    module = pytest.importorskip(library)
    return module.DataFrame({name: X[:, k] for k, name in enumerate(names)})


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "make",
    [
        AlignmentMaximization,
        lambda kernels: UniformCombination(kernels, normalize="trace"),
        ContinuousAlignment,
        lambda kernels: KernelOptimization(kernels[0]),
    ],
)
def test_columns_by_name(library: str, make: Any) -> None:
    X, y = problem("binary")
    table = frame(library, X, NAMES)
    named = make([OnColumns(Gaussian(2.0), ["dose", "age"]), OnColumns(Linear(), "bmi")])
    placed = make([OnColumns(Gaussian(2.0), [2, 0]), OnColumns(Linear(), [1])]).fit(X, y)
    learner = named.fit(table, y)
    assert list(learner.feature_names_in_) == NAMES
    assert_allclose(learner.alignment_, placed.alignment_, rtol=1e-9)
    assert_allclose(learner.transform(table), placed.transform(X), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        learner.transform(frame(library, X, NAMES[::-1]))


@pytest.mark.parametrize(("learner", "library"), rotating(LEARNERS.values(), ["pandas", "polars"]))
def test_set_output(learner: BaseEstimator, library: str) -> None:
    X, y = problem("binary")
    table = frame(library, X, NAMES)
    plain = clone(learner).fit(table, y).transform(table)
    framed = clone(learner).set_output(transform=library).fit(table, y)
    result = framed.transform(table)
    assert type(result).__module__.startswith(library)
    names = [f"{type(learner).__name__.lower()}{k}" for k in range(60)]
    assert list(result.columns) == names == list(framed.get_feature_names_out())
    assert_allclose(np.asarray(result), plain, rtol=1e-12)


def test_dirichlet_on_nearly_coinciding_samples_stays_small() -> None:
    rng = np.random.default_rng(0)
    Z = np.round(rng.normal(size=(300, 1))) + 1e-5 * rng.normal(size=(300, 1))
    tracemalloc.start()
    try:
        ContinuousAlignment(Dirichlet()).fit(Z, np.sin(Z[:, 0]))
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_the_learned_kernel_does_not_follow_the_callers_array() -> None:
    Z = X.copy()
    learner = ContinuousAlignment().fit(Z, Y)
    before = learner.transform(X)
    Z[:] = 0.0
    assert np.allclose(learner.transform(X), before)


def test_a_class_of_one_sample_does_not_stop_an_automatic_penalty() -> None:
    y = np.r_[Y[:-1], 2]
    ContinuousAlignment(Gaussian(ard=True), width_penalty="auto", random_state=0).fit(X, y)


@pytest.mark.parametrize(
    "learner",
    [IndependentAlignment([Linear()]), ContinuousAlignment(), AlignmentMaximization()],
    ids=["align", "ca", "alignf"],
)
def test_features_whose_squares_overflow_are_refused_in_words(learner: Any) -> None:
    with pytest.raises(ValueError, match="too large"):
        learner.fit(X * 1e160, Y)


def test_one_pair_of_nearly_equal_samples_costs_little_memory() -> None:
    """Counts of distances do not reach down to it, octave by octave."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(3000, 5))
    Z[1] = Z[0] + 1e-8
    tracemalloc.start()
    try:
        with sklearn.config_context(working_memory=16):
            ContinuousAlignment().fit(Z, np.sign(Z[:, 0]))
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("value", ["a", np.nan])
def test_tables_that_are_not_of_numbers_are_refused_with_what_helps(value: Any) -> None:
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, value]})
    with pytest.raises(ValueError, match=r"could not convert|contains NaN") as error:
        UniformCombination().fit(table, [0, 1, 0])
    assert "mercer.preprocessing.table_encoder() turns categories" in str(error.value)
