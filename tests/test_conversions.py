"""Conversions from other packages, each compared with a formula from their documentation."""

import re
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gamma as gamma_function
from scipy.special import kv
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

import mercer.kernels
from mercer import TwoStageRegressor, UniformCombination
from mercer.kernels import Gaussian
from mercer.metrics import centered_alignment, hsic

PAGE = Path(__file__).parents[1] / "docs" / "start" / "coming_from.md"

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(9, 3)), RNG.normal(size=(5, 3))
VALUES = {
    "a": 1.7, "c": 0.6, "d": 3, "g": 0.4, "l": 1.3, "p": 2.1, "q": 0.7, "s": 0.8,
    "theta": np.array([0.5, 1.2, 2.0]),
}  # fmt: skip
SMOOTHNESS = (0.5, 1.5, 2.5)

Formula = Callable[[Any], float]
"""The kernel of two rows x and z, as a function of the parameters, r, t and x · z."""


def bessel(u: float, nu: float) -> float:
    """The Matern kernel as a function of the argument of the Bessel function."""
    return float(2.0 ** (1.0 - nu) / gamma_function(nu) * u**nu * kv(nu, u)) if u else 1.0


def waves(v: Any) -> float:
    return float(np.square(np.sin(np.pi * v.t / v.p)).sum())


FORMULAS: dict[str, Formula] = {
    "exp(-g r²)": lambda v: np.exp(-v.g * v.r**2),
    "exp(-r² / a²)": lambda v: np.exp(-((v.r / v.a) ** 2)),
    "exp(-r² / (2 l²))": lambda v: np.exp(-0.5 * (v.r / v.l) ** 2),
    "exp(-∑ theta t²)": lambda v: np.exp(-(v.theta * v.t**2).sum()),
    "exp(-g r)": lambda v: np.exp(-v.g * v.r),
    "exp(-r / a)": lambda v: np.exp(-v.r / v.a),
    "exp(-r / (2 l))": lambda v: np.exp(-0.5 * v.r / v.l),
    "exp(-√2 r / a)": lambda v: np.exp(-np.sqrt(2.0) * v.r / v.a),
    r"exp(-g \|t\|)": lambda v: np.exp(-v.g * v.t.sum()),
    r"exp(-\|t\| / l)": lambda v: np.exp(-v.t.sum() / v.l),
    "exp(-∑ theta t)": lambda v: np.exp(-(v.theta * v.t).sum()),
    "exp(-(r / a)^q)": lambda v: np.exp(-((v.r / v.a) ** v.q)),
    "2^(1 - nu) / Γ(nu) u^nu K(nu, u), u = √(2 nu) r / l": lambda v: bessel(
        np.sqrt(2.0 * v.nu) * v.r / v.l, v.nu
    ),
    "the same, with u = r / a": lambda v: bessel(v.r / v.a, v.nu),
    "the same, with u = 2 √nu r / a": lambda v: bessel(2.0 * np.sqrt(v.nu) * v.r / v.a, v.nu),
    "the product over the columns, with u = √(2 nu) theta t": lambda v: np.prod(
        [bessel(u, v.nu) for u in np.sqrt(2.0 * v.nu) * v.theta * v.t]
    ),
    "(1 + r² / (2 q l²))^-q": lambda v: (1.0 + v.r**2 / (2.0 * v.q * v.l**2)) ** -v.q,
    "(1 + r² / (2 l²))^-q": lambda v: (1.0 + 0.5 * (v.r / v.l) ** 2) ** -v.q,
    "exp(-2 sin²(π t / p) / l²)": lambda v: np.exp(-2.0 * waves(v) / v.l**2),
    "exp(-∑ sin²(π t / p) / (2 l²))": lambda v: np.exp(-0.5 * waves(v) / v.l**2),
    "exp(-2 ∑ sin²(π t / p) / l)": lambda v: np.exp(-2.0 * waves(v) / v.l),
    "exp(-g sin²(π t / p))": lambda v: np.exp(-v.g * waves(v)),
    "(g x · z + c)^d": lambda v: (v.g * v.product + v.c) ** v.d,
    "x · z + s²": lambda v: v.product + v.s**2,
}
"""The formulas of the page's table."""

INSTALLED: list[Callable[..., Any]] = [
    pairwise.rbf_kernel,
    pairwise.laplacian_kernel,
    pairwise.polynomial_kernel,
    gp.RBF,
    gp.Matern,
    gp.RationalQuadratic,
    gp.ExpSineSquared,
    gp.DotProduct,
]
"""Kernels of scikit-learn, which are evaluated as well."""


def rows_of_the_table() -> list[tuple[str, str, str]]:
    """Kernels of other packages, the formula, and the kernel of mercer."""
    table = PAGE.read_text("utf-8").split("## Kernels and their parameters")[1]
    return re.findall(r"^\| (.+?) \| (.+) \| `(.+)` \|$", table, flags=re.MULTILINE)


ROWS = rows_of_the_table()


