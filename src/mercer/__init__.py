"""Kernels learned from data."""

from mercer.learners import (
    AlignmentMaximization,
    ContinuousAlignment,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)

__version__ = "0.1.0"

__all__ = [
    "AlignmentMaximization",
    "ContinuousAlignment",
    "IndependentAlignment",
    "KernelOptimization",
    "UniformCombination",
]
