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
import sklearn
from numpy.testing import assert_allclose
from scipy.special import gamma as gamma_function
from scipy.special import kv
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import pairwise
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import mercer.kernels
from mercer import ForestKernel, TwoStageClassifier, TwoStageRegressor, UniformCombination
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


def half_integer(u: Any, nu: float) -> Any:
    """The same without a Bessel function, for smoothness 3/2 and 5/2."""
    return (1.0 + u if nu == 1.5 else 1.0 + u + u**2 / 3.0) * np.exp(-u)


def waves(v: Any) -> float:
    return float(np.square(np.sin(np.pi * v.t / v.p)).sum())


FORMULAS: dict[str, Formula] = {
    **dict.fromkeys(
        ["rbf_kernel(gamma=g)", "rbfdot(sigma=g)", "svm(gamma=g)", "-t 2 -g g", "RBFKernel -G g"],
        lambda v: np.exp(-v.g * v.r**2),
    ),
    **dict.fromkeys(
        ['vgm(model="Gau", range=a)', "Exp.cov(aRange=a, p=2)", "stk_gausscov_iso(rho=a)"],
        lambda v: np.exp(-((v.r / v.a) ** 2)),
    ),
    **dict.fromkeys(
        [
            "RBF(length_scale=l)",
            "RBF(lengthscale=l)",
            "SquaredExponential(lengthscales=l)",
            "RBFKernel(lengthscale=l)",
            "ExpSquared(scale=l)",
        ],
        lambda v: np.exp(-0.5 * (v.r / v.l) ** 2),
    ),
    'KRG(corr="squar_exp", theta)': lambda v: np.exp(-(v.theta * v.t**2).sum()),
    "laplacedot(sigma=g)": lambda v: np.exp(-v.g * v.r),
    **dict.fromkeys(
        [
            'vgm(model="Exp", range=a)',
            "Exp.cov(aRange=a, p=1)",
            "OU(lengthscale=a)",
            "Matern12(lengthscales=a)",
            "Matern12(lengthscale=a)",
            "Exp(scale=a, distance=L2Distance())",
        ],
        lambda v: np.exp(-v.r / v.a),
    ),
    "Exponential(lengthscales=l)": lambda v: np.exp(-0.5 * v.r / v.l),
    "stk_expcov_iso(rho=a)": lambda v: np.exp(-np.sqrt(2.0) * v.r / v.a),
    "laplacian_kernel(gamma=g)": lambda v: np.exp(-v.g * v.t.sum()),
    "Exp(scale=l)": lambda v: np.exp(-v.t.sum() / v.l),
    'KRG(corr="abs_exp", theta)': lambda v: np.exp(-(v.theta * v.t).sum()),
    **dict.fromkeys(
        [
            'vgm(model="Exc", range=a, kappa=q)',
            "Exp.cov(aRange=a, p=q)",
            "PoweredExponential(lengthscale=a, power=q)",
        ],
        lambda v: np.exp(-((v.r / v.a) ** v.q)),
    ),
    **dict.fromkeys(
        ["Matern(length_scale=l, nu=nu)", "MaternKernel(nu, lengthscale=l)"],
        lambda v: bessel(np.sqrt(2.0 * v.nu) * v.r / v.l, v.nu),
    ),
    **dict.fromkeys(
        [
            "Matern32(lengthscale=l)",
            "Matern32(lengthscales=l)",
            "Matern32(scale=l, distance=L2Distance())",
        ],
        lambda v: half_integer(np.sqrt(3.0) * v.r / v.l, 1.5),
    ),
    "Matern52(lengthscale=l)": lambda v: half_integer(np.sqrt(5.0) * v.r / v.l, 2.5),
    **dict.fromkeys(
        ['vgm(model="Mat", range=a, kappa=nu)', "Matern(d, aRange=a, smoothness=nu)"],
        lambda v: bessel(v.r / v.a, v.nu),
    ),
    **dict.fromkeys(
        ['vgm(model="Ste", range=a, kappa=nu)', "stk_materncov_iso(nu, rho=a)"],
        lambda v: bessel(2.0 * np.sqrt(v.nu) * v.r / v.a, v.nu),
    ),
    **dict.fromkeys(
        ['KRG(corr="matern32", theta)', 'KRG(corr="matern52", theta)'],
        lambda v: half_integer(np.sqrt(2.0 * v.nu) * v.theta * v.t, v.nu).prod(),
    ),
    **dict.fromkeys(
        [
            "RationalQuadratic(length_scale=l, alpha=q)",
            "RationalQuadratic(lengthscales=l, alpha=q)",
            "RationalQuadratic(lengthscale=l, alpha=q)",
            "RQKernel(lengthscale=l, alpha=q)",
        ],
        lambda v: (1.0 + v.r**2 / (2.0 * v.q * v.l**2)) ** -v.q,
    ),
    "RatQuad(lengthscale=l, power=q)": lambda v: (1.0 + 0.5 * (v.r / v.l) ** 2) ** -v.q,
    "ExpSineSquared(length_scale=l, periodicity=p)": lambda v: np.exp(-2.0 * waves(v) / v.l**2),
    **dict.fromkeys(
        [
            "StdPeriodic(lengthscale=l, period=p)",
            "Periodic(SquaredExponential(lengthscales=l), p)",
            "Periodic(lengthscale=l, period=p)",
        ],
        lambda v: np.exp(-0.5 * waves(v) / v.l**2),
    ),
    "PeriodicKernel(lengthscale=l, period_length=p)": lambda v: np.exp(-2.0 * waves(v) / v.l),
    "ExpSineSquared(scale=p, gamma=g)": lambda v: np.exp(-v.g * waves(v)),
    **dict.fromkeys(
        [
            "polydot(degree=d, scale=g, offset=c)",
            "polynomial_kernel(degree=d, gamma=g, coef0=c)",
            'svm(kernel="polynomial", degree=d, gamma=g, coef0=c)',
            "-t 1 -d d -g g -r c",
        ],
        lambda v: (v.g * v.product + v.c) ** v.d,
    ),
    "DotProduct(sigma_0=s)": lambda v: v.product + v.s**2,
}
"""Formulas of the kernels in the page's table, by their code."""

