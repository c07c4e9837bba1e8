"""Functions of few centers: their centers, their coefficients, and what they keep of rows."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from deployment_cases import (
    CLASSIFIERS,
    REGRESSORS,
    TREES_OF,
    N,
    fitted,
    responses,
    rows,
    several_labels,
    tree_stack,
)
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelStackingRegressor, TwoStageRegressor, UniformCombination, compress
from mercer._files.deployment import few_centers
from mercer._files.deployment.few_centers import _means_of_clusters, with_few_centers
from mercer.kernels import Gaussian

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

X, NEW = rows()[:N], rows()[N:]
MANY = rows(800, seed=5)


def arrays_in(found: Any, seen: set[int] | None = None) -> list[np.ndarray]:
    """All arrays that an object holds."""
    seen = set() if seen is None else seen
    if id(found) in seen or isinstance(found, type):
        return []
    seen.add(id(found))
    if sp.issparse(found):
        return [found.toarray()]
    if isinstance(found, np.ndarray) and found.dtype != object:
        return [found]
    parts = found if isinstance(found, list | tuple | set | np.ndarray) else ()
    parts = list(found.values()) if isinstance(found, dict) else list(parts)
    parts += list(getattr(found, "__dict__", {}).values())
    return [array for part in parts for array in arrays_in(part, seen)]


def small_function(table: np.ndarray = X, n_centers: int = 12) -> tuple[Any, np.ndarray]:
    """The two-stage regressor's function with few centers, and its values at left-out rows."""
    function = fitted("regression", "two-stage").kernel_expansion()
    found, left_out, _ = with_few_centers(function, {"given": table}, function(table), n_centers)
    return found, left_out


class TestPredictions:
    @pytest.mark.parametrize("name", REGRESSORS)
    def test_few_centers_predict_nearly_the_same(self, name: str) -> None:
        model = fitted("regression", name)
        small = compress(model, MANY, n_components=80)
        assert np.corrcoef(small.predict(NEW), model.predict(NEW))[0, 1] > 0.99
        assert len(small.rows_per_center_) <= 80

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_few_classes_change(self, name: str) -> None:
        # Votes of the machines of a stack jump where their decisions change.
        task = "two classes" if name == "stacking" else "three classes"
        model, new = fitted(task, name), rows(800, seed=6)
        small = compress(model, MANY, n_components=80)
        assert np.mean(small.predict(new) != model.predict(new)) < 0.06

    def test_several_labels(self) -> None:
        model = several_labels()
        small = compress(model, MANY, n_components=80)
        assert small.predict(NEW).shape == (N, 3)
        assert np.mean(small.predict(NEW) != model.predict(NEW)) < 0.05
        assert_allclose(small.predict_proba(NEW), model.predict_proba(NEW), atol=0.2)

    def test_several_responses_keep_their_shape(self) -> None:
        Y = np.column_stack([responses(X), X[:, 0]])
        learner = UniformCombination([Gaussian(2.0)])
        for targets in (Y, Y[:, :1]):
            model = TwoStageRegressor(learner, alpha=[0.1]).fit(X, targets)
            expected = model.predict(NEW)
            found = compress(model, MANY, n_components=200).predict(NEW)
            assert_allclose(found, expected, atol=0.05 * np.std(expected))

    def test_boosted_trees_are_kept_exactly(self) -> None:
        model = tree_stack()
        function = model.kernel_expansion()
        views = function.views(MANY)
        small, _, _ = with_few_centers(function, views, function.of_views(views), 80)
        kept, own = (
            sum(term(views[term.view]) for term in f.terms if not hasattr(term, "centers"))
            for f in (small, function)
        )
        assert np.std(kept) > 0.0
        assert_allclose(kept, own, atol=1e-9)
        assert len(small.terms) == len(function.terms)
        error = small.of_views(views) - function.of_views(views)
        assert error.std() < 0.1 * function.of_views(views).std()

    @pytest.mark.parametrize("unit", [1e-200, 1e200])
    def test_the_unit_of_responses_does_not_matter(self, unit: float) -> None:
        learner = UniformCombination([Gaussian(2.0)])
        plain, scaled = (
            compress(
                TwoStageRegressor(learner, alpha=0.1).fit(X, size * responses(X)), NEW, None, 9
            )
            for size in (1.0, unit)
        )
        assert_allclose(scaled.predict(X) / unit, plain.predict(X), atol=1e-9)
        assert_allclose(scaled.loss_, plain.loss_, rtol=1e-6)

    def test_sparse_tables(self) -> None:
        table = sp.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0))
        model = KernelStackingRegressor([Gaussian(2.0)]).fit(table, responses(X))
        small = compress(model, table, n_components=30)
        assert np.corrcoef(small.predict(table), model.predict(table))[0, 1] > 0.95
        assert_array_equal(small.predict(table.toarray()), small.predict(table))

    def test_kernels_of_unknown_relevance(self) -> None:
        def own(A: np.ndarray, B: np.ndarray) -> np.ndarray:
            return np.asarray(np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2) / 4.0))

        model = TwoStageRegressor(UniformCombination([own]), alpha=0.1).fit(X, responses(X))
        small = compress(model, MANY, n_components=80)
        assert np.corrcoef(small.predict(NEW), model.predict(NEW))[0, 1] > 0.99


