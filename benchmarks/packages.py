"""One-stage learning beside other packages, MKLpy and himalaya, on two threads.

    pip install MKLpy himalaya
    MERCER_DATA=/path/to/sets python benchmarks/packages.py [NAME ...] [--repeats R]

The packages are no dependency of this project; benchmarks of one that is not installed are skipped.
Each takes the same Gram matrices or features, in memory; of repeated timings, the median is
printed, and its ratio to this package's at a gap of 1e-3. "Above" is an upper bound of the relative
excess of an objective over the optimum of the problem that is named, of which a duality gap of 1e-7
gives a lower bound. The objective is that of the solution that was returned or, where the problems
differ, that of the best machine for the weights that were returned.

margin
    MKLpy. 20 Gaussian Gram matrices, centered, of mean diagonal one, n = 300, spambase and image,
    standardized; support vector machines of hard margin (C = 1e7, as MKLpy has it). The optima are
    those over weights of l1-norm one (`L1SVM`) and of l2-norm one. `MEMO(theta=0)` and `RMKL` of
    large C ascend the squared margin and divide by the sum of the weights after each step: as all
    slopes are positive, this comes to rest where weights are proportional to slopes, which is the
    optimum of l2-norm, not of l1-norm. They make a given number of steps, 1,000 of length 0.01
    unless told otherwise; of ten steps of length 0.1, 1, 10 or 100, those of 10 end nearest.
    `EasyMKL` takes its weights from one machine on the uniform sum; `AverageMKL` learns none. No
    method of MKLpy 0.6 solves the l1-norm's problem, and its GRAM does not run on NumPy 2.
alignf
    MKLpy's `CKA`, weights of either sign of the largest centered alignment, against
    `AlignmentMaximization(signs="free")`: n = 1000, spambase, 5 and 20 Gaussian widths. Both solve
    in closed form; nested widths make the system nearly singular.
group_lasso
    himalaya's `solve_sparse_group_lasso` against `MKLRegressor(norm=1)` on linear kernels of groups
    of features, each of mean diagonal one: the six views of mfeat, n = 2000, odd digits against
    even, centered: min |y - Xw|^2 / (2 alpha) + (sum |w_g|)^2 / 2. Its solution is that of
    himalaya's min |y - Xw|^2 / 2 + lambda sum |w_g| for lambda = alpha sum |w_g| at the optimum.
ridge
    himalaya's `solve_weighted_kernel_ridge_conjugate_gradient` against `MKLRegressor(norm=inf)`:
    kernel ridge regression with equal weights, kin8nm, n = 1000, 20 Gaussian Gram matrices.
cross_validation
    himalaya's random search (20 draws) and descent (30 steps) of a cross-validation error in
    weights and penalty, as `MultipleKernelRidgeCV` has them, 5 folds: another problem than
    `MKLRegressor` solves. kin8nm, n = 300, 20 Gaussian Gram matrices; "above" is at the penalty
    that himalaya chose.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from common import (
    THREADS,
    Array,
    Labels,
    alternate,
    command_line,
    load_data_set,
    print_table,
    standardized_sample,
)
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.preprocessing import StandardScaler
from speed import squared_distances, widths_around
from threadpoolctl import threadpool_limits

from mercer import AlignmentMaximization, MKLClassifier, MKLRegressor
from mercer.kernels import Linear, OnColumns
from mercer.metrics import centered_alignment

HARD, PRECISE = 1e7, 1e-7
"""The value of C of a hard margin, and the duality gap to which optima are known."""

Fits = dict[str, Callable[[], Any]]


def gaussian_grams(X: Array, number: int = 20) -> Array:
    """Return centered Gaussian Gram matrices of mean diagonal one, shape (number, n, n)."""
    D = squared_distances(X)
    np.fill_diagonal(D, 0.0)
    D = (D + D.T) / 2.0
    grams = np.exp(-D / widths_around(D, number)[:, None, None] ** 2)
    grams -= grams.mean(axis=1, keepdims=True)
    grams -= grams.mean(axis=2, keepdims=True)
    grams *= len(X) / np.trace(grams, axis1=1, axis2=2)[:, None, None]
    return np.asarray(grams)


def kernels_last(grams: Array) -> Array:
    """Return the stack in the order of axes that this package takes."""
    return np.ascontiguousarray(np.moveaxis(grams, 0, 2))


def quietly(function: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that neither prints nor warns."""

    def call() -> Any:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()

    return call


