"""Updates of fits on features by further rows, beside fits of the same kernels to all rows."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mercer
from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._estimators.stacking import default_estimators
from mercer._nystroem import second_stage
from mercer.kernels import Gaussian, Laplacian

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

N = 80
RNG = np.random.default_rng(0)
X = RNG.normal(size=(140, 3))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=140)
LABELS = np.array(["a", "b", "c"])[np.searchsorted([-0.4, 0.5], Y)]
OLD, NEW = slice(None, N), slice(N, None)
FRESH = RNG.normal(size=(30, 3))

KERNEL = UniformCombination([Gaussian(2.0)])
FEATURES: Any = {"approximation": "nystroem", "n_components": 25}
CANDIDATES = [Gaussian(2.0), Laplacian(3.0, norm=1.0)]


def prepared(model: Any, X: Any, y: Any) -> Any:
    """A model that was fitted to rows and takes further ones."""
    return clone(model).fit(X, y).prepare_updates(X, y)


def weights_of(parts: list[slice]) -> tuple[np.ndarray, Any, Any]:
    """Weights of all rows, ones outside of the parts, and what a fit and an update are given."""
    found = np.ones(140)
    for part in parts:
        found[part] += 0.5 * (-1.0) ** np.arange(len(found[part]))
    old, new = (found[part] if part in parts else None for part in (OLD, NEW))
    return found, old, new


WEIGHTED = pytest.mark.parametrize(
    "parts", [[], [OLD], [NEW], [OLD, NEW]], ids=["none", "fit", "update", "both"]
)


class TestFeatures:
    @pytest.mark.parametrize("task", ["regression", "classification"])
    @WEIGHTED
    def test_sums_are_added(self, task: str, parts: list[slice]) -> None:
        every, of_old, of_new = weights_of(parts)
        kind = TwoStageRegressor if task == "regression" else TwoStageClassifier
        y = Y if task == "regression" else LABELS
        settings = {"approximation": "nystroem", "n_components": 25}
        model = (
            kind(KERNEL, alpha=[0.1], **settings)
            if task == "regression"
            else kind(KERNEL, **settings)
        )
        model.fit(X[OLD], y[OLD], of_old)
        old = model.predictor_
        model.prepare_updates(X[OLD], y[OLD], of_old).update(X[NEW], y[NEW], of_new)
        new = model.predictor_
        # Normal equations of centered kernel values at the same centers.
        features = mercer._nystroem.features.nystroem_features(
            old.columns.kernel, old.columns.centers
        )
        Z = features.transform(X)
        targets = old.encoding.encode(y)
        mean, of_targets = (np.average(values, axis=0, weights=every) for values in (Z, targets))
        Zc, weighted = Z - mean, every[:, None] * (Z - mean)
        system = weighted.T @ Zc + old.choice.alpha * np.eye(Z.shape[1])
        w = np.linalg.solve(system, weighted.T @ (targets - of_targets))
        expected = of_targets + (features.transform(FRESH) - mean) @ w
        assert_allclose(new.values(FRESH), expected, atol=1e-8)
        assert new.calibration is old.calibration

    def test_stacks_with_trees(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(default_estimators, "_FEWEST_RESPONSES", 200)
        rng = np.random.default_rng(1)
        table = rng.normal(size=(400, 3))
        y = np.sign(table[:, 0] - 0.2) * np.where(table[:, 1] > -0.3, 1.0, 2.0)
        y += 0.1 * rng.normal(size=400)
        settings = {"n_components": 40, "max_samples": 60}
        model = KernelStackingRegressor(approximation="nystroem", **settings)
        model.fit(table[:300], y[:300])
        assert None in model.kernels_
        with pytest.raises(ValueError, match="call prepare_updates with them first"):
            model.update(table[300:], y[300:])
        with pytest.raises(ValueError, match="was not fitted to these rows"):
            deepcopy(model).prepare_updates(table[:150], -y[:150])
        before = model.predict(table)
        model.prepare_updates(table[:300], y[:300])
        assert_allclose(model.predict(table), before)
        halves = deepcopy(model)
        model.update(table[300:], y[300:])
        for some in (slice(300, 330), slice(330, None)):
            halves.update(table[some], y[some])
        assert_allclose(halves.predict(table), model.predict(table), atol=1e-7)
        assert np.abs(model.predict(table) - before).max() > 1e-6

    def test_many_rows_take_no_memory_of_rows(self) -> None:
        rng = np.random.default_rng(2)
        table = rng.normal(size=(200_000, 2)).astype(np.float32)
        y = table[:, 0] + rng.normal(size=200_000)
        settings = {"approximation": "nystroem", "n_components": 40}
        model = TwoStageRegressor(KERNEL, alpha=[0.1], **settings).fit(table[:500], y[:500])
        model.prepare_updates(table[:500], y[:500]).update(table, y)
        assert model.predictor_.columns.n_centers == 40
        assert model._sums.sums.count == 200_500
        assert np.mean((model.predict(table[:1000]) - table[:1000, 0]) ** 2) < 0.01


class TestBadInput:
    MODEL = TwoStageRegressor(KERNEL, alpha=0.1, **FEATURES)

    def test_columns_of_other_names(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        named = prepared(self.MODEL, frame, Y)
        with pytest.raises(ValueError, match="feature names should match"):
            named.update(frame[["b", "a", "c"]], Y)
        assert named.update(frame[:5], Y[:5]).predict(frame).shape == (140,)

    def test_new_classes(self) -> None:
        model = prepared(KernelStackingClassifier([Gaussian(2.0)], **FEATURES), X, LABELS)
        with pytest.raises(ValueError, match=r"previously unseen labels: \['d'\]\. Fit again"):
            model.update(X[:2], ["a", "d"])

    @pytest.mark.parametrize(
        ("rows", "y", "weights", "message"),
        [
            (X[:2, :2], Y[:2], None, "expecting 3 features"),
            (np.full((1, 3), np.nan), [0.0], None, "NaN"),
            (X[:2], np.ones((2, 2)), None, r"y must have shape \(2,\); got \(2, 2\)"),
            (X[:2], Y[:3], None, "inconsistent numbers of samples"),
            (X[:2], Y[:2], [0.0, 0.0], r"positive sample_weight|non-zero"),
            (X[:2], Y[:2], [1.0, -1.0], "Negative values"),
        ],
    )
    def test_rows_that_do_not_fit(self, rows: Any, y: Any, weights: Any, message: str) -> None:
        model = prepared(self.MODEL, X, Y)
        with pytest.raises(ValueError, match=message):
            model.update(rows, y, sample_weight=weights)

    def test_models_that_no_rows_are_added_to(self) -> None:
        with pytest.raises(NotFittedError):
            TwoStageRegressor().update(X, Y)
        for model, y in (
            (TwoStageRegressor(KERNEL, alpha=0.1), Y),
            (TwoStageClassifier(KERNEL, C=1.0), LABELS),
            (KernelStackingRegressor([Gaussian(2.0)]), Y),
        ):
            model.fit(X, y)
            for method in (model.update, model.prepare_updates):
                with pytest.raises(TypeError, match=f"This {type(model).__name__} does not depend"):
                    method(X, y)

    def test_all_rows_as_centers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(second_stage, "FEW_ROWS", 20)
        settings = {"approximation": "nystroem", "n_components": 1000}
        model = TwoStageRegressor(KERNEL, alpha=[0.1], **settings).fit(X[OLD], Y[OLD])
        assert model.predictor_.held_out is not None
        with pytest.raises(TypeError, match="fewer components than rows"):
            model.prepare_updates(X[OLD], Y[OLD])

    def test_weights_of_classes_that_depend_on_all_rows(self) -> None:
        model = KernelStackingClassifier([Gaussian(2.0)], class_weight="balanced", **FEATURES)
        model.fit(X, LABELS)
        with pytest.raises(ValueError, match="class_weight='balanced'"):
            model.update(X, LABELS)


def test_saved_models_are_updated(tmp_path: Path) -> None:
    pytest.importorskip("skops.io")
    models = [
        TwoStageRegressor(KERNEL, alpha=[0.1], **FEATURES).fit(X[OLD], Y[OLD]),
        KernelStackingRegressor(CANDIDATES, **FEATURES).fit(X[OLD], Y[OLD]),
        KernelStackingClassifier([Gaussian(2.0)], **FEATURES).fit(X[OLD], LABELS[OLD]),
    ]
    for model in models:
        y = LABELS if hasattr(model, "classes_") else Y
        mercer.save(model.prepare_updates(X[OLD], y[OLD]), tmp_path / "model.skops")
        loaded = mercer.load(tmp_path / "model.skops").update(X[NEW], y[NEW])
        assert_array_equal(loaded.predict(FRESH), model.update(X[NEW], y[NEW]).predict(FRESH))
