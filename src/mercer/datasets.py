"""Draw synthetic classification problems from the literature on kernel learning.

`make_sine` and `make_relevance` draw problems of Afkanpour et al. [1]_, and `make_ringnorm` and
`make_waveform` draw problems of Breiman [2]_ [3]_.

References
----------
.. [1] A. Afkanpour, C. Szepesvari, M. Bowling (2013). Alignment based kernel learning with a
   continuous set of base kernels. Machine Learning 91.
.. [2] L. Breiman (1996). Bias, variance, and arcing classifiers. Technical report 460, University
   of California, Berkeley.
.. [3] L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and regression trees.
"""

from numbers import Integral, Real

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state, check_scalar

__all__ = [
    "SINE_FREQUENCIES",
    "make_relevance",
    "make_ringnorm",
    "make_sine",
    "make_waveform",
]

SINE_FREQUENCIES: tuple[float, float, float] = (2**0.5, 12**0.5, 60**0.5)
"""Angular frequencies of the problem drawn by `make_sine`."""


def make_sine(
    n_samples: int = 500, *, random_state: int | RandomState | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Draw samples whose label is the sign of a sum of three sines on a line.

    The inputs are uniform on [-10, 10], and the label is the sign of
    :math:`\sin(\sqrt{2} x) + \sin(\sqrt{12} x) + \sin(\sqrt{60} x)`. Dirichlet kernels of these
    three frequencies solve the problem together, but none of them solves it alone.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the inputs.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Inputs.
    y : ndarray of shape (n_samples,)
        Labels, -1 or 1.

    Raises
    ------
    TypeError, ValueError
        If ``n_samples`` is not a positive integer.

    References
    ----------
    Afkanpour et al. 2013, section 3.1.

    Examples
    --------
    >>> from mercer.datasets import make_sine
    >>> X, y = make_sine(500, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((500, 1), [-1, 1])
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    X = check_random_state(random_state).uniform(-10.0, 10.0, size=(n_samples, 1))
    response = np.sin(X * np.asarray(SINE_FREQUENCIES)).sum(axis=1)
    return X, np.where(response >= 0.0, 1, -1)


def make_relevance(
    n_samples: int = 50,
    *,
    gamma: float = 0.0,
    n_features: int = 50,
    rho: float = 1.75,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Draw two Gaussian classes whose features differ in relevance.

    Both classes have the identity as covariance and are equally likely; their means are
    :math:`\pm \rho\, v / \|v\|` with :math:`v_i = (i / d)^\gamma`, :math:`i = 1, \ldots, d`. With
    ``gamma=0``, all features are equally relevant; with a larger ``gamma``, fewer features are
    relevant. The Bayes error is :math:`\Phi(-\rho)` for every ``gamma``, 4 % by default.

    Parameters
    ----------
    n_samples : int, default=50
        Number of points.
    gamma : float, default=0.0
        How unequally relevant the features are, at least zero.
    n_features : int, default=50
        Number of features d.
    rho : float, default=1.75
        Half the distance between the class means, in units of the standard deviation.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of labels and features.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, from the least to the most relevant.
    y : ndarray of shape (n_samples,)
        Labels, -1 or 1.

    Raises
    ------
    TypeError, ValueError
        If a parameter has the wrong type or lies outside its range.

    References
    ----------
    Afkanpour et al. 2013, section 3.1.

    Examples
    --------
    >>> from mercer.datasets import make_relevance
    >>> X, y = make_relevance(50, gamma=40, random_state=0)
    >>> X.shape, y.shape
    ((50, 50), (50,))
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    check_scalar(n_features, "n_features", Integral, min_val=1)
    check_scalar(gamma, "gamma", Real, min_val=0.0)
    check_scalar(rho, "rho", Real, min_val=0.0)
    rng = check_random_state(random_state)
    direction = (np.arange(1, n_features + 1) / n_features) ** gamma
    mean = rho * direction / np.linalg.norm(direction)
    y = rng.choice([-1, 1], size=n_samples)
    return y[:, None] * mean + rng.standard_normal((n_samples, n_features)), y


def make_ringnorm(
    n_samples: int = 500,
    *,
    n_features: int = 20,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Draw two overlapping Gaussian classes of different variances.

    The first class has mean zero and covariance :math:`4 I`. The second class has covariance
    :math:`I` and mean :math:`(a, \ldots, a)` with :math:`a = 2 / \sqrt{d}`. Both are equally
    likely. The Bayes error is 1.2 % with 20 features.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points.
    n_features : int, default=20
        Number of features d.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of labels and features.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Labels, -1 for the first class and 1 for the second.

    Raises
    ------
    TypeError, ValueError
        If a parameter has the wrong type or lies outside its range.

    References
    ----------
    Breiman 1996, as drawn for the Delve archive.

    Examples
    --------
    >>> from mercer.datasets import make_ringnorm
    >>> X, y = make_ringnorm(500, random_state=0)
    >>> bool(X[y == -1].std() > 1.9), bool(X[y == 1].std() < 1.1)
    (True, True)
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    check_scalar(n_features, "n_features", Integral, min_val=1)
    rng = check_random_state(random_state)
    y = rng.choice([-1, 1], size=n_samples)
    noise = rng.standard_normal((n_samples, n_features))
    second = (y == 1)[:, None]
    return np.where(second, noise + 2.0 / np.sqrt(n_features), 2.0 * noise), y


def make_waveform(
    n_samples: int = 500, *, random_state: int | RandomState | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Draw three classes of noisy waves, each a convex combination of two of three triangles.

    With :math:`h(t) = \max(6 - |t|, 0)`, the triangles are :math:`h(t - 11)`, :math:`h(t - 15)` and
    :math:`h(t - 7)` at :math:`t = 1, \ldots, 21`. Class 0 combines the first and the second
    triangle, class 1 the first and the third, and class 2 the second and the third. The weights are
    :math:`u` and :math:`1 - u` with :math:`u` uniform on [0, 1], and every feature has standard
    normal noise. The classes are equally likely. The Bayes error is about 14 %.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of labels, weights and noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 21)
        Features.
    y : ndarray of shape (n_samples,)
        Labels, 0, 1 or 2.

    Raises
    ------
    TypeError, ValueError
        If ``n_samples`` is not a positive integer.

    References
    ----------
    Breiman, Friedman, Olshen, Stone 1984, section 2.6.2.

    Examples
    --------
    >>> from mercer.datasets import make_waveform
    >>> X, y = make_waveform(500, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((500, 21), [0, 1, 2])
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    rng = check_random_state(random_state)
    t = np.arange(1, 22)
    triangles = np.maximum(6.0 - np.abs(t - np.array([[11], [15], [7]])), 0.0)
    y = rng.choice(3, size=n_samples)
    first, second = np.array([[0, 1], [0, 2], [1, 2]])[y].T
    u = rng.uniform(size=(n_samples, 1))
    waves = u * triangles[first] + (1.0 - u) * triangles[second]
    return waves + rng.standard_normal(waves.shape), y