def timed(fits: Fits, repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return median times of fits that take turns, and their results."""
    results: dict[str, Any] = {}

    def keep(name: str, fit: Callable[[], Any]) -> None:
        results[name] = fit()

    runs = {name: partial(keep, name, fit) for name, fit in fits.items()}
    times = {name: float(np.median(values)) for name, values in alternate(runs, repeats).items()}
    return times, results


class Optimum:
    """The least objective over weights of given norm, and the excess of other weights over it.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
    y : ndarray of shape (n_samples,)
    model : estimator
        Learns the weights of precomputed kernels as they are.
    """

    def __init__(self, grams: Array, y: Array | Labels, model: Any) -> None:
        self.grams, self.y, self.model = grams, y, model
        found = model.set_params(tol=PRECISE).fit(kernels_last(grams), y)
        self.bound = found.objective_ * (1.0 - found.dual_gap_)

    def above(self, weights: Array) -> float:
        """Return the relative excess of the objective at weights, scaled to the norm."""
        weights = weights / np.linalg.norm(weights, ord=self.model.norm)
        gram = np.tensordot(weights, self.grams, axes=1)
        reached = self.model.fit(gram[:, :, None], self.y).objective_
        return float(reached / self.bound - 1.0)


def margin(repeats: int) -> None:
    """Compare machines of hard margin with MKLpy's."""
    for name in ("spambase", "image"):
        X, y = standardized_sample(name, 300, seed=0)
        margin_of(name, X, 2 * y - 1, repeats)


def margin_of(name: str, X: Array, y: Labels, repeats: int) -> None:
    """Compare machines of hard margin on one set."""
    import torch
    from MKLpy.algorithms import MEMO, RMKL, AverageMKL, EasyMKL

    torch.set_num_threads(THREADS)
    grams = gaussian_grams(X)
    stack, tensors, labels = kernels_last(grams), list(torch.tensor(grams)), torch.tensor(y)

    def own(norm: float, tol: float = 1e-3) -> MKLClassifier:
        return MKLClassifier("precomputed", norm=norm, C=HARD, normalize=None, tol=tol)

    ours = {
        f"mercer, l{norm:g}-norm, to {tol:g}": own(norm, tol)
        for norm in (2.0, 1.0)
        for tol in (1e-3, 1e-6)
    }
    steps: dict[str, Any] = {"learning_rate": 10.0, "max_iter": 10}
    theirs = {
        "MEMO(theta=0), 10 steps of 10": (MEMO(theta=0.0, **steps), "l2"),
        "RMKL(C=1e7), 10 steps of 10": (RMKL(C=HARD, **steps), "l2"),
        "MEMO(theta=0), 50 steps of 0.01": (MEMO(theta=0.0, max_iter=50), "l2"),
        "EasyMKL(lam=0)": (EasyMKL(lam=0.0), "one machine"),
        "EasyMKL()": (EasyMKL(), "one machine"),
        "AverageMKL()": (AverageMKL(), "none"),
    }
    fits: Fits = {key: partial(model.fit, stack, y) for key, model in ours.items()}
    fits |= {key: quietly(partial(m.fit, tensors, labels)) for key, (m, _) in theirs.items()}
    times, _ = timed(fits, repeats)
    weights = {key: model.weights_ for key, model in ours.items()}
    weights |= {key: model.solution.weights.double().numpy() for key, (model, _) in theirs.items()}
    problems = {key: f"l{model.norm:g}" for key, model in ours.items()}
    problems |= {key: problem for key, (_, problem) in theirs.items()}
    optima = [Optimum(grams, y, own(norm)) for norm in (2.0, 1.0)]
    unit = times["mercer, l2-norm, to 0.001"]
    rows = []
    for key, found in weights.items():
        above = [f"{100.0 * optimum.above(found):.2g}" for optimum in optima]
        rows.append([key, problems[key], f"{times[key]:.3f}", f"{times[key] / unit:.1f}", *above])
    header = ["method", "problem", "s", "ratio", "above l2, %", "above l1, %"]
    print_table(f"margin: {name}", header, rows)


def alignf(repeats: int) -> None:
    """Compare the maximization of alignment over weights of either sign with MKLpy's."""
    import torch
    from MKLpy.algorithms import CKA

    torch.set_num_threads(THREADS)
    X, y = standardized_sample("spambase", 1000, seed=0)
    y, rows = 2 * y - 1, []
    for number in (5, 20):
        grams = gaussian_grams(X, number)
        own, other = AlignmentMaximization("precomputed", signs="free"), CKA()
        run = partial(other.combine_kernels, list(torch.tensor(grams)), torch.tensor(y))
        fits: Fits = {
            "mercer": quietly(partial(own.fit, kernels_last(grams), y)),
            "MKLpy's CKA": quietly(run),
        }
        times, _ = timed(fits, repeats)
        weights = {"mercer": own.weights_, "MKLpy's CKA": other.solution.weights.numpy()}
        for key, time in times.items():
            reached = centered_alignment(np.tensordot(weights[key], grams, axes=1), y)
            ratio = time / times["mercer"]
            rows.append(
                [f"{number} widths, {key}", f"{time:.3f}", f"{ratio:.1f}", f"{reached:.4f}"]
            )
    print_table("alignf", ["method", "s", "ratio", "alignment"], rows)


@dataclass(frozen=True)
class Groups:
    """Features in groups, each a linear kernel of mean diagonal one, and a centered response."""

    X: Array
    y: Array
    members: list[NDArray[np.intp]]

    def kernels(self) -> list[OnColumns]:
        """Return one linear kernel for each group."""
        return [OnColumns(Linear(), columns.tolist()) for columns in self.members]

    def labels(self) -> Array:
        """Return the index of each feature's group."""
        return np.repeat(np.arange(len(self.members)), [c.size for c in self.members])

    def coefficients(self, model: MKLRegressor) -> Array:
        """Return the coefficients of the features that are equivalent to a fitted model."""
        return np.asarray(model.weights_[self.labels()] * (self.X.T @ model.dual_coef_[:, 0]))

    def norms(self, w: Array) -> Array:
        """Return the norms of the coefficients of each group."""
        return np.array([np.linalg.norm(w[columns]) for columns in self.members])

    def objective(self, w: Array, alpha: float) -> float:
        """Return |y - Xw|^2 / (2 alpha) + (sum |w_g|)^2 / 2."""
        errors = float(np.sum((self.y - self.X @ w) ** 2))
        return 0.5 * errors / alpha + 0.5 * float(self.norms(w).sum()) ** 2


def views() -> Groups:
    """Return six views of handwritten digits, odd against even."""
    bunch = load_data_set("mfeat")
    members = [np.arange(view.start, view.stop) for view in bunch.views.values()]
    X = StandardScaler().fit_transform(bunch.data.astype(np.float64))
    for columns in members:
        X[:, columns] /= np.sqrt(columns.size)
    y = bunch.target.astype(int) % 2.0
    return Groups(X, y - y.mean(), members)


def group_lasso(repeats: int) -> None:
    """Compare kernel weights of l1-norm and squared loss with himalaya's group lasso."""
    from himalaya.lasso import solve_sparse_group_lasso

    groups, rows = views(), []
    X, y = groups.X, groups.y
    solve = partial(solve_sparse_group_lasso, X, y[:, None], groups.labels(), l1_reg=0.0)
    solve = partial(solve, max_iter=100_000, progress_bar=False)
    options: dict[str, Any] = {"norm": 1.0, "normalize": None, "fit_intercept": False}
    for alpha in (1.0, 30.0, 1000.0):
        own = partial(MKLRegressor, groups.kernels(), alpha=alpha, **options)
        best = own(tol=PRECISE).fit(X, y)
        bound = best.objective_ * (1.0 - best.dual_gap_)
        penalty = alpha * groups.norms(groups.coefficients(best)).sum() / len(y)
        fits: Fits = {
            f"mercer, to {tol:g}": partial(own(tol=tol).fit, X, y) for tol in (1e-3, 1e-6)
        }
        fits |= {
            f"himalaya, tol={tol:g}": partial(solve, l21_reg=penalty, tol=tol)
            for tol in (1e-4, 1e-6)
        }
        times, results = timed(fits, repeats)
        for key, found in results.items():
            w = groups.coefficients(found) if key.startswith("mercer") else found[:, 0]
            ratio = times[key] / times["mercer, to 0.001"]
            above = 100.0 * (groups.objective(w, alpha) / bound - 1.0)
            used = int(np.count_nonzero(groups.norms(w)))
            cells = [f"{times[key]:.2f}", f"{ratio:.1f}", f"{above:.2g}", f"{used}"]
            rows.append([f"alpha = {alpha:g}, {key}", *cells])
    print_table("group_lasso: mfeat", ["method", "s", "ratio", "above, %", "views"], rows)


def regression(n_samples: int) -> tuple[Array, Array]:
    """Return Gaussian Gram matrices of random samples of kin8nm, and standardized responses."""
    bunch = load_data_set("kin8nm")
    rows = np.random.default_rng(0).permutation(len(bunch.target))[:n_samples]
    y = bunch.target[rows]
    return gaussian_grams(bunch.data[rows]), (y - y.mean()) / y.std()


def ridge(repeats: int) -> None:
    """Compare kernel ridge regression with given weights with himalaya's."""
    from himalaya.kernel_ridge import solve_weighted_kernel_ridge_conjugate_gradient as solve

    grams, y = regression(1000)
    total, stack = grams.sum(axis=0), kernels_last(grams)
    options: dict[str, Any] = {"norm": np.inf, "normalize": None, "fit_intercept": False}
    rows = []
    for alpha in (1e-3, 1.0):
        own = MKLRegressor("precomputed", alpha=alpha, **options)
        run = partial(solve, grams, y[:, None], np.zeros(len(grams)), alpha=alpha)
        fits: Fits = {"mercer": partial(own.fit, stack, y), "himalaya, 100 steps at most": run}
        fits["himalaya, 10,000 steps at most, tol=1e-6"] = partial(run, max_iter=10_000, tol=1e-6)
        times, results = timed(fits, repeats)
        exact = cho_solve(cho_factor(total + alpha * np.eye(len(y))), y)
        for key, found in results.items():
            c = found.dual_coef_[:, 0] if key == "mercer" else found[:, 0]
            f = total @ c
            reached = 0.5 * np.sum((y - f) ** 2) / alpha + 0.5 * c @ f
            above = 100.0 * (reached / (0.5 * y @ exact) - 1.0)
            ratio = times[key] / times["mercer"]
            cells = [f"{times[key]:.3f}", f"{ratio:.1f}", f"{above:.2g}"]
            rows.append([f"alpha = {alpha:g}, {key}", *cells])
    print_table("ridge: kin8nm", ["method", "s", "ratio", "above, %"], rows)


def cross_validation(repeats: int) -> None:
    """Compare with himalaya's weights, which minimize a cross-validation error."""
    from himalaya.kernel_ridge import (
        solve_multiple_kernel_ridge_hyper_gradient,
        solve_multiple_kernel_ridge_random_search,
    )

    grams, y = regression(300)
    options: dict[str, Any] = {"cv": 5, "progress_bar": False, "random_state": 0}
    alphas = np.logspace(-5, 5, 11)
    fits: Fits = {
        "random search, 20 draws": partial(
            solve_multiple_kernel_ridge_random_search,
            *(grams, y[:, None], 20),
            alphas=alphas,
            **options,
        ),
        "descent, 30 steps": partial(
            solve_multiple_kernel_ridge_hyper_gradient,
            *(grams, y[:, None]),
            initial_deltas="ridgecv",
            max_iter=30,
            **options,
        ),
    }
    times, results = timed(fits, repeats)
    fixed: dict[str, Any] = {"normalize": None, "fit_intercept": False}
    rows = []
    for key, (log_weights, *_) in results.items():
        weights = np.exp(log_weights[:, 0])
        row = [f"himalaya, {key}", f"{times[key]:.2f}"]
        for norm in (2.0, 1.0):
            alpha = 1.0 / float(np.linalg.norm(weights, ord=norm))
            own = MKLRegressor("precomputed", norm=norm, alpha=alpha, **fixed)
            own_fit = partial(own.fit, kernels_last(grams), y)
            row.append(f"{times[key] / timed({'own': own_fit}, repeats)[0]['own']:.1f}")
            row.append(f"{100.0 * Optimum(grams, y, own).above(weights):.2g}")
        rows.append(row)
    header = ["method", "s", "ratio to l2", "above l2, %", "ratio to l1", "above l1, %"]
    print_table("cross_validation: kin8nm", header, rows)


BENCHMARKS: dict[str, tuple[str, Callable[[int], None]]] = {
    "margin": ("MKLpy", margin),
    "alignf": ("MKLpy", alignf),
    "group_lasso": ("himalaya", group_lasso),
    "ridge": ("himalaya", ridge),
    "cross_validation": ("himalaya", cross_validation),
}
"""The benchmarks, each with the package that it needs."""


def main() -> None:
    """Run the benchmarks that the command line names."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--repeats", type=int, default=3, help="timings of each fit")

    names, options = command_line(__doc__, BENCHMARKS, add_options)
    with threadpool_limits(THREADS):
        for name in names:
            package, benchmark = BENCHMARKS[name]
            if find_spec(package) is None:
                print(f"{name}: skipped, {package} is not installed (pip install {package})")
            else:
                benchmark(options.repeats)


if __name__ == "__main__":
    main()
