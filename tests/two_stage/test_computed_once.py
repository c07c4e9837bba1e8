"""What a default fit computes of all samples: each thing once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.utils import validation

from mercer import TwoStageRegressor, UniformCombination
from mercer._gram import dense, factors
from mercer._solvers import ridge

N = 400


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts of Gram matrices, factorizations and fits of learners of all samples."""
    found = {"gram": 0, "factor": 0, "fit": 0}

    def counted(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *args: Any, **kwargs: Any) -> Any:
            result = function(first, *args, **kwargs)
            size = result if kind == "gram" else first
            found[kind] += kind == "fit" or len(size) == N
            return result

        return call

    for module in ("mercer._gram.dense", "mercer._gram.tiles", "mercer._model_selection.held_out"):
        monkeypatch.setattr(f"{module}.assembled", counted("gram", dense.assembled))
    for name in ("definite_factor", "symmetric_eigen"):
        monkeypatch.setattr(ridge, name, counted("factor", getattr(factors, name)))
    shifted = UniformCombination._rows_less_offset
    monkeypatch.setattr(UniformCombination, "_rows_less_offset", counted("gram", shifted))
    monkeypatch.setattr(UniformCombination, "fit", counted("fit", UniformCombination.fit))
    return found


def test_a_default_fit_computes_one_gram_matrix_and_one_factor(calls: dict[str, int]) -> None:
    X, y = make_friedman1(N, noise=1.0, random_state=0)
    model = TwoStageRegressor().fit(X, y)
    assert calls == {"gram": 1, "factor": 1, "fit": 0}
    assert np.shape(model.cv_residuals_) == (N,)


def test_other_fits_are_counted(calls: dict[str, int]) -> None:
    X, y = make_friedman1(N, noise=1.0, random_state=0)
    learner = UniformCombination([*UniformCombination().fit(X[:50], y[:50]).kernels_[8:9]])
    calls.update(fit=0)
    TwoStageRegressor(learner, alpha=0.1).fit(X, y)
    assert calls["gram"] >= 1
    assert calls["fit"] == calls["factor"] == 1


def test_the_table_is_validated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_friedman1(N, noise=1.0, random_state=0)
    finite: list[tuple[int, ...]] = []
    check = validation._assert_all_finite

    def counted(values: Any, *args: Any, **kwargs: Any) -> None:
        finite.append(np.shape(values))
        check(values, *args, **kwargs)

    monkeypatch.setattr(validation, "_assert_all_finite", counted)
    TwoStageRegressor().fit(X, y)
    # Copies of rows are found in an array that is validated for it.
    assert finite.count(X.shape) <= 3
