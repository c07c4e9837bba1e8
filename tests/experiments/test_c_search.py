"""Methods that several experiments compare: searches for C, for widths and for penalties."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs
from sklearn.svm import SVC
from sklearn.utils import Bunch

from experiments.c_search import C_GRID, Grams, best_trial, machines, trials
from experiments.compared_methods import (
    automatic,
    grid_search,
    validated_ard_alignment,
    width_search,
)
from experiments.folds import folds_of
from experiments.halves import N_FEATURES, SETS, SMALL_SETS, Halves, halves
from experiments.problems import Split, three_parts
from mercer import MKLClassifier
from mercer.datasets import make_ringnorm
from mercer.kernels import Gaussian


@pytest.fixture(scope="module")
def blobs() -> Split:
    X, y = make_blobs(180, centers=2, n_features=3, cluster_std=4.0, random_state=0)
    return three_parts(X, 2 * y - 1, (60, 60, 60), seed=0)


def test_machines_left_out_would_have_been_the_same(blobs: Split) -> None:
    """All of the grid, by scikit-learn alone, gives the same accuracies as the grid cut short."""
    grams = Grams.of(Gaussian(20.0), blobs)
    y = blobs.train[1]
    tried = list(machines(grams.train, y))
    full = [SVC(kernel="precomputed", C=C).fit(grams.train, y) for C in C_GRID]
    assert 0 < len(tried) <= len(full)
    for got, expected in zip(tried, full, strict=False):
        np.testing.assert_allclose(
            got.decision_function(grams.test), expected.decision_function(grams.test), atol=1e-8
        )
    for expected in full[len(tried) :]:
        last = tried[-1].decision_function(grams.test)
        np.testing.assert_allclose(expected.decision_function(grams.test), last, atol=1e-2)


def test_grams_are_centered_and_scaled_by_training_data(blobs: Split) -> None:
    kernel = Gaussian(5.0)
    X, rows = blobs.train[0], blobs.test[0]
    n = len(X)
    H = np.eye(n) - 1.0 / n
    scale = np.trace(H @ kernel(X) @ H) / n
    expected = (kernel(rows, X) - kernel(X).mean(axis=0)) @ H / scale
    grams = Grams.of(kernel, blobs)
    np.testing.assert_allclose(grams.test, expected, atol=1e-12)
    np.testing.assert_allclose(grams.train.trace(), n)


@pytest.fixture(scope="module")
def ringnorm() -> Split:
    return Split(*(make_ringnorm(40, n_features=3, random_state=seed) for seed in range(3)))


def test_trials_end_where_no_dual_variable_reaches_C(ringnorm: Split) -> None:
    found = trials(lambda C: MKLClassifier(C=C), ringnorm, 10.0 ** np.arange(-1, 9))
    largest = [np.abs(trial.model.dual_coef_).max() / trial.model.C for trial in found]
    assert len(found) < 10
    assert largest[-1] < 0.999
    assert min(largest[:-1]) >= 0.999
    assert best_trial(found).loss == min(trial.loss for trial in found)
    assert len(trials(lambda C: MKLClassifier(C=C), ringnorm, [1e7, 1e8], every=True)) == 2


def test_each_sample_is_tested_once() -> None:
    X = np.arange(23.0)[:, None]
    splits = folds_of(X, X.ravel(), 23, seed=1)
    tested = np.concatenate([split.test[1] for split in splits])
    assert_allclose(np.sort(tested), np.arange(23.0))
    for split in splits:
        parts = [split.train[1], split.valid[1], split.test[1]]
        assert_allclose(np.sort(np.concatenate(parts)), np.arange(23.0))


@pytest.mark.parametrize("name", SETS)
def test_sets_have_the_papers_numbers_of_features(data: Callable[[str], Bunch], name: str) -> None:
    expected = N_FEATURES[name]
    assert data(SETS[name]).data.shape[1] == (40 if name == "waveform" else expected)


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("name", SMALL_SETS)
def test_features_are_scaled_by_the_training_half(name: str) -> None:
    drawn = halves(name)(0)
    assert isinstance(drawn, Halves)
    (X, y), (other, labels) = drawn.train, drawn.test
    assert X.shape[1] == other.shape[1] == N_FEATURES[name]
    assert abs(len(y) - len(labels)) <= 1
    np.testing.assert_allclose([X.min(), X.max()], [0.0, 1.0], atol=1e-12)


@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_both_grid_searches_find_the_same(ringnorm: Split) -> None:
    search = grid_search(ringnorm)
    found = width_search(ringnorm)
    assert 0.0 <= found["error"] < 0.5
    for name, value in found.items():
        assert search[name] == pytest.approx(value)


def test_penalties_beyond_isotropic_kernels_change_nothing(ringnorm: Split) -> None:
    penalties = 10.0 ** np.arange(-2, 9, 2)
    found, every = (
        validated_ard_alignment(penalties, every=every)(ringnorm) for every in (False, True)
    )
    assert found["penalty"] in penalties
    assert every["penalty"] >= found["penalty"]
    assert found["error"] == pytest.approx(every["error"])


def test_the_automatic_kernel_is_the_same_with_either_C(ringnorm: Split) -> None:
    found = [automatic(validated=validated)(ringnorm) for validated in (False, True)]
    assert found[0]["kernels"] == found[1]["kernels"]
    assert all(0.0 <= each["error"] < 0.5 for each in found)