ONLY = {
    "Matern32(lengthscale=l)": (1.5,),
    "Matern32(lengthscales=l)": (1.5,),
    "Matern52(lengthscale=l)": (2.5,),
    "Matern32(scale=l, distance=L2Distance())": (1.5,),
    'KRG(corr="matern32", theta)': (1.5,),
    'KRG(corr="matern52", theta)': (2.5,),
}
"""Kernels that have a single smoothness."""

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


def conversions() -> dict[str, str]:
    """The kernels of mercer in the page's table, by the code of each kernel of other packages."""
    table = PAGE.read_text("utf-8").split("## Kernels and their parameters")[1]
    rows = re.findall(r"^\| (.+) \| `(.+)` \|$", table, flags=re.MULTILINE)
    return {code: own for others, own in rows for code in re.findall(r"`([^`]+)`", others)}


CONVERSIONS = conversions()


def expected_values(code: str, left: np.ndarray, right: np.ndarray, nu: float) -> np.ndarray:
    values = np.empty((len(left), len(right)))
    for (i, x), (j, z) in product(enumerate(left), enumerate(right)):
        t, r = np.abs(x - z), np.sqrt(np.square(x - z).sum())
        given = SimpleNamespace(r=r, t=t, product=x @ z, nu=nu, **VALUES)
        values[i, j] = FORMULAS[code](given)
    return values


def test_each_kernel_of_the_table_has_a_formula() -> None:
    assert CONVERSIONS.keys() == FORMULAS.keys()


@pytest.mark.parametrize("code", CONVERSIONS)
def test_conversions_of_kernels(code: str) -> None:
    own, single = CONVERSIONS[code], code.startswith("ExpSineSquared")
    left, right = (X[:, :1], Z[:, :1]) if single else (X, Z)
    for nu in ONLY.get(code, SMOOTHNESS if "nu" in own else (1.5,)):
        names = {**vars(mercer.kernels), "sqrt": np.sqrt, "nu": nu, **VALUES}
        found, expected = eval(own, names)(left, right), expected_values(code, left, right, nu)
        assert_allclose(found, expected, rtol=1e-10, atol=1e-14, err_msg=f"{code}, nu={nu}")


