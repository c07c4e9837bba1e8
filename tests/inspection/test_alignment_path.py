"""The display of the alignment after each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import (
    ContinuousAlignment,
    ContinuousMKLClassifier,
    MKLClassifier,
)
from mercer.inspection import (
    AlignmentPathDisplay,
)
from mercer.kernels import Gaussian

plt = pytest.importorskip("matplotlib.pyplot")


def test_the_line_is_the_history(data: tuple[Any, Any]) -> None:
    learner = ContinuousAlignment().fit(*data)
    [line] = AlignmentPathDisplay.from_estimator(learner).ax_.lines
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(learner.history_) + 1))
    np.testing.assert_allclose(line.get_ydata(), [s.alignment for s in learner.history_])


def test_ticks_are_whole_steps() -> None:
    ticks = AlignmentPathDisplay([0.5]).plot().ax_.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))


def test_the_axis_starts_at_zero() -> None:
    display = AlignmentPathDisplay.from_alignments([0.80, 0.82])
    low, high = display.ax_.get_ylim()
    assert low == 0.0
    assert high > 0.82
    assert display.ax_.get_ylabel() == "Centered alignment (training)"


def test_negative_alignments_are_inside_the_axis() -> None:
    low, _ = AlignmentPathDisplay.from_alignments([-0.2, 0.3]).ax_.get_ylim()
    assert low == pytest.approx(-0.2)


def test_a_magnified_axis_says_so() -> None:
    display = AlignmentPathDisplay.from_alignments([0.80, 0.82], magnified=True)
    assert display.ax_.get_ylim()[0] > 0.7
    assert "magnified: the axis does not start at 0" in display.ax_.get_ylabel()


def test_a_second_path_on_the_same_axes_is_inside_them() -> None:
    first = AlignmentPathDisplay.from_alignments([0.1, 0.2])
    low, high = AlignmentPathDisplay.from_alignments([0.8, 0.9], ax=first.ax_).ax_.get_ylim()
    assert low == 0.0
    assert high > 0.9


@pytest.mark.parametrize(
    "model", [MKLClassifier([Gaussian(1.0), "linear"]), ContinuousMKLClassifier()]
)
def test_one_stage_estimators_have_no_alignment(data: tuple[Any, Any], model: Any) -> None:
    message = f"The steps of {type(model).__name__} have no alignment"
    with pytest.raises(ValueError, match=message):
        AlignmentPathDisplay.from_estimator(model.fit(*data))


@pytest.mark.parametrize("alignments", [[], [[0.1]]])
def test_invalid_alignments(alignments: list[Any]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        AlignmentPathDisplay(alignments)
