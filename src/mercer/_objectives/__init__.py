"""Objectives of kernels on samples: values, and gradients in the log-parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from mercer._gram.samples import Samples
from mercer._typing import Array
from mercer.kernels._kernel import Kernel


class Objective(ABC):
    """A differentiable function of a kernel on samples, which searches maximize.

    Attributes
    ----------
    samples : Samples
        Kernels are bound to them.
    """

    samples: Samples

    @abstractmethod
    def value(self, kernel: Kernel) -> float:
        """The objective of a kernel."""

    @abstractmethod
    def value_and_gradient(self, kernel: Kernel) -> tuple[float, Array]:
        """The objective, and its gradient in the kernel's log-parameters, shape (n_theta,)."""

    def along(self, kernel: Kernel) -> Callable[[Array], tuple[float, Array]]:
        """The objective and its gradient as a function of a kernel's log-parameters."""
        return lambda theta: self.value_and_gradient(kernel.with_theta(theta))

    def profile(self, kernel: Kernel) -> Callable[[Array], Array]:
        """Values at some log-widths of a kernel of one width; subclasses may approximate them."""
        return lambda thetas: np.array([self.value(kernel.with_theta(t[None])) for t in thetas])
