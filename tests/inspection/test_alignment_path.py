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