def expected_values(formula: str, left: np.ndarray, right: np.ndarray, nu: float) -> np.ndarray:
    values = np.empty((len(left), len(right)))
    for (i, x), (j, z) in product(enumerate(left), enumerate(right)):
        t, r = np.abs(x - z), np.sqrt(np.square(x - z).sum())
        given = SimpleNamespace(r=r, t=t, product=x @ z, nu=nu, **VALUES)
        values[i, j] = FORMULAS[formula](given)
    return values


def test_each_formula_of_the_table_is_tried() -> None:
    assert [formula for _, formula, _ in ROWS] == [*FORMULAS]


@pytest.mark.parametrize(("others", "formula", "own"), ROWS)
def test_conversions_of_kernels(others: str, formula: str, own: str) -> None:
    left, right = (X[:, :1], Z[:, :1]) if "on one column" in others else (X, Z)
    for nu in SMOOTHNESS if "nu" in own else (1.5,):
        names = {**vars(mercer.kernels), "sqrt": np.sqrt, "nu": nu, **VALUES}
        found, expected = eval(own, names)(left, right), expected_values(formula, left, right, nu)
        assert_allclose(found, expected, rtol=1e-10, atol=1e-14, err_msg=f"{own}, nu={nu}")


@pytest.mark.parametrize("kernel", INSTALLED, ids=lambda kernel: kernel.__name__)
def test_formulas_are_those_of_scikit_learn(kernel: Any) -> None:
    known = f"scikit-learn `{kernel.__name__}("
    [(others, formula)] = [(o, f) for o, f, _ in ROWS if known in o]
    left, right = (X[:, :1], Z[:, :1]) if "on one column" in others else (X, Z)
    code = others.split(known)[1].partition("`")[0]
    for nu in SMOOTHNESS:
        given = {**VALUES, "nu": nu}
        options = {name: given[value] for name, value in re.findall(r"(\w+)=(\w+)", code)}
        function = kernel(**options) if isinstance(kernel, type) else partial(kernel, **options)
        found = function(left, right)
        assert_allclose(found, expected_values(formula, left, right, nu), rtol=1e-10)


# --- models -----------------------------------------------------------------------------------

TABLE = RNG.uniform(0.0, 10.0, size=(40, 2))
NEW = RNG.uniform(0.0, 10.0, size=(12, 2))
RESPONSE = np.sin(TABLE[:, 0]) + 0.3 * TABLE[:, 1] + 0.3 * RNG.normal(size=40) + 7.0


def distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.square(A[:, None] - B[None]).sum(axis=2)))


def kriged(A: np.ndarray, psill: float, a: float, error: float, nugget: float) -> np.ndarray:
    """Solve the equations of ordinary kriging for the covariance psill exp(-(r / a)^2)."""
    n, apart = len(TABLE), distances(A, TABLE)
    system, ones = np.zeros((n + 1, n + 1)), np.ones(n)
    system[:n, :n] = psill * np.exp(-((distances(TABLE, TABLE) / a) ** 2))
    system[:n, :n] += (error + nugget) * np.eye(n)
    system[n, :n] = system[:n, n] = ones
    right = psill * np.exp(-((apart / a) ** 2)) + nugget * (apart == 0.0)
    weights = np.linalg.solve(system, np.column_stack([right, np.ones(len(A))]).T)[:n]
    return np.asarray(weights.T @ RESPONSE)


def test_kriging_with_measurement_errors_is_ridge_regression() -> None:
    psill, err, a = 4.0, 0.5, 3.0
    learner = UniformCombination([Gaussian(a)])
    weight = learner.fit(TABLE, RESPONSE).kernel_.weights[0]
    model = TwoStageRegressor(learner, alpha=weight * err / psill).fit(TABLE, RESPONSE)
    for rows in (NEW, TABLE):
        assert_allclose(model.predict(rows), kriged(rows, psill, a, err, 0.0), rtol=1e-9)
    # A nugget differs at the locations of the observations, which it reproduces.
    assert_allclose(model.predict(NEW), kriged(NEW, psill, a, 0.0, err), rtol=1e-9)
    assert_allclose(kriged(TABLE, psill, a, 0.0, err), RESPONSE, rtol=1e-9)
    assert np.abs(model.predict(TABLE) - RESPONSE).max() > 0.1


def test_distance_correlation_is_an_alignment() -> None:
    Y, n = RESPONSE[:, None] + 0.2 * RNG.normal(size=(40, 2)), 40
    Dx, Dy = distances(TABLE, TABLE), distances(Y, Y)
    A, B = (D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean() for D in (Dx, Dy))
    covariance = (A * B).sum() / n**2
    correlation = covariance / np.sqrt((A * A).sum() / n**2 * (B * B).sum() / n**2)
    assert_allclose(centered_alignment(-Dx, -Dy), correlation, rtol=1e-10)
    assert_allclose(hsic(-Dx, -Dy) * (n - 1) ** 2 / n**2, covariance, rtol=1e-10)
    euclidean = pairwise.euclidean_distances(TABLE)
    assert_allclose(centered_alignment(-euclidean, -Dy), correlation, rtol=1e-6)
