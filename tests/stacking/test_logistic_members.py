"""Logistic regressions as members of stacks: their left-out predictions, and the option `loss`."""

from pathlib import Path

import numpy as np
import pytest
from campaign import in_campaign
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import log_loss, roc_auc_score

import mercer
from mercer import KernelStackingClassifier
from mercer._data.encoded_targets import encode_target
from mercer._data.resampling import left_out_together
from mercer._estimators.stacking.logistic_members import LogisticSolver
from mercer._gram.dense import to_unit_scale
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Laplacian

X, Y = make_moons(120, noise=0.3, random_state=0)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
KERNELS = [Gaussian(1.0), Laplacian(2.0)]


def gram_of(table: np.ndarray) -> np.ndarray:
    return to_unit_scale(Gaussian("median").bind(table)(table))[0]


@pytest.mark.parametrize("name", ["two classes", "three classes", "groups"])
def test_left_out_deviations_are_those_of_refits(name: str) -> None:
    """The first class has a third of the rows of the others."""
    first = np.append(np.flatnonzero(Y == 0)[:20], np.flatnonzero(Y == 1)[:40])
    several = name == "three classes"
    table, y = (X_IRIS[32::3], Y_IRIS[32::3]) if several else (X[first], Y[first])
    n = len(y)
    groups = np.arange(n) // 3 if name == "groups" else None
    together = left_out_together(n, groups)
    target = encode_target(y, classification=True, resampling=together)
    gram, solver = gram_of(table), LogisticSolver(0.5, slope=0.1)
    found = solver.left_out(gram, target)
    expected = np.empty_like(found)
    for part, _ in together.parts:
        rest = np.setdiff1d(np.arange(n), part)
        inside = encode_target(y[rest], classification=True)
        predictor = solver.fit(gram[np.ix_(rest, rest)], inside)
        expected[part] = predictor.deviations(gram[np.ix_(part, rest)])
    assert_allclose(found, expected, atol=0.04 * np.abs(expected).max())


def test_a_kernel_that_knows_nothing_deviates_from_nothing() -> None:
    """The left-out mean must not tell the label, also in the error of its approximation."""
    for y in (Y, Y * (np.arange(len(Y)) % 7 == 0), np.arange(len(Y)) == 3, np.arange(len(Y)) % 3):
        target = encode_target(y, classification=True)
        found = LogisticSolver(1.0).left_out(np.zeros((len(y), len(y))), target)
        assert np.abs(found).max() < 1e-12


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernels_that_know_almost_nothing_do_not_tell_the_label(n_classes: int) -> None:
    found = []
    for seed in range(20):
        rng = np.random.default_rng([seed, n_classes])
        # The last class has 70 % of the rows.
        codes = np.clip(np.arange(50) % 10 - 4 + n_classes, 0, n_classes - 1)
        table, y = rng.normal(size=(50, 4)), rng.permutation(codes)
        target = encode_target(y, classification=True)
        deviations = LogisticSolver(1e4).left_out(gram_of(table), target)
        found.append(np.corrcoef(deviations[:, -1], target.values[:, -1])[0, 1])
    assert np.mean(found) < 3.0 * np.std(found, ddof=1) / np.sqrt(len(found))


def test_bounds_do_not_tell_the_label() -> None:
    """Of rows that are predicted at the bound, those of either label deviate by the same."""
    groups = np.repeat([0, 1, 2, 3], 20)
    y = (groups % 2 == 0).astype(int)
    y[[5, 25]] = 1 - y[[5, 25]]
    table = np.column_stack([groups, groups**2]).astype(float)
    target = encode_target(y, classification=True)
    found = LogisticSolver(1e-6).left_out(gram_of(table), target)[:, 1]
    assert_allclose(np.abs(found).max(), np.log(len(y) + 1.0))


@pytest.mark.parametrize("loss", ["log_loss", "all"])
def test_stacks_of_logistic_regressions(loss: str, tmp_path: Path) -> None:
    new, labels = make_moons(1000, noise=0.3, random_state=1)
    model = KernelStackingClassifier(KERNELS, loss=loss).fit(X, Y)
    names = [c.description for c in model.candidates_ if c.weight]
    logistic = [name for name in names if name.startswith("logistic regression on")]
    assert logistic
    kinds = ("logistic", "support")
    if loss == "log_loss":
        assert all(name.startswith(kinds) for name in names)
    assert log_loss(labels, model.predict_proba(new)) < 0.3
    assert log_loss(Y, model.loo_predictions_) < 0.35
    found = shapley_values(model, X[:3], X[5:25])
    odds = np.log(model.predict_proba(X[:3])[:, 1] / model.predict_proba(X[:3])[:, 0])
    assert_allclose(np.ravel(found.values.sum(axis=1) + found.base_value), odds, atol=1e-6)
    pytest.importorskip("skops")
    mercer.save(model, tmp_path / "model.skops")
    assert_allclose(mercer.load(tmp_path / "model.skops").predict_proba(X), model.predict_proba(X))


@pytest.mark.usefixtures("few_folds")
def test_several_classes_groups_and_scorers() -> None:
    groups = np.arange(150) // 2
    model = KernelStackingClassifier(KERNELS, loss="all", scoring="neg_log_loss")
    model.fit(X_IRIS, Y_IRIS, groups=groups)
    assert model.loo_score_ > -0.2
    assert model.score(X_IRIS, Y_IRIS) > 0.95


@pytest.mark.usefixtures("few_folds")
def test_kernels_of_learned_relevance_have_logistic_regressions() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(100, 4))
    y = (table[:, 0] * table[:, 1] > 0.0).astype(int)
    model = KernelStackingClassifier(loss="log_loss").fit(table, y)
    phrases = [c.description for c in model.candidates_]
    assert any(p.startswith("logistic") and "one width per feature" in p for p in phrases)
    assert log_loss(y, model.loo_predictions_) < 0.55


@pytest.mark.parametrize("loss", ["log_loss", "all"])
def test_noise_is_not_read_off_left_out_predictions(loss: str) -> None:
    """Kernels of learned relevance are nearly constant on noise."""
    found = []
    for seed in (3, 9, *in_campaign(12, 21, 33)):
        rng = np.random.default_rng([seed, 77])
        table, y = rng.normal(size=(50, 4)), rng.permutation(np.arange(50) < 15)
        model = KernelStackingClassifier(loss=loss).fit(table, y)
        found.append(roc_auc_score(y, model.loo_predictions_[:, 1]))
    assert np.mean(found) < 0.6


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match='loss must be one of "squared_error", "log_loss", "all"'):
        KernelStackingClassifier(loss="hinge").fit(X, Y)
    with pytest.raises(ValueError, match="needs an exact fit: pass approximation='exact'"):
        KernelStackingClassifier(loss="all", approximation="nystroem").fit(X, Y)
    with pytest.raises(ValueError, match="loss has no effect if samples have several labels"):
        KernelStackingClassifier(loss="all").fit(X, np.column_stack([Y, 1 - Y]))
