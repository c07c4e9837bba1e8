"""Validated training data, and unit scale of estimators that learn a kernel."""

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
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
    TwoStageClassifier,
    UniformCombination,
)
from mercer.kernels import Dirichlet, Gaussian, Linear, OnColumns

NAMES = ["age", "bmi", "dose", "noise"]
X, Y = problem("binary")

every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


@pytest.mark.filterwarnings("ignore:Some weights are negative")
@every_learner
def test_learned_kernels_are_of_unit_scale(learner: BaseEstimator) -> None:
    fitted = clone(learner).fit(X, Y)
    if (fitted.weights_ >= 0.0).all():
        assert_allclose(center(fitted.transform(X)).trace() / len(X), 1.0, rtol=1e-7)


def test_a_constant_kernel_keeps_its_scale() -> None:
    table = np.ones((20, 2))
    fitted = UniformCombination([Gaussian(1.0), Gaussian(2.0)]).fit(table, np.arange(20) % 2)
    assert fitted.scale_ == 1.0
    assert_array_equal(fitted.kernel_(table), np.ones((20, 20)))


def test_the_default_dictionary_is_of_twenty_gaussian_widths() -> None:
    """From half the 1 % quantile of the positive distances to twice the largest distance."""
    distances = pdist(X)
    low, high = np.quantile(distances**2, 0.01) ** 0.5, distances.max()
    fitted = UniformCombination().fit(X, Y)
    assert all(isinstance(kernel, Gaussian) for kernel in fitted.kernels_)
    found = [kernel.bandwidth for kernel in fitted.kernels_]
    assert_allclose(found, np.geomspace(0.5 * low, 2.0 * high, 20), rtol=5e-2)
    assert_allclose(np.diff(np.log(found), 2), 0.0, atol=1e-12)


# --- features and targets ---------------------------------------------------------------------


def with_value(place: tuple[int, ...], value: Any, kind: Any = object) -> np.ndarray:
    """Features, or responses where the place is a row, with one other value."""
    found = np.array(X if len(place) > 1 else problem("regression")[1], dtype=kind)
    found[place] = value
    return found


# scikit-learn's checks, in test_common.py, pass tables of other shapes and types, and of NaN.
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "infinity in X": (sp.csr_array(with_value((3, 1), -np.inf, float)), Y, "inf"),
    "NaN in y": (X, with_value((5,), np.nan, float), "Input y contains NaN"),
    "infinity in y": (X, with_value((5,), np.inf, float), "Input y contains infinity"),
    "one class": (X, np.full(60, "yes"), "only one class: .*yes"),
    "a constant response": (X, np.full(60, 0.5), "y is constant"),
    "other lengths": (X, Y[:-1], r"inconsistent numbers of samples: \[60, 59\]"),
    "no target": (X, None, "requires y to be passed"),
    "a word": (with_value((2, 1), "tall"), Y, "could not convert string to float: 'tall'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_data_that_cannot_be_learned_from(case: str) -> None:
    for learner in LEARNERS.values():
        if get_tags(learner).input_tags.sparse or not sp.issparse(REFUSED[case][0]):
            refused(learner, *REFUSED[case])


@pytest.mark.parametrize(
    "learner", [made for made in LEARNERS.values() if not isinstance(made, ForestKernel)]
)
def test_two_samples_are_enough(learner: BaseEstimator) -> None:
    """Two samples that differ are two perfect clusters."""
    fitted = clone(learner).fit([[0.0, 1.0], [2.0, 1.0]], ["a", "b"])
    np.testing.assert_allclose(fitted.alignment_, 1.0, rtol=1e-9)


@every_learner
def test_constant_features_are_learned_from_without_nan(learner: BaseEstimator) -> None:
    """There is nothing to find, which is no error: a pipeline's fold may be so."""
    fitted = clone(learner).fit(np.full((20, 3), 0.1), np.arange(20) % 2)
    assert np.isfinite(fitted.weights_).all()
    assert abs(fitted.alignment_) < 1e-6
    assert np.isfinite(fitted.transform(np.full((2, 3), 0.1))).all()


def test_a_class_of_one_sample_does_not_stop_an_automatic_penalty() -> None:
    y = np.r_[Y[:-1], 2]
    ContinuousAlignment(Gaussian(ard=True), width_penalty="auto", random_state=0).fit(X, y)


def test_features_whose_squares_overflow_are_refused_in_words() -> None:
    for learner in (IndependentAlignment([Linear()]), ContinuousAlignment()):
        refused(learner, X * 1e160, Y, "too large")


def test_columns_of_words_are_refused_with_what_helps() -> None:
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, "a"]})
    with pytest.raises(ValueError, match="could not convert") as error:
        UniformCombination().fit(table, [0, 1, 0])
    assert "mercer.preprocessing.table_encoder() turns categories" in str(error.value)


