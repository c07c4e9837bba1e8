"""Labels and responses as factors of output kernels."""

from mercer._targets.target import (
    TASKS,
    Target,
    Task,
    as_target,
    check_output_kernel,
    one_against_rest,
    output_kernel_of_part,
    target_of,
)

__all__ = [
    "TASKS",
    "Target",
    "Task",
    "as_target",
    "check_output_kernel",
    "one_against_rest",
    "output_kernel_of_part",
    "target_of",
]
