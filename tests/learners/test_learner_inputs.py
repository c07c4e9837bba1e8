"""Learners on data frames, sparse tables, single precision, stacks; in pipelines, searches."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from learner_cases import FINITE, LEARNERS, problem
from numpy.testing import assert_allclose, assert_array_equal
from reference import centered_alignment, gaussian, target_kernel
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_selector
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer.kernels import Gaussian, Linear, OnColumns, Precomputed, WeightedSum

every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
NAMES = ["age", "bmi", "dose", "noise"]


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


@every_learner
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.coo_array])
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


@every_learner
def test_integers_and_lists(learner: BaseEstimator) -> None:
    X, y = problem("binary")
    X = np.round(10 * X).astype(int)
    here = clone(learner).fit(X, y)
    there = clone(learner).fit(X.tolist(), y.tolist())
    assert_allclose(there.transform(X.tolist()), here.transform(X.astype(float)), rtol=1e-12)


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


def test_columns_by_selector() -> None:
    pd = pytest.importorskip("pandas")
    X, y = problem("binary")
    table = pd.DataFrame(X, columns=NAMES).assign(count=np.round(X[:, 0]).astype(int))
    numbers = make_column_selector(dtype_include="int")
    learner = UniformCombination([OnColumns(Gaussian(), numbers)]).fit(table, y)
    assert learner.kernel_.kernels[0].columns == [4]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@every_learner
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


# --- one kernel a feature ---------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_thousands_of_rank_one_kernels(container: Any) -> None:
    """2000 samples, 4000 features: one Gram matrix is 32 MB, all of them 128 GB."""
    n, p = 2000, 4000
    rng = np.random.default_rng(0)
    X = sp.random_array((n, p), density=0.01, rng=rng, format="csr")
    y = np.sign(np.asarray(X[:, :50].sum(axis=1)).ravel() - 0.25)
    dense = X.toarray()
    table = container(dense)
    learner = IndependentAlignment([Linear(per_feature=True)], normalize="trace")
    tracemalloc.start()
    try:
        learner.fit(table, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.8e9
    centered = dense - dense.mean(axis=0)
    traces = (centered**2).sum(axis=0)
    a = (centered.T @ (y - y.mean())) ** 2
    expected = np.divide(a, traces**2, out=np.zeros(p), where=traces > 1e-12)
    assert_allclose(learner.weights_, expected / expected.sum(), rtol=1e-7, atol=1e-15)
    assert learner.weights_.shape == (p,)
    weights = learner.weights_ / learner.scale_
    assert_allclose(learner.transform(table[:3]), (dense[:3] * weights) @ dense.T, atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_feature_constant_up_to_rounding_has_no_weight(container: Any) -> None:
    X, y = problem("binary")
    table = container(np.column_stack([X, np.full(len(X), 0.1)]))
    for learner in (
        UniformCombination([Linear(per_feature=True)], normalize="trace"),
        IndependentAlignment([Linear(per_feature=True)], normalize="trace"),
        IndependentAlignment([Linear(per_feature=True)]),
        AlignmentMaximization([Linear(per_feature=True)]),
    ):
        assert learner.fit(table, y).weights_[-1] < 1e-9


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_a_feature_does_not_matter_to_its_kernel(factor: float) -> None:
    X, y = problem("binary")
    here = AlignmentMaximization([Linear(per_feature=True)]).fit(X, y)
    scale = np.array([factor, 1.0, 1.0, 1.0 / factor])
    there = clone(here).fit(X * scale, y)
    rescaled = there.weights_ * scale**2
    assert_allclose(rescaled / rescaled.sum(), here.weights_, atol=1e-9)


# --- stacks -----------------------------------------------------------------------------------

WIDTHS = (0.5, 1.0, 4.0)


def stack(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    return np.stack([gaussian(X, s, Z) for s in WIDTHS], axis=-1)


@pytest.mark.parametrize("name", ["uniform-trace", "align", "align-trace", "alignf"])
def test_stacks_are_learned_from_as_their_kernels_are(name: str) -> None:
    X, y = problem("three classes")
    Z = np.random.default_rng(3).normal(size=(7, 4))
    direct = clone(FINITE[name]).set_params(kernels=[Gaussian(s) for s in WIDTHS]).fit(X, y)
    learner = clone(direct).set_params(kernels="precomputed")
    for layout in (stack(X), np.moveaxis(stack(X), -1, 0), list(np.moveaxis(stack(X), -1, 0))):
        learner.fit(layout, y)
        assert_allclose(learner.weights_, direct.weights_, atol=1e-9)
        assert_allclose(learner.alignment_, direct.alignment_, rtol=1e-9)
        assert learner.n_features_in_ == 60
        assert learner.X_fit_ is None
    gram = direct.transform(Z)
    rows = stack(Z, X)
    for layout in (rows, np.moveaxis(rows, -1, 0), list(np.moveaxis(rows, -1, 0))):
        assert_allclose(learner.transform(layout), gram, atol=1e-8)


def test_kernels_first_also_for_the_training_samples() -> None:
    X, y = problem("binary")
    first = np.moveaxis(stack(X), -1, 0)
    learner = AlignmentMaximization("precomputed").fit(first, y)
    expected = np.tensordot(learner.weights_ / learner.scale_, first, axes=1)
    assert_allclose(learner.transform(first), expected, atol=1e-12)
    assert_allclose(learner.fit_transform(first, y), expected, atol=1e-12)


def test_one_matrix_is_a_stack_of_one() -> None:
    X, y = problem("binary")
    learner = UniformCombination("precomputed").fit(gaussian(X, 1.0), y)
    assert_array_equal(learner.weights_, [1.0])
    rows = gaussian(X[:3], 1.0, X)
    assert_allclose(learner.transform(rows), rows / learner.scale_)


def test_stacks_of_single_precision() -> None:
    X, y = problem("binary")
    learner = AlignmentMaximization("precomputed").fit(stack(X).astype(np.float32), y)
    double = clone(learner).fit(stack(X).astype(np.float32).astype(np.float64), y)
    assert_allclose(learner.weights_, double.weights_, rtol=1e-9, atol=1e-12)
    assert_allclose(learner.alignment_, double.alignment_, rtol=1e-12)


def test_a_learned_stack_names_its_kernels() -> None:
    X, y = problem("binary")
    kernel = UniformCombination("precomputed").fit(stack(X), y).kernel_
    assert isinstance(kernel, WeightedSum)
    assert list(kernel.kernels) == [Precomputed(0), Precomputed(1), Precomputed(2)]


def test_pairwise_tags_slice_stacks_in_cross_validation() -> None:
    X, y = problem("binary")
    model = make_pipeline(AlignmentMaximization("precomputed"), SVC(kernel="precomputed"))
    assert get_tags(model).input_tags.pairwise
    assert not get_tags(AlignmentMaximization()).input_tags.pairwise
    cv = StratifiedKFold(3)
    scores = cross_val_score(model, stack(X), y, cv=cv)
    for (train, test), score in zip(cv.split(X, y), scores, strict=True):
        fitted = clone(model).fit(stack(X[train]), y[train])
        assert fitted.score(stack(X[test], X[train]), y[test]) == score
    search = GridSearchCV(model, {"svc__C": [0.1, 10.0]}, cv=cv).fit(stack(X), y)
    assert search.predict(stack(X)).shape == (60,)


# --- with scikit-learn ------------------------------------------------------------------------


@every_learner
def test_pipeline_into_a_support_vector_machine(learner: BaseEstimator) -> None:
    X, y = problem("strings", 120)
    model = make_pipeline(StandardScaler(), clone(learner), SVC(kernel="precomputed", C=10.0))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.6
    fitted = model.fit(X, y)
    assert fitted.predict(X[:5]).shape == (5,)


@pytest.mark.parametrize("name", ["align", "alignf", "ca", "ca-nd", "cka", "ka"])
def test_the_learned_kernel_serves_as_a_callable(name: str) -> None:
    X, y = problem("binary")
    learner = clone(LEARNERS[name]).fit(X, y)
    called = SVC(kernel=learner.kernel_, C=10.0).fit(X, y)
    given = SVC(kernel="precomputed", C=10.0).fit(learner.transform(X), y)
    Z = np.random.default_rng(4).normal(size=(30, 4))
    expected = given.decision_function(learner.transform(Z))
    assert_allclose(called.decision_function(Z), expected, atol=1e-2)


def test_grid_search_over_a_learner() -> None:
    X, y = problem("binary")
    model = make_pipeline(ContinuousAlignment(), SVC(kernel="precomputed"))
    grid = {
        "continuousalignment__step": ["corrective", "stagewise"],
        "continuousalignment__family": [Gaussian(), "laplacian"],
    }
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.6


def test_nested_parameters_reach_the_kernel() -> None:
    learner = KernelOptimization(Gaussian(bounds=(0.1, 0.2)))
    learner.set_params(kernel__bounds=(3.0, 4.0))
    X, y = problem("binary")
    assert 3.0 <= learner.fit(X, y).kernels_[0].bandwidth <= 4.0


def test_little_working_memory_learns_the_same() -> None:
    X, y = problem("binary", 420)
    for name in ("alignf", "ca", "cka"):
        learner = clone(LEARNERS[name]).fit(X, y)
        with sklearn.config_context(working_memory=0.5):
            again = clone(learner).fit(X, y)
        assert_allclose(again.kernel_(X), learner.kernel_(X), atol=1e-6)


def test_alignment_on_other_samples() -> None:
    """What the documentation of `kernel_` promises: a function of any two tables."""
    X, y = problem("binary", 200)
    learner = ContinuousAlignment().fit(X[:100], y[:100])
    assert centered_alignment(learner.kernel_(X[100:]), target_kernel(y[100:])) > 0.15
