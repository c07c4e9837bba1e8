"""What learners share that weigh a finite dictionary of kernels by its moments."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np

from mercer._callbacks import reported_steps
from mercer._gram.moments import Moments, moments
from mercer._gram.tiles import Samples
from mercer._history import Step
from mercer._learners.kernel_learner import KernelLearner, base_kernels
from mercer._targets import Target, Task
from mercer._typing import Array, Features
from mercer.kernels import WeightedSum


class FiniteDictionary(KernelLearner):
    """Learners that weigh a finite dictionary by its moments."""

    kernels: Any

    @abstractmethod
    def _weigh(self, found: Moments) -> Array:
        """Weights of the kernels as they are, given their moments."""

    def _sources(self) -> Any:
        return self.kernels

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        kernels = base_kernels(self.kernels, table, samples)
        with reported_steps(self, 1) as report:
            streamed = Samples(samples.X, len(kernels), keep=False)
            found = moments(streamed, kernels, target.centered)
            report()
        self.weights_ = self._weigh(found)
        self.shares_ = found.shares(self.weights_)
        self.kernel_ = WeightedSum(kernels, self.weights_)
        self.alignment_ = found.alignment(self.weights_)
        used = int(np.count_nonzero(self.weights_))
        self.history_ = [Step(self.kernel_, used, self.alignment_, self.alignment_, None)]
        self.n_iter_ = 1


class ScaledDictionary(FiniteDictionary):
    """Learners whose weights depend on the scale of the kernels, which may be taken out."""

    def __init__(
        self,
        kernels: Any = None,
        *,
        normalize: Literal["trace"] | None = None,
        task: Task = "auto",
        output_kernel: Any = None,
    ) -> None:
        self.kernels = kernels
        self.normalize = normalize
        self.task = task
        self.output_kernel = output_kernel

    def _check_settings(self) -> None:
        super()._check_settings()
        if not (self.normalize is None or self.normalize == "trace"):
            raise ValueError(f'normalize must be None or "trace"; got {self.normalize!r}.')

    def _shares(self, found: Moments) -> Array:
        """What each kernel is multiplied by before it is weighed: one, or to a trace of one."""
        if self.normalize is None:
            return np.ones(found.a.size)
        return np.divide(
            1.0, found.traces, out=np.zeros_like(found.traces), where=found.traces > 0.0
        )
