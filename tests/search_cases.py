"""Tables and sensitivities that tests of searches share."""

import numpy as np

from mercer._search.kernel_objectives import Sensitivity


def clusters(n: int, seed: int, d: int = 2) -> np.ndarray:
    """Clusters of very different sizes, so that objectives have several maxima."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=(n, 1))


def sensitivity(n: int, seed: int, rank: int = 6) -> tuple[Sensitivity, np.ndarray]:
    """An indefinite P with zero row sums, in parts and whole, of norm one."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, rank)) * (rng.uniform(size=(n, 1)) < 0.3)
    F -= F.mean(axis=0)
    signs = np.where(np.arange(rank) % 2, -1.0, 1.0)
    whole = (F * signs) @ F.T
    size = float(np.linalg.norm(whole))
    return Sensitivity(F, signs, 1.0 / size, norm=1.0), whole / size
