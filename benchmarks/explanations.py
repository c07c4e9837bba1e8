"""Exact explanations: their time, and their agreement with definitions and with the package shap.

    python benchmarks/explanations.py [NAME ...]

times
    Processor seconds on 1,000 training rows of 20 columns and 100 background rows: Shapley values
    of a row (target: 0.1 s), of a row for independent columns, interactions and shares of variance;
    and a curve of partial dependence, beside that of scikit-learn.
tiles
    The first of these by the size of tiles, which `_TILE_VALUES` of
    `mercer._explanations.product_values` sets.
kernel_explainer
    Processor time of `shap.KernelExplainer` on the same model by its number of samples, up to that
    by which its errors are at most a thousandth of the largest value, relative to that of exact
    values (target: 100). Its default is 2,088 samples.
agreement
    Largest difference from `shap.explainers.Exact` on three data sets (target: 1e-6), and of the
    sums of values from the predictions of 1,000 rows (target: 1e-9).
shares
    First-order shares of variance beside a Monte Carlo estimate of 10^6 draws, in units of its
    standard error; and shares of Friedman's function beside those by hand (target: .02).

Without shap (`pip install shap`), `kernel_explainer` and `agreement` are left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from common import Array, print_table, run_named
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_friedman1
from sklearn.inspection import partial_dependence as by_predictions
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches

from mercer import KernelStackingClassifier, TwoStageRegressor, UniformCombination
from mercer._explanations import product_values
from mercer.inspection import (
    partial_dependence,
    shapley_interactions,
    shapley_values,
    sobol_indices,
)
from mercer.kernels import Gaussian, Laplacian

N, D, N_BACKGROUND = 1000, 20, 100


def processor_seconds(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Fewest processor seconds of several calls, and the last result."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        found.append(time.process_time() - start)
    return min(found), result


def ridge_on(kernel: Any, X: Array, y: Array, alpha: float = 0.1) -> TwoStageRegressor:
    """Ridge regression on one kernel."""
    return TwoStageRegressor(UniformCombination([kernel]), alpha=alpha).fit(X, y)


def problem() -> tuple[Array, TwoStageRegressor]:
    """A model of a response with interactions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, ridge_on(Gaussian(5.0), X, X[:, 0] * X[:, 1] + X[:, 2])


def times(options: argparse.Namespace) -> None:
    """Print processor seconds of explanations."""
    X, model = problem()
    background, rows = X[-N_BACKGROUND:], 10
    alone = {"independent": True}
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        "Shapley values, a row [0.1]": (lambda: shapley_values(model, X[:rows], background), rows),
        "independent columns, a row": (lambda: shapley_values(model, X, background, **alone), N),
        "interactions, a row": (lambda: shapley_interactions(model, X[:2], background), 2),
        "interactions, independent columns, a row": (
            lambda: shapley_interactions(model, X[:50], background, **alone),
            50,
        ),
        "shares of variance": (lambda: sobol_indices(model, background), 1),
        "partial dependence": (lambda: partial_dependence(model, X, 0), 1),
    }
    rows_of = [[name, f"{processor_seconds(f)[0] / n:.4f} s"] for name, (f, n) in calls.items()]
    found = partial_dependence(model, X[:500], 0)
    given = {0: found.grid_values[0]}
    theirs, expected = processor_seconds(
        lambda: by_predictions(model, X[:500], [0], custom_values=given, method="brute"), 1
    )
    ours, _ = processor_seconds(lambda: partial_dependence(model, X[:500], 0))
    difference = np.abs(found.average - expected["average"]).max()
    rows_of.append(["scikit-learn's partial dependence / this", f"{theirs / ours:.1f}"])
    rows_of.append(["largest difference of both", f"{difference:.1e}"])
    print_table("1,000 training rows, 20 columns", ["Explanation", "Processor time"], rows_of)


def tiles(options: argparse.Namespace) -> None:
    """Print processor seconds of a row by the size of tiles."""
    X, model = problem()
    known = product_values._TILE_VALUES
    rows = []
    for factor in (0.0625, 0.25, 1.0, 4.0, 16.0):
        product_values._TILE_VALUES = int(factor * known)
        found, _ = processor_seconds(lambda: shapley_values(model, X[:10], X[-N_BACKGROUND:]))
        rows.append([f"{int(factor * known):,}", f"{found / 10:.4f} s"])
    product_values._TILE_VALUES = known
    print_table("Shapley values", ["Factors of a tile", "Processor time of a row"], rows)


