"""Labels and responses as target factors: the target kernel is L = Y diag(signs) Y'."""

from mercer._targets.classes import one_against_rest
from mercer._targets.output_kernels import (
    as_target,
    check_output_kernel,
    check_task,
    output_kernel_of_part,
)
from mercer._targets.target import Target, Task

__all__ = [
    "Target",
    "Task",
    "as_target",
    "check_output_kernel",
    "check_task",
    "one_against_rest",
    "output_kernel_of_part",
]