@pytest.mark.parametrize("kernel", INSTALLED, ids=lambda kernel: kernel.__name__)
def test_formulas_are_those_of_scikit_learn(kernel: Any) -> None:
    known = f"scikit-learn `{kernel.__name__}("
    assert known in PAGE.read_text("utf-8")
    code = next(code for code in FORMULAS if code.startswith(known.split("`")[1]))
    left, right = (X[:, :1], Z[:, :1]) if code.startswith("ExpSineSquared") else (X, Z)
    for nu in SMOOTHNESS:
        given = {**VALUES, "nu": nu}
        options = {name: given[value] for name, value in re.findall(r"(\w+)=(\w+)", code)}
        function = kernel(**options) if isinstance(kernel, type) else partial(kernel, **options)
        found = function(left, right)
        assert_allclose(found, expected_values(code, left, right, nu), rtol=1e-10)


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


def test_gaussian_processes_of_kernlab_standardize_and_have_no_intercept() -> None:
    g, v = 0.7, 0.2
    mean, deviation = TABLE.mean(axis=0), TABLE.std(axis=0, ddof=1)
    A, B = (TABLE - mean) / deviation, (NEW - mean) / deviation
    y = (RESPONSE - RESPONSE.mean()) / RESPONSE.std(ddof=1)
    K = np.exp(-g * distances(A, A) ** 2)
    expected = np.exp(-g * distances(B, A) ** 2) @ np.linalg.solve(K + v * np.eye(len(A)), y)
    model = KernelRidge(kernel=Gaussian(1.0 / np.sqrt(g)), alpha=v).fit(A, y)
    assert_allclose(model.predict(B), expected, rtol=1e-9)


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


def test_forest_kernels_count_all_trees() -> None:
    learner = ForestKernel("forest", n_trees=20).fit(TABLE, RESPONSE)
    forest = learner.kernels_[0]
    leaves = forest.ensemble.apply(TABLE)
    expected = (leaves[:, None] == leaves[None]).mean(axis=2)
    assert_allclose(forest(TABLE), expected)


# --- weights of zero --------------------------------------------------------------------------

LABELS = (np.sin(TABLE[:, 0]) > 0.0).astype(int)
WEIGHTS = (np.arange(40) % 3 > 0).astype(float)
KERNEL = Gaussian(2.0)


def test_two_stage_classifiers_remove_samples_of_weight_zero() -> None:
    kept = WEIGHTS > 0.0
    model = TwoStageClassifier(UniformCombination([KERNEL]), predictor=SVC(kernel="precomputed"))
    found = model.fit(TABLE, LABELS, sample_weight=WEIGHTS).decision_function(NEW)
    expected = clone(model).fit(TABLE[kept], LABELS[kept]).decision_function(NEW)
    assert_allclose(found, expected, atol=1e-10)


@pytest.mark.skipif(sklearn.__version__ != "1.9.1", reason="the page names this version")
@pytest.mark.parametrize("machine", [SVC(), SVR(), NuSVC(nu=0.3), NuSVR(), OneClassSVM()])
def test_machines_of_scikit_learn_are_wrong_with_weights_of_zero(machine: Any) -> None:
    """The page says so; once this fails, the warning can go."""
    right = clone(machine).set_params(kernel="rbf", gamma=0.25)
    right.fit(TABLE, LABELS, sample_weight=WEIGHTS)
    values = "decision_function" if hasattr(machine, "decision_function") else "predict"
    expected = getattr(right, values)(NEW)
    for kernel in (KERNEL, "precomputed"):
        rows, new = (TABLE, NEW) if kernel is KERNEL else (KERNEL(TABLE), KERNEL(NEW, TABLE))
        model = clone(machine).set_params(kernel=kernel)
        model.fit(rows, LABELS)
        plain = clone(right).fit(TABLE, LABELS)
        assert_allclose(getattr(model, values)(new), getattr(plain, values)(NEW), atol=1e-6)
        model.fit(rows, LABELS, sample_weight=WEIGHTS)
        assert np.abs(getattr(model, values)(new) - expected).max() > 0.1
        model.fit(rows, LABELS, sample_weight=np.append(np.ones(39), 0.0))
        plain.fit(TABLE, LABELS, sample_weight=np.append(np.ones(39), 0.0))
        assert_allclose(getattr(model, values)(new), getattr(plain, values)(NEW), atol=1e-6)
