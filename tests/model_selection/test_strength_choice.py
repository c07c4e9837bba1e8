"""Strengths of penalties of widths that the alignment with held-out samples chooses."""

from __future__ import annotations

import numpy as np

from mercer import ContinuousAlignment
from mercer._model_selection.penalty_choice import PENALTIES
from mercer.kernels import Gaussian


def chosen_strength(X: np.ndarray, y: np.ndarray) -> float:
    learner = ContinuousAlignment(
        Gaussian(ard=True), width_penalty="auto", width_penalty_on="widths", random_state=0
    )
    return float(learner.fit(X, y).selected_params()["width_penalty"])


def test_the_largest_of_equally_good_penalties_of_widths_is_chosen() -> None:
    """Where all features matter alike, common widths are best, and no penalty is too large."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (np.square(X).sum(axis=1) > 2.0).astype(int)
    assert chosen_strength(X, y) == PENALTIES[-1]


def test_penalties_of_widths_are_chosen_where_a_class_has_one_sample() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert chosen_strength(X, np.r_[np.zeros(19, dtype=int), 1]) in PENALTIES
