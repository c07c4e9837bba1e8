"""Estimators with kernel machines: training data, parameters, predictions, scikit-learn's tools."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from campaign import rotating
from learner_cases import problem
from numpy.testing import assert_allclose, assert_array_equal
from one_stage_cases import CLASSIFIERS, MAKERS, MAKERS_OF_ONE_BASE, SOLVERS, data_for, refused
from reference import gaussian
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from mercer import L1SVM, L2KRR, MKLClassifier, MKLRegressor
from mercer.kernels import Gaussian, Laplacian, Linear, OnColumns, Polynomial, Precomputed

KERNELS: list[Any] = [Gaussian(0.5), Gaussian(2.0), "linear", Polynomial(2), Laplacian(1.0)]
NAMES = ["age", "bmi", "dose", "noise"]
CHOSEN = ["l1-svm", "svm-2", "logistic-1", "squared-4", "krr-1", "krr-2", "svr-4/3", "l2-krr"]
MODELS: dict[str, BaseEstimator] = {
    name: clone(SOLVERS[name]).set_params(kernels=KERNELS) for name in CHOSEN
}
every_model = pytest.mark.parametrize("name", MODELS)


def data(name: str, n: int = 60) -> tuple[np.ndarray, Any]:
    return problem("strings" if name in CLASSIFIERS else "regression", n)


def values(model: Any, X: Any) -> np.ndarray:
    return getattr(model, "decision_function", model.predict)(X)


def new_samples() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(7, 4))


# --- tables -----------------------------------------------------------------------------------


@every_model
def test_single_precision_is_as_good_as_double(name: str) -> None:
    X, y = data(name)
    double = clone(MODELS[name]).fit(X.astype(np.float32).astype(np.float64), y)
    single = clone(MODELS[name]).fit(X.astype(np.float32), y)
    assert_allclose(single.objective_, double.objective_, rtol=1e-9)
    assert_allclose(single.weights_, double.weights_, atol=1e-6)
    Z = new_samples().astype(np.float32)
    found, expected = values(single, Z), values(double, Z.astype(np.float64))
    assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("name", "container"), rotating(MODELS, [sp.csr_array, sp.csc_matrix, sp.coo_array])
)
def test_sparse_features_are_those_of_dense_ones(name: str, container: Any) -> None:
    X, y = data(name)
    X, Z = np.maximum(X, 0.0), np.maximum(new_samples(), 0.0)
    dense = clone(MODELS[name]).set_params(tol=1e-6).fit(X, y)
    sparse = clone(MODELS[name]).set_params(tol=1e-6).fit(container(X), y)
    assert_allclose(sparse.objective_, dense.objective_, rtol=2e-6)
    expected = values(dense, Z)
    atol = 1e-2 * np.abs(expected).max()
    assert_allclose(values(sparse, container(Z)), expected, atol=atol)
    assert sp.issparse(sparse.X_fit_)
    assert get_tags(sparse).input_tags.sparse


def frame(library: str, X: np.ndarray, names: list[str]) -> Any:
    module = pytest.importorskip(library)
    return module.DataFrame({name: X[:, k] for k, name in enumerate(names)})


@pytest.mark.parametrize(("name", "library"), rotating(MODELS, ["pandas", "polars"]))
def test_columns_are_chosen_by_name(library: str, name: str) -> None:
    X, y = data(name)
    table, Z = frame(library, X, NAMES), new_samples()
    by_name = [OnColumns(Gaussian(2.0), ["dose", "age"]), OnColumns(Linear(), "bmi")]
    by_place = [OnColumns(Gaussian(2.0), [2, 0]), OnColumns(Linear(), [1])]
    named = clone(MODELS[name]).set_params(kernels=by_name).fit(table, y)
    placed = clone(MODELS[name]).set_params(kernels=by_place).fit(X, y)
    assert list(named.feature_names_in_) == NAMES
    assert not hasattr(placed, "feature_names_in_")
    assert_allclose(named.weights_, placed.weights_, rtol=1e-9)
    assert_allclose(values(named, frame(library, Z, NAMES)), values(placed, Z), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(frame(library, Z, NAMES[::-1]))


# --- targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in MODELS if n in CLASSIFIERS])
def test_labels_of_any_kind_are_predicted(name: str) -> None:
    X, codes = problem("three classes")
    for classes in (np.array(["b", "a", "c"]), np.array([7, -2, 0]), np.array([0.0, 2.0, 9.0])):
        model = clone(MODELS[name]).fit(X, classes[codes])
        assert_array_equal(model.classes_, np.unique(classes))
        assert set(model.predict(X)) <= set(classes)
        assert model.score(X, classes[codes]) > 0.6
        assert model.decision_function(X).shape == (60, 3)
    boolean = clone(MODELS[name]).fit(X, codes > 0)
    assert boolean.predict(X).dtype == bool


@pytest.mark.parametrize("name", [n for n in MODELS if n not in CLASSIFIERS])
def test_several_responses_share_a_kernel(name: str) -> None:
    X, Y = problem("two outputs")
    model = clone(MODELS[name]).fit(X, Y)
    assert model.predict(X).shape == (60, 2)
    assert model.intercept_.shape == (2,)
    assert model.score(X, Y) > 0.1
    assert get_tags(model).target_tags.multi_output
    column = clone(MODELS[name]).fit(X, Y[:, :1])
    flat = clone(MODELS[name]).fit(X, Y[:, 0])
    assert column.predict(X).shape == (60, 1)
    assert flat.predict(X).shape == (60,)
    assert_array_equal(column.predict(X)[:, 0], flat.predict(X))


# --- stacks -----------------------------------------------------------------------------------

WIDTHS = (0.5, 1.0, 4.0)


def stack(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    return np.stack([gaussian(X, s, Z) for s in WIDTHS], axis=-1)


@every_model
def test_stacks_give_the_results_of_their_kernels(name: str) -> None:
    X, y = data(name)
    Z = new_samples()
    model = clone(MODELS[name]).set_params(tol=1e-6)
    direct = clone(model).set_params(kernels=[Gaussian(s) for s in WIDTHS]).fit(X, y)
    expected, rows = values(direct, Z), stack(Z, X)
    for layout in (stack(X), np.moveaxis(stack(X), -1, 0), list(np.moveaxis(stack(X), -1, 0))):
        given = clone(model).set_params(kernels="precomputed").fit(layout, y)
        assert_allclose(given.objective_, direct.objective_, rtol=2e-6)
        assert given.X_fit_ is None
        assert given.n_features_in_ == 60
        assert list(given.kernel_.kernels) == [Precomputed(k) for k in range(3)]
        for new in (rows, np.moveaxis(rows, -1, 0), list(np.moveaxis(rows, -1, 0))):
            assert_allclose(values(given, new), expected, atol=5e-3 * np.abs(expected).max())
        assert_allclose(values(given, layout), values(given, stack(X)), rtol=1e-12)


def test_pairwise_tags_slice_stacks_in_cross_validation() -> None:
    X, y = problem("binary")
    model = MKLClassifier("precomputed")
    assert not get_tags(MKLClassifier()).input_tags.pairwise
    cv = StratifiedKFold(3)
    scores = cross_val_score(model, stack(X), y, cv=cv)
    for (train, test), score in zip(cv.split(X, y), scores, strict=True):
        fitted = clone(model).fit(stack(X[train]), y[train])
        assert fitted.score(stack(X[test], X[train]), y[test]) == score
    grid = {"C": [0.1, 10.0], "norm": [1, 2]}
    search = GridSearchCV(model, grid, cv=cv).fit(stack(X), y)
    assert search.predict(stack(X)).shape == (60,)
    piped = make_pipeline(MKLClassifier("precomputed"))
    assert_array_equal(cross_val_score(piped, stack(X), y, cv=cv), scores)


@every_model
def test_models_keep_features_of_their_own(name: str) -> None:
    X, y = data(name)
    model, before = clone(MODELS[name]).fit(X, y), X.copy()
    expected = values(model, before)
    X[:] = 0.0
    assert_array_equal(values(model, before), expected)


def grams() -> list[np.ndarray]:
    X, _ = problem("binary")
    return [gaussian(X, 1.0), X @ X.T]


@pytest.mark.parametrize("make", MAKERS_OF_ONE_BASE)
def test_stacks_that_are_no_gram_matrices_are_refused(make: Any) -> None:
    _, y = data_for(make())
    model = make("precomputed")
    refused(model, [grams()[0], -grams()[0]], y, "kernel 1 is not positive semi-definite")
    crooked = grams()
    crooked[1][3, 4] += 0.1
    refused(model, crooked, y, "kernel 1 is not symmetric")
    for bad in (np.nan, np.inf):
        broken = grams()
        broken[0][2, 5] = broken[0][5, 2] = bad
        refused(model, broken, y, "contains (NaN|infinity)")
    refused(model, np.stack(grams(), axis=-1)[:30], y[:30], "must be square")
    refused(model, np.ones((60, 60, 60)), y, "ambiguous")
    refused(model, np.ones(60), y, "must have shape")
    refused(model, [grams()[0], np.eye(3)], y, "differ in shape")
    refused(model, sp.csr_array(grams()[0]), y, "Sparse data was passed", TypeError)
    refused(model, np.stack(grams(), axis=-1), y[:-1], "inconsistent numbers of samples")
    fitted = model.fit(np.stack(grams(), axis=-1), y)
    rows = np.stack(grams(), axis=-1)[:5]
    with pytest.raises(ValueError, match=r"one column a fitted sample: got .*\(5, 50, 2\)"):
        fitted.predict(rows[:, :50])
    rows[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        fitted.predict(rows)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_stacks_of_constant_matrices_predict_one_value(make: Any, value: float) -> None:
    _, y = data_for(make())
    fitted = make("precomputed").fit(np.full((60, 60, 2), value), y)
    assert np.isfinite(fitted.weights_).all()
    assert len(np.unique(fitted.predict(np.full((2, 60, 2), value)))) == 1


# --- with scikit-learn ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["l1-svm", "logistic-1", "krr-1", "svr-4/3"])
def test_fitting_again_repeats_to_the_last_bit(name: str) -> None:
    X, y = data(name)
    found = []
    for threads in (2, 2, 1):
        with threadpool_limits(limits=threads):
            found.append(clone(MODELS[name]).fit(X, y))
    found.append(found[0].fit(X, y))
    for other in found[1:]:
        assert_array_equal(other.weights_, found[0].weights_)
        assert_array_equal(other.dual_coef_, found[0].dual_coef_)
        assert other.history_ == found[0].history_


def test_the_default_dictionary_has_twenty_kernels() -> None:
    X, y = problem("binary")
    for model in (MKLClassifier(), L1SVM(), MKLRegressor(), L2KRR()):
        fitted = model.fit(X, y if isinstance(model, MKLClassifier) else X[:, 0])
        assert fitted.weights_.shape == (20,)
        assert fitted.score(X, y if isinstance(model, MKLClassifier) else X[:, 0]) > 0.8
