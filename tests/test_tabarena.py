"""The models of TabArena, on a stand-in of the interface that AutoGluon's models have."""

import importlib
import pickle
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_info


class AbstractModel:
    """What `autogluon.core.models.AbstractModel` calls of a subclass, in its order."""

    def __init__(
        self,
        path: str | None = None,
        name: str | None = None,
        problem_type: str | None = None,
        eval_metric: str | None = None,
        hyperparameters: dict[str, Any] | None = None,
    ) -> None:
        self.problem_type, self.model = problem_type, None
        self._given = dict(hyperparameters or {})
        self.params: dict[str, Any] = {}
        self.params_aux: dict[str, Any] = {}

    def _set_default_params(self) -> None:
        pass

    def _get_default_auxiliary_params(self) -> dict[str, Any]:
        return {"max_time_limit": None, "valid_raw_types": None}

    def _set_default_param_value(self, name: str, value: Any) -> None:
        self.params.setdefault(name, value)

    def _get_model_params(self) -> dict[str, Any]:
        return self.params.copy()

    def preprocess(self, X: Any, **kwargs: Any) -> Any:
        return X[self.features]

    def fit(self, X: Any, y: Any, **kwargs: Any) -> "AbstractModel":
        self.params_aux = self._get_default_auxiliary_params()
        self._set_default_params()
        self.params.update(self._given)
        kinds = {"b": "bool", "i": "int", "f": "float"}
        raw = {name: kinds.get(getattr(X[name].dtype, "kind", "O"), "object") for name in X}
        raw |= {name: "category" for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)}
        self.features = [n for n in X if raw[n] in self.params_aux["valid_raw_types"]]
        assert self.problem_type in type(self).supported_problem_types()  # type: ignore[attr-defined]
        settings = {"time_limit": 3600.0, "num_gpus": 0, "verbosity": 2, "X_val": None}
        out = self._fit(X=X, y=y, **settings, **kwargs)  # type: ignore[attr-defined]
        return self if out is None else out

    def predict_proba(self, X: Any) -> np.ndarray:
        model: Any = self.model
        X = self.preprocess(X)
        if self.problem_type == "regression":
            return np.asarray(model.predict(X), dtype=np.float32)
        found = model.predict_proba(X)
        return np.asarray(found[:, 1] if self.problem_type == "binary" else found, np.float32)


@pytest.fixture(scope="module")
def tabarena() -> Iterator[Any]:
    """The module, which inherits from the stand-in."""
    names = ["autogluon", "autogluon.core", "autogluon.core.models"]
    found = {name: ModuleType(name) for name in names}
    found[names[-1]].AbstractModel = AbstractModel  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        for name, module in found.items():
            patch.setitem(sys.modules, name, module)
        patch.delitem(sys.modules, "benchmarks.tabarena", raising=False)
        yield importlib.import_module("benchmarks.tabarena")
    sys.modules.pop("benchmarks.tabarena", None)


def table(n: int = 160, seed: int = 0) -> Any:
    """Numbers with gaps, whole numbers, truth values, categories, and a column of objects."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.05, np.nan, rng.normal(size=n)),
            "count": rng.integers(0, 5, n),
            "is_new": rng.random(n) < 0.5,
            "place": pd.Categorical(rng.choice(["here", "there", "far"], n)),
            "other": [object()] * n,
        }
    )
    y = frame["size"].fillna(1.0) + 0.5 * frame["count"] + (frame["place"] == "far")
    return frame, pd.Series(y.to_numpy(), name="target")


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize(
    ("problem", "name"), [("regression", "TwoStageModel"), ("multiclass", "KernelStackingModel")]
)
def test_models_fit_and_predict(tabarena: Any, name: str, problem: str) -> None:
    X, y = table()
    if problem != "regression":
        y = pd.Series(np.searchsorted(np.quantile(y, [0.5, 0.8]), y))
    before = [pool["num_threads"] for pool in threadpool_info()]
    model = getattr(tabarena, name)(path="p", name="n", problem_type=problem)
    assert model.fit(X=X, y=y, num_cpus=1) is model
    assert [pool["num_threads"] for pool in threadpool_info()] == before
    assert model.features == ["size", "count", "is_new", "place"]
    new, truth = table(seed=1)
    found = model.predict_proba(new)
    if problem == "regression":
        assert r2_score(truth, found) > 0.9
    else:
        assert found.shape == (160, 3)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(new), found)


def test_hyperparameters_and_weights_reach_the_estimator(tabarena: Any) -> None:
    X, y = table()
    X["other"] = X["size"]
    weights = np.where(np.arange(160) < 80, 1.0, 0.0)
    given = {"alpha": 0.5}
    model = tabarena.TwoStageModel(problem_type="regression", hyperparameters=given)
    model.fit(X=X, y=y, sample_weight=weights, num_cpus="auto")
    assert model.model[-1].alpha == 0.5
    assert model.model[-1].random_state == 0
    half = tabarena.TwoStageModel(problem_type="regression", hyperparameters=given)
    half.fit(X=X, y=y)
    assert np.abs(model.predict_proba(X) - half.predict_proba(X)).max() > 1e-3
