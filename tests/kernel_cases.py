"""One instance of every kernel, on tables of three features, for the tests that hold for all."""

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import cosine_similarity

from mercer.kernels import (
    CallableKernel,
    Categorical,
    Dirichlet,
    ExponentialPower,
    Forest,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Lookup,
    Matern,
    Missing,
    OnColumns,
    OnProjection,
    Ordinal,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    SklearnKernel,
    Spectrum,
    Tanimoto,
    WeightedSum,
)

N_FEATURES = 3
WIDTHS = np.array([0.7, 1.5, 4.0])

STATIONARY: dict[str, Kernel] = {
    "gaussian": Gaussian(1.3),
    "gaussian-ard": Gaussian(WIDTHS, ard=True),
    "laplacian": Laplacian(0.8),
    "matern-1/2": Matern(1.2, nu=0.5),
    "matern-3/2": Matern(1.2, nu=1.5),
    "matern-ard": Matern(WIDTHS, nu=2.5, ard=True),
    "rational-quadratic-ard": RationalQuadratic(WIDTHS, alpha=2.0, ard=True),
    "product-laplacian": Laplacian(1.1, norm=1.0),
    "exponential-power-ard": ExponentialPower(WIDTHS, power=0.7, ard=True),
    "exponential-power-3/2-ard": ExponentialPower(WIDTHS, power=1.2, norm=1.5, ard=True),
    "exponential-power-searched-ard": ExponentialPower(
        WIDTHS, power=0.8, norm=1.5, power_bounds=(0.3, 1.0), ard=True
    ),
    "exponential-power-norm-searched": ExponentialPower(
        1.2, power=0.4, norm=0.9, power_bounds=(0.3, 0.7), norm_bounds=(0.7, 2.0)
    ),
    "exponential-power-norm-searched-ard": ExponentialPower(
        WIDTHS, power=0.8, norm=1.1, norm_bounds=(0.8, 1.9), ard=True
    ),
    "exponential-power-2-ard": ExponentialPower(WIDTHS, power=1.5, norm=2.0, ard=True),
}

NATIVE: dict[str, Kernel] = {
    **STATIONARY,
    "dirichlet": OnColumns(Dirichlet(1.7), [0]),
    "linear": Linear(),
    "polynomial": Polynomial(3, gamma=0.4, coef0=0.5),
    "weighted-sum": WeightedSum(
        [Gaussian(1.3), Linear(), Gaussian(0.4), OnColumns(Linear(), [1]), Polynomial(2)],
        [0.5, 0.2, 1.0, 0.0, 0.1],
    ),
    "product": Product([Gaussian(WIDTHS, ard=True), Linear(), Matern(2.0)]),
    "on-columns": OnColumns(Gaussian(WIDTHS[:2], ard=True), [2, 0]),
    "on-projection": OnProjection(
        Gaussian(WIDTHS[:2], ard=True), [[1.0, 0.2], [-0.5, 0.3], [0.0, 2.0]]
    ),
    "nested": Product(
        [
            OnColumns(RationalQuadratic(0.9), slice(0, 2)),
            WeightedSum([Laplacian(0.8), OnColumns(Laplacian(1.0, norm=1.0), [1, 2])], [0.3, 0.7]),
        ]
    ),
}

_ROWS = np.random.default_rng(3).normal(size=(60, N_FEATURES))
_RESPONSE = np.sin(_ROWS).sum(axis=1)

FOREST: dict[str, Kernel] = {
    "forest": Forest(
        ExtraTreesRegressor(7, max_leaf_nodes=6, random_state=0).fit(_ROWS, _RESPONSE)
    ),
    "forest-boosted": Forest(
        HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=5).fit(_ROWS, _RESPONSE)
    ).with_leaves_of(_ROWS),
}

FOREIGN: dict[str, Kernel] = {
    "callable": CallableKernel(cosine_similarity),
    "gp": SklearnKernel(
        gp.ConstantKernel(2.0) * gp.RBF(WIDTHS) + gp.WhiteKernel(0.3) + gp.RationalQuadratic(0.9)
    ),
    "gp-fixed": SklearnKernel(gp.ConstantKernel(2.0, "fixed") * gp.Matern(1.1, nu=2.5)),
    "gp-in-product": Product([SklearnKernel(gp.RBF(1.4)), Laplacian(2.0)]),
}

_LEVELS = np.array([[-2.0, 0.0, 1.0, np.inf], [0.3, 0.5, 0.15, 0.05]])

COLUMNS: dict[str, Kernel] = {
    "categorical-ard": Categorical(WIDTHS, ard=True),
    "categorical-rarity": Categorical(WIDTHS, ard=True, rarity=0.7, frequencies=[_LEVELS] * 3),
    "ordinal": Ordinal(9.0),
    "ordinal-ard": Ordinal(WIDTHS, ard=True),
    "periodic-ard": Periodic(WIDTHS, period=[1.0, 2.0, 5.0], ard=True),
    "missing-ard": Missing(Gaussian(WIDTHS, ard=True), bandwidth_bounds=(0.5, 5.0)),
    "missing-in-product": Product(
        [OnColumns(Missing(Matern(1.2)), [0]), OnColumns(Categorical(), [2, 1])]
    ),
}

STRUCTURES: dict[str, Kernel] = {
    "tanimoto": Tanimoto(),
    "tanimoto-inner": Tanimoto("inner"),
    "spectrum": Spectrum(2),
    "spectrum-mismatch": Spectrum(2, mismatches=1, letters=[0.0, 1.0, 2.0]),
    "spectrum-in-place": Spectrum(1, positions=True, normalize=False),
    "lookup": OnColumns(Lookup(_ROWS @ _ROWS.T), [1]),
}

KERNELS: dict[str, Kernel] = {**NATIVE, **FOREST, **FOREIGN, **COLUMNS}


def suited(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """A table that the kernel takes: whole numbers, which are not negative, for structures."""
    if not any(kernel is structure for structure in STRUCTURES.values()):
        return X
    whole = np.round(X)
    if isinstance(kernel, Spectrum):
        return whole
    return np.abs(whole) % len(_ROWS)