def kernel_explainer(options: argparse.Namespace) -> None:
    """Print the processor time of shap's kernel explainer relative to that of exact values."""
    shap = imported_shap()
    X, model = problem()
    background, rows = X[-N_BACKGROUND:], X[:3]
    ours, exact = processor_seconds(lambda: shapley_values(model, rows, background))
    size, lines = np.abs(exact.values).max(), []
    explainer = shap.KernelExplainer(partial(in_parts, model), background)
    for n_samples in (512, 2 * D + 2048, 8192, 32768):

        def explained(n_samples: int = n_samples) -> Array:
            np.random.seed(0)  # noqa: NPY002 - The explainer draws from NumPy's global state.
            return explainer.shap_values(rows, nsamples=n_samples, silent=True, l1_reg=False)

        theirs, found = processor_seconds(explained, 1)
        error = np.abs(found - exact.values).max() / size
        lines.append(
            [f"{n_samples:,}", f"{error:.1e}", f"{theirs / 3:.1f} s", f"{theirs / ours:,.0f}"]
        )
        if error <= 1e-3:
            break
    header = ["Samples", "Largest error", "Processor time of a row", "Ratio [100]"]
    print_table(f"KernelExplainer; exact values take {ours / 3:.3f} s a row", header, lines)


def agreement(options: argparse.Namespace) -> None:
    """Print differences from shap's exact explainer, and of sums from predictions."""
    shap = imported_shap()
    rows = []
    for name, load in (("diabetes", load_diabetes), ("iris", load_iris), ("wine", load_wine)):
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        if name == "diabetes":
            model: Any = ridge_on(Laplacian(9.0, norm=1.0), X, y)
        else:
            model = KernelStackingClassifier([Gaussian(3.0)], approximation="nystroem").fit(X, y)
        background, some = X[::12], X[5:400:40]
        function = model.kernel_expansion()
        explainer = shap.explainers.Exact(function, shap.maskers.Independent(background, 100))
        expected = explainer(some).values
        found = shapley_values(model, some, background).values.reshape(expected.shape)
        rows.append([name, f"{np.abs(found - expected).max():.1e}"])
    X, model = problem()
    found = shapley_values(model, X, 10)
    difference = np.abs(found.predictions - model.predict(X)).max()
    rows.append(["sums and predictions of 1,000 rows [1e-9]", f"{difference:.1e}"])
    print_table("shap's exact explainer [1e-6]", ["Data set", "Largest difference"], rows)


def shares(options: argparse.Namespace) -> None:
    """Print shares of variance beside estimates, and those of Friedman's function."""
    X, y = make_friedman1(200, n_features=5, noise=0.5, random_state=0)
    model = ridge_on(Gaussian(1.0), X, y)
    found = sobol_indices(model, X[:50])
    rng, n = np.random.default_rng(0), 1_000_000
    A, B = (np.column_stack([rng.choice(column, n) for column in X[:50].T]) for _ in range(2))
    f_a, f_b = in_parts(model, A), in_parts(model, B)
    center = f_a.mean()
    rows = []
    for j in range(5):
        mixed = B.copy()
        mixed[:, j] = A[:, j]
        # Sobol 2001, with the values centered, which lowers the variance of the estimate.
        terms = (f_a - center) * (in_parts(model, mixed) - f_b) / found.variance
        error = terms.std() / np.sqrt(n)
        deviation = (terms.mean() - found.first_order[j]) / error
        rows.append([f"x{j}", f"{found.first_order[j]:.4f}", f"{deviation:+.2f}"])
    header = ["Column", "First-order share", "10^6 draws: standard errors away"]
    print_table("Shares of variance", header, rows)

    grid = (np.arange(2000) + 0.5) / 2000
    term = 10.0 * np.sin(np.pi * np.outer(grid, grid))
    single, both = term.mean(axis=1).var(), term.var()
    variances = np.array([single, single, 400.0 / 180.0, 100.0 / 12.0, 25.0 / 12.0])
    total = both + variances[2:].sum()
    X, y = make_friedman1(1000, n_features=5, noise=1.0, random_state=0)
    even = np.column_stack([rng.permutation(grid[2::5]) for _ in range(5)])
    found = sobol_indices(TwoStageRegressor().fit(X, y), even)
    rows = [
        [f"x{j}", f"{v / total:.3f}", f"{s:.3f}"]
        for j, (v, s) in enumerate(zip(variances, found.first_order, strict=True))
    ]
    pair = (both - 2.0 * single) / total
    rows.append(["x0 and x1 together", f"{pair:.3f}", f"{found.second_order[0, 1]:.3f}"])
    header = ["Column", "By hand", "Found in 1,000 rows, noise 1"]
    print_table("Shares of Friedman's function", header, rows)


def in_parts(model: TwoStageRegressor, rows: Array) -> Array:
    """Predictions of many rows."""
    return np.concatenate([model.predict(rows[part]) for part in gen_batches(len(rows), 10_000)])


def imported_shap() -> Any:
    """The package shap; it warns of what it will change when it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shap
    return shap


if __name__ == "__main__":
    every = [times, tiles, shares, agreement, kernel_explainer]
    if find_spec("shap") is None:
        print("shap is not installed: agreement and kernel_explainer are left out")
        every = every[:3]
    run_named(__doc__, {function.__name__: function for function in every})