# --- tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["uniform", "ca", "cka-ard", "evidence", "agop", "extra-trees"])
def test_single_precision(name: str) -> None:
    learner, single_table = LEARNERS[name], X.astype(np.float32)
    double = clone(learner).fit(single_table.astype(np.float64), Y)
    single = clone(learner).fit(single_table, Y)
    assert single.transform(single_table).dtype == np.float32
    assert_allclose(single.alignment_, double.alignment_, rtol=1e-9)
    assert_allclose(single.weights_, double.weights_, atol=1e-9)
    gram = double.transform(X)
    assert_allclose(single.transform(single_table), gram, atol=1e-5 * np.abs(gram).max())


@pytest.mark.parametrize(
    "learner", [made for made in LEARNERS.values() if get_tags(made).input_tags.sparse]
)
def test_sparse_tables(learner: BaseEstimator) -> None:
    table = np.maximum(X, 0.0)
    dense = clone(learner).fit(table, Y)
    sparse = clone(learner).fit(sp.coo_array(table), Y)
    assert_allclose(sparse.alignment_, dense.alignment_, rtol=1e-6)
    gram = dense.transform(table)
    assert_allclose(sparse.transform(sp.csc_matrix(table)), gram, atol=1e-4 * np.abs(gram).max())
    assert sp.issparse(sparse.X_fit_)


def frame(library: str, X: np.ndarray, names: list[str]) -> Any:
    module = pytest.importorskip(library)
    return module.DataFrame({name: X[:, k] for k, name in enumerate(names)})


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("make", [AlignmentMaximization, ContinuousAlignment])
def test_columns_by_name(library: str, make: Any) -> None:
    table = frame(library, X, NAMES)
    named = make([OnColumns(Gaussian(2.0), ["dose", "age"]), OnColumns(Linear(), "bmi")])
    placed = make([OnColumns(Gaussian(2.0), [2, 0]), OnColumns(Linear(), [1])]).fit(X, Y)
    learner = named.fit(table, Y)
    assert list(learner.feature_names_in_) == NAMES
    assert_allclose(learner.alignment_, placed.alignment_, rtol=1e-9)
    assert_allclose(learner.transform(table), placed.transform(X), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        learner.transform(frame(library, X, NAMES[::-1]))


def test_columns_missing_at_prediction() -> None:
    table = frame("pandas", X, NAMES)
    learner = UniformCombination([OnColumns(Gaussian(), ["age", "noise"])])
    fitted, model = clone(learner).fit(table, Y), TwoStageClassifier(learner, C=1.0).fit(table, Y)
    for answer in (fitted.transform, model.predict):
        with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- noise"):
            answer(table[NAMES[:3]])
        with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- extra"):
            answer(table.assign(extra=1.0))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library: str) -> None:
    table = frame(library, X, NAMES)
    plain = UniformCombination().fit(table, Y).transform(table)
    framed = UniformCombination().set_output(transform=library).fit(table, Y)
    result = framed.transform(table)
    assert type(result).__module__.startswith(library)
    names = [f"uniformcombination{k}" for k in range(60)]
    assert list(result.columns) == names == list(framed.get_feature_names_out())
    assert_allclose(np.asarray(result), plain, rtol=1e-12)


def nearly_equal(n: int) -> np.ndarray:
    """Numbers of which many, or two, are nearly equal."""
    rng = np.random.default_rng(0)
    if n == 300:
        return np.round(rng.normal(size=(n, 1))) + 1e-5 * rng.normal(size=(n, 1))
    table = rng.normal(size=(n, 5))
    table[1] = table[0] + 1e-8
    return table


@pytest.mark.parametrize(("kernels", "n"), [(Dirichlet(), 300), (None, 3000)])
def test_nearly_equal_samples_cost_little_memory(kernels: Any, n: int) -> None:
    """Neither sums of a Dirichlet kernel nor counts of distances grow with their closeness."""
    table = nearly_equal(n)
    tracemalloc.start()
    try:
        with sklearn.config_context(working_memory=16):
            ContinuousAlignment(kernels).fit(table, np.sin(table[:, 0]))
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
