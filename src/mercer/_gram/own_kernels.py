"""Detection of user-defined kernels that are not positive semi-definite, on a subset of rows."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigvalsh

from mercer._data.folds import evenly_spaced
from mercer._data.types import Array, Features
from mercer._data.validation import INDEFINITE_ADVICE, warn
from mercer._gram.dense import centered
from mercer._gram.low_rank import TOLERANCE
from mercer.kernels import CallableKernel, Kernel, SklearnKernel, WeightedSum
from mercer.kernels._composition import Composite

WITHOUT_WEIGHT = "the weight in the learned kernel is zero."
"""End of a message about kernels that do not contribute to the learned kernel."""


def indefinite_kernels(kernels: Sequence[Kernel], weights: Array, X: Features) -> tuple[str, bool]:
    """Name the kernels whose centered Gram matrix has a negative eigenvalue.

    Parameters
    ----------
    kernels : sequence of Kernel
        Kernels implemented in mercer are positive semi-definite, and are not evaluated. The others
        are evaluated: callables, scikit-learn's kernels, subclasses of `Kernel` in other packages,
        and sums with negative weights.
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels in a learned sum.
    X : ndarray or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    told : str
        A message without a period, about kernels with nonzero weights or, if there are none, about
        the others. Empty if no kernel has a negative eigenvalue.
    counts : bool
        Whether the weights of these kernels are nonzero.

    Notes
    -----
    As in ridge regression, eigenvalues above -`TOLERANCE` times the largest are attributed to
    rounding. With more than `max_rows` samples, small negative eigenvalues may be missed.
    """
    suspects = [k for k, kernel in enumerate(kernels) if _may_be_indefinite(kernel)]
    if not suspects:
        return "", False
    # Kernels are evaluated on at most this many rows, evenly spaced.
    some = X[evenly_spaced(X.shape[0], 256)]
    found = [k for k in suspects if _is_indefinite(kernels[k], some)]
    counting = [k for k in found if weights[k] != 0.0]
    names = list(dict.fromkeys(f"'{kernels[k].describe()}'" for k in counting or found))
    if not names:
        return "", False
    told = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    verb = "is" if len(names) == 1 else "are"
    told += f" {verb} not positive semi-definite: eigenvalues on training rows are negative"
    return told, bool(counting)


def warn_of_indefinite(kernels: Sequence[Kernel], weights: Array, X: Features) -> None:
    """Warn of user-defined kernels that have negative eigenvalues, and name them.

    Parameters
    ----------
    kernels : sequence of Kernel
    weights : ndarray of shape (n_kernels,)
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    """
    told, counts = indefinite_kernels(kernels, weights, X)
    if counts:
        warn(f"{told}. Predictors on the learned kernel may fail. {INDEFINITE_ADVICE}")
    elif told:
        warn(f"{told}; {WITHOUT_WEIGHT}")


def _may_be_indefinite(kernel: Kernel) -> bool:
    """Whether a kernel or one of its components is not known to be positive semi-definite."""
    if isinstance(kernel, WeightedSum):
        weights = np.asarray(kernel.weights, dtype=float)
        parts = [part for part, weight in zip(kernel.kernels, weights, strict=True) if weight]
        return bool((weights < 0.0).any()) or any(map(_may_be_indefinite, parts))
    if isinstance(kernel, Composite):
        return any(map(_may_be_indefinite, kernel._parts()))
    is_own = type(kernel).__module__.partition(".")[0] != __name__.partition(".")[0]
    return is_own or isinstance(kernel, CallableKernel | SklearnKernel)


def _is_indefinite(kernel: Kernel, X: Features) -> bool:
    gram = np.asarray(kernel(X), dtype=float)
    # Centering a constant leaves rounding errors.
    rounding = 10.0 * len(gram) * np.finfo(float).eps * float(np.abs(gram).max())
    values = eigvalsh(centered((gram + gram.T) / 2.0))
    return bool(values[0] < -max(TOLERANCE * values[-1], rounding))
