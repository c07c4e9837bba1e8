"""Types of arrays and tables for annotations."""

from typing import Any, TypeAlias

import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
"""A dense array."""

Features: TypeAlias = Any
"""A table of samples: a dense array, a sparse matrix or a data frame."""
