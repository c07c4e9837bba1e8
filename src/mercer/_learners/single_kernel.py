"""The description of a single learned kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._gram.moments import moments
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._history import Step
from mercer._kernel_learner import LearnedKernel
from mercer._targets import Target
from mercer.kernels import Kernel


@serial_algebra()
def single_kernel(
    samples: Samples, target: Target, kernel: Kernel, objectives: Sequence[float]
) -> LearnedKernel:
    """Describe a learned kernel that is no sum, and the iterations that led to it.

    Parameters
    ----------
    samples : Samples
    target : Target
    kernel : Kernel
        Bound to the samples.
    objectives : sequence of float
        The objective after each iteration; the history has a step for each of them.

    Returns
    -------
    LearnedKernel
    """
    moment = moments(samples, [kernel], target.centered)
    alignment = float(moment.alignments()[0])
    history = [Step(kernel, 1, float(value), alignment, None) for value in objectives]
    return LearnedKernel([kernel], np.ones(1), moment.traces, alignment, history)