class TestWhatIsLeftOfTheRows:
    @pytest.mark.parametrize("name", ["stacking", "two-stage", "Bayesian", "trees"])
    def test_no_array_holds_a_training_row(self, name: str) -> None:
        model = tree_stack() if name == "trees" else fitted("regression", name)
        table = TREES_OF if name == "trees" else X
        small = compress(model, table, n_components=20)
        forms = [table, *model.kernel_expansion().views(table).values()]
        n_compared = 0
        for array in arrays_in(vars(small)):
            if array.ndim != 2 or array.shape[1] != X.shape[1]:
                continue
            for form in forms:
                distances = np.abs(array[:, None] - form[None]).max(axis=2)
                assert distances.min() > 1e-4
                n_compared += 1
        assert n_compared

    def test_every_center_is_the_mean_of_several_rows(self) -> None:
        small = compress(fitted("regression", "two-stage"), X, n_components=20)
        centers = small.kernel_expansion().terms[0].centers
        counts = small.rows_per_center_
        assert len(centers) == len(counts)
        assert counts.min() >= 2
        assert counts.sum() <= N

    def test_relevant_columns_tell_clusters_apart(self) -> None:
        table = np.random.default_rng(0).normal(size=(300, 2))
        kernel = Gaussian(np.array([0.5, 1e4]))
        found, n_rows = _means_of_clusters({"given": table}, [("given", kernel)], 10)
        spreads = np.sqrt(n_rows @ (found["given"] - table.mean(axis=0)) ** 2 / 300)
        assert spreads[0] > 0.95 * table[:, 0].std()
        assert spreads[1] < 0.4 * table[:, 1].std()


class TestCoefficients:
    @pytest.mark.parametrize("penalty", [1e-12, 1e-3])
    def test_coefficients_minimize_the_penalized_squares(
        self, penalty: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No change of coefficients that sum to zero, or of the constant, lowers the objective."""
        monkeypatch.setattr(few_centers, "_PENALTIES", np.array([penalty]))
        found, _ = small_function()
        C, kernel = found.terms[0].centers, found.terms[0].kernel
        gram = kernel(C)
        H = np.eye(len(C)) - 1.0 / len(C)
        unit = np.trace(H @ gram @ H) / len(C)
        K = kernel(X, C)
        target = fitted("regression", "two-stage").predict(X)

        def objective(c: np.ndarray, b: float) -> float:
            squares = np.sum((target - K @ c - b) ** 2)
            return float(squares + penalty * len(X) * unit * c @ gram @ c)

        c, b = found.terms[0].coefficients[:, 0], float(found.intercept[0])
        least, rng = objective(c, b), np.random.default_rng(0)
        assert abs(c.sum()) < 1e-8 * np.abs(c).sum()
        for size in (1e-3, 1e-1, 1.0):
            change = H @ rng.normal(size=len(C)) * size * np.abs(c).mean()
            assert objective(c + change, b) > least
            assert objective(c, b + size * 0.1) > least

    @pytest.mark.parametrize("penalty", [1e-9, 1e-3])
    def test_left_out_values_are_those_of_fits_without_the_row(
        self, penalty: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        function = fitted("regression", "two-stage").kernel_expansion()
        values = function(NEW)
        found, _ = small_function(NEW)
        centers = {"given": found.terms[0].centers}, np.full(12, 2)
        monkeypatch.setattr(few_centers, "_means_of_clusters", lambda *_: centers)
        monkeypatch.setattr(few_centers, "_PENALTIES", np.array([penalty]))
        _, left_out, _ = with_few_centers(function, {"given": NEW}, values, 12)
        monkeypatch.setattr(few_centers, "_PENALTIES", np.array([penalty * N / (N - 1)]))
        for row in range(0, N, 7):
            others = np.delete(NEW, row, axis=0), np.delete(values, row, axis=0)
            without, _, _ = with_few_centers(function, {"given": others[0]}, others[1], 12)
            assert_allclose(left_out[row], without(NEW[[row]])[0], rtol=1e-6)

    def test_rows_that_no_other_knows_choose_no_penalty(self) -> None:
        """Features of which each row is alone in one fit all rows and predict none."""
        Z, values = np.eye(20), np.random.default_rng(0).normal(size=(20, 1))
        spread = values.var()
        _, _, left_out = few_centers._ridge(Z, values)
        assert np.mean((left_out - values) ** 2) > 0.5 * spread
