"""Comparisons of mercer with other packages, for the page that `peers.py` writes.

Data are standardized samples of the sets that `MERCER_DATA` names. "Above" is how far an objective
is above a lower bound of the optimum, which mercer's duality gap proves at a tolerance of 1e-7.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import THREADS, Array, Part, load_data_set, standardized_sample, whole
from peer_problems import (
    HARD,
    PRECISE,
    REACHED,
    SIGMA_ONE,
    Comparison,
    Optimum,
    best_times,
    coefficients_apart,
    compared_tables,
    kernels_last,
    labeled_grams,
    other_package,
    percent,
    quietly,
    regression,
    ridge_excess,
    views,
)
from scipy.linalg import cho_factor, cho_solve
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from mercer import (
    AlignmentMaximization,
    BayesianMKLRegressor,
    GradientOuterProduct,
    HSICLasso,
    KernelStackingRegressor,
    MKLClassifier,
    MKLRegressor,
    TwoStageRegressor,
)
from mercer.kernels import Gaussian, Linear
from mercer.metrics import centered_alignment
from mercer.probabilistic import (
    GaussianLikelihood,
    LaplaceLikelihood,
    LogisticLikelihood,
    posterior,
)

# Bounds of length scales, in the convention of scikit-learn, and the noise its search starts from.
SHORTEST, LONGEST, FIRST_NOISE = 0.05, 100.0, 0.1

PLAIN: dict[str, Any] = {"normalize": None, "fit_intercept": False}
"""Kernels as they are, and no intercept, as himalaya has it."""


def kin8nm() -> Part:
    """Return kin8nm, in random order."""
    X, y = whole("kin8nm")
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order].astype(np.float64)


def mklpy(repeats: int) -> Iterator[Comparison]:
    """Compare weights for classifiers, and the maximization of alignment."""
    import torch
    from MKLpy.algorithms import CKA, MEMO, RMKL, EasyMKL

    torch.set_num_threads(THREADS)
    steps: dict[str, Any] = {"learning_rate": 10.0, "max_iter": 10}
    machines = {
        300: {"MEMO(theta=0)": MEMO(theta=0.0, **steps), "RMKL(C=1e7)": RMKL(C=HARD, **steps)},
        1500: {"MEMO(theta=0)": MEMO(theta=0.0, **steps)},
    }
    for n, others in machines.items():
        grams, y = labeled_grams("image", n)
        own = MKLClassifier("precomputed", norm=2.0, C=HARD, normalize=None)
        optimum = Optimum(grams, y, MKLClassifier("precomputed", norm=2.0, C=HARD, normalize=None))
        for name, machine in others.items():
            fit = partial(machine.fit, list(torch.tensor(grams)), torch.tensor(y))
            own_time, time, found, _ = best_times(
                partial(own.fit, kernels_last(grams), y), fit, repeats
            )
            above = optimum.above(machine.solution.weights.double().numpy())
            agreement = f"above: {percent(optimum.above(found.weights_))}, {percent(above)}"
            problem = f"hard margin, l2-norm, image, n = {n}, 20 kernels"
            yield Comparison(problem, name, True, above <= REACHED, own_time, time, agreement)
    for norm in (1.0, 2.0):
        soft, easy = MKLClassifier("precomputed", norm=norm, normalize=None), EasyMKL()
        fit = partial(easy.fit, list(torch.tensor(grams)), torch.tensor(y))
        own_time, time, found, _ = best_times(
            partial(soft.fit, kernels_last(grams), y), fit, repeats
        )
        problem = f"hinge loss, l{norm:g}-norm, C = 1, image, n = 1500, 20 kernels"
        agreement = f"mercer's gap {found.dual_gap_:.0e}; EasyMKL minimizes another objective"
        yield Comparison(problem, "EasyMKL()", False, False, own_time, time, agreement)
    grams, y = labeled_grams("spambase", 1000)
    own_weights, other = AlignmentMaximization("precomputed", signs="free"), CKA()
    run = partial(other.combine_kernels, list(torch.tensor(grams)), torch.tensor(y))
    own_time, time, _, _ = best_times(
        partial(own_weights.fit, kernels_last(grams), y), run, repeats
    )
    reached = [
        centered_alignment(np.tensordot(weights, grams, axes=1), y)
        for weights in (own_weights.weights_, other.solution.weights.numpy())
    ]
    agreement = f"alignment: {reached[0]:.6f}, {reached[1]:.6f}"
    close = reached[1] >= (1.0 - REACHED) * reached[0]
    problem = "weights of largest alignment, spambase, n = 1000, 20 kernels"
    yield Comparison(problem, "CKA()", True, close, own_time, time, agreement)


def himalaya(repeats: int) -> Iterator[Comparison]:
    """Compare the group lasso, and ridge regression on kernels and on features."""
    yield from group_lasso(repeats)
    yield from ridge(repeats)
    yield from cross_validation(repeats)


def group_lasso(repeats: int) -> Iterator[Comparison]:
    """Compare weights of l1-norm and squared loss with the group lasso of the same optimum.

    himalaya has no duality gap. Its tolerance decides how far its result is above the optimum, and
    mercer's gap has to be as small.
    """
    from himalaya.lasso import solve_sparse_group_lasso

    groups = views()
    X, y = groups.X, groups.y
    solve = partial(solve_sparse_group_lasso, X, y[:, None], groups.labels(), l1_reg=0.0)
    solve = partial(solve, max_iter=100_000, progress_bar=False)
    for alpha in (1.0, 30.0, 1000.0):
        own = partial(MKLRegressor, groups.kernels(), alpha=alpha, norm=1.0, **PLAIN)
        best = own(tol=PRECISE).fit(X, y)
        bound = best.objective_ * (1.0 - best.dual_gap_)
        penalty = alpha * groups.norms(groups.coefficients(best)).sum() / len(y)
        for tol in (1e-2, 1e-3):
            other = partial(solve, l21_reg=penalty, tol=tol)
            above = groups.objective(quietly(other)()[:, 0], alpha) / bound - 1.0
            fit = partial(own(tol=above).fit, X, y)
            own_time, time, model, _ = best_times(fit, other, repeats)
            reached = groups.objective(groups.coefficients(model), alpha) / bound - 1.0
            agreement = f"above: {percent(reached)}, {percent(above)}"
            problem = f"group lasso, mfeat, n = 2000, 649 features in six groups, alpha = {alpha:g}"
            peer = f"solve_sparse_group_lasso(tol={tol:g})"
            yield Comparison(problem, peer, True, above <= REACHED, own_time, time, agreement)


def ridge(repeats: int) -> Iterator[Comparison]:
    """Compare ridge regression on given kernels, on one kernel, and on features."""
    from himalaya.kernel_ridge import solve_kernel_ridge_eigenvalues
    from himalaya.kernel_ridge import solve_weighted_kernel_ridge_conjugate_gradient as by_gradient
    from himalaya.ridge import solve_ridge_svd

    grams, y = regression(1000)
    stack, column = kernels_last(grams), y[:, None]
    own = partial(MKLRegressor, norm=np.inf, **PLAIN)
    for alpha in (1e-3, 1.0):
        model = own("precomputed", alpha=alpha)
        exact = cho_solve(cho_factor(grams.sum(axis=0) + alpha * np.eye(len(y))), y)
        other = partial(by_gradient, grams, column, np.zeros(len(grams)), alpha=alpha)
        own_time, time, _, found = best_times(partial(model.fit, stack, y), other, repeats)
        above = ridge_excess(grams.sum(axis=0), y, alpha, found[:, 0], exact)
        reached = ridge_excess(grams.sum(axis=0), y, alpha, model.dual_coef_[:, 0], exact)
        agreement = f"above: {percent(reached)}, {percent(above)}"
        problem = f"ridge on 20 kernels of given weights, kin8nm, n = 1000, alpha = {alpha:g}"
        peer = "solve_weighted_kernel_ridge_conjugate_gradient"
        yield Comparison(problem, peer, True, above <= REACHED, own_time, time, agreement)
    one = own("precomputed", alpha=0.1)
    other = partial(solve_kernel_ridge_eigenvalues, grams[10], column, alpha=0.1)
    own_time, time, _, found = best_times(partial(one.fit, stack[:, :, 10:11], y), other, repeats)
    agreement = coefficients_apart(one.dual_coef_[:, 0], found[:, 0])
    problem = "ridge on one Gram matrix, kin8nm, n = 1000, alpha = 0.1"
    yield Comparison(
        problem, "solve_kernel_ridge_eigenvalues", True, True, own_time, time, agreement
    )
    groups = views()
    linear = own([Linear()], alpha=10.0)
    other = partial(solve_ridge_svd, groups.X, groups.y[:, None], alpha=10.0, fit_intercept=False)
    own_time, time, _, found = best_times(partial(linear.fit, groups.X, groups.y), other, repeats)
    agreement = coefficients_apart(groups.X.T @ linear.dual_coef_[:, 0], found[:, 0])
    problem = "ridge on features, mfeat, n = 2000, 649 features, alpha = 10"
    yield Comparison(problem, "solve_ridge_svd", True, True, own_time, time, agreement)


def cross_validation(repeats: int) -> Iterator[Comparison]:
    """Compare with weights that minimize a cross-validation error, at the penalty they imply."""
    from himalaya.kernel_ridge import (
        solve_multiple_kernel_ridge_hyper_gradient,
        solve_multiple_kernel_ridge_random_search,
    )

    grams, y = regression(300)
    options: dict[str, Any] = {"cv": 5, "progress_bar": False, "random_state": 0}
    options |= {"alphas": np.logspace(-5, 5, 11)}
    descent = {"initial_deltas": "ridgecv", "max_iter": 30, **options}
    search = partial(solve_multiple_kernel_ridge_random_search, grams, y[:, None], 20, **options)
    del descent["alphas"]
    others: dict[str, Callable[[], Any]] = {
        "random search, 20 draws": search,
        "descent, 30 steps": partial(
            solve_multiple_kernel_ridge_hyper_gradient, grams, y[:, None], **descent
        ),
    }
    for name, other in others.items():
        weights = np.exp(quietly(other)()[0][:, 0])
        alpha = 1.0 / float(np.linalg.norm(weights))
        own = MKLRegressor("precomputed", norm=2.0, alpha=alpha, **PLAIN)
        fit = partial(own.fit, kernels_last(grams), y)
        own_time, time, _, _ = best_times(fit, other, repeats)
        above = Optimum(grams, y, own).above(weights)
        agreement = (
            f"with himalaya's weights, mercer's objective is {percent(above)} above its optimum"
        )
        problem = f"weights of 20 kernels for ridge, kin8nm, n = 300, alpha = {alpha:.2g}"
        peer = f"MultipleKernelRidgeCV: {name}"
        yield Comparison(problem, peer, False, False, own_time, time, agreement)


def pyhsiclasso(repeats: int) -> Iterator[Comparison]:
    """Compare the selected features and their weights."""
    tables = compared_tables()
    for name in ("sonar n=208", "spambase n=500", "kin8nm n=500"):
        X, y, number, labels = tables[name]
        kept = X[:, X.std(axis=0) > 0.0]
        task, kernel = ("classification", None) if labels else ("regression", Gaussian(SIGMA_ONE))
        own, found = HSICLasso(number, task=task, output_kernel=kernel), list[Array]()
        other = partial(other_package, kept, y, number, labels, found)
        own_time, time, _, _ = best_times(partial(own.fit, kept, y), other, repeats)
        both = int(((found[-1] > 0.0) & own.support_).sum())
        apart = np.abs(found[-1] - own.weights_).max() / own.weights_.max()
        agreement = f"{both} of {number} features in common, weights {apart:.0e} apart"
        problem = f"HSIC lasso, {name}, {kept.shape[1]} features"
        yield Comparison(
            problem, "HSICLasso (B=0)", True, both == number, own_time, time, agreement
        )


def scikit_learn(repeats: int) -> Iterator[Comparison]:
    """Compare a support vector machine, ridge regression and a Gaussian process."""
    X, y = standardized_sample("image", 1500, seed=0)
    width = float(np.sqrt(X.shape[1]))
    machine = MKLClassifier([Gaussian(width)], C=10.0, normalize=None, tol=1e-3)
    svc = SVC(C=10.0, gamma=width**-2, tol=1e-3)
    own_time, time, _, _ = best_times(partial(machine.fit, X, y), partial(svc.fit, X, y), repeats)
    values = machine.decision_function(X), svc.decision_function(X)
    same = float(np.mean((values[0] > 0.0) == (values[1] > 0.0)))
    agreement = (
        f"{same:.2%} of the predictions are equal, and the decision values are "
        f"{np.abs(values[0] - values[1]).max():.0e} apart"
    )
    problem = "hinge loss, one Gaussian, image, n = 1500, C = 10"
    yield Comparison(problem, "SVC", True, True, own_time, time, agreement)
    X, y = kin8nm()
    X, y = scale(X)[:1500], y[:1500] - y[:1500].mean()
    width = float(np.sqrt(X.shape[1]))
    own = MKLRegressor([Gaussian(width)], alpha=0.1, **PLAIN)
    other = KernelRidge(alpha=0.1, kernel="rbf", gamma=width**-2)
    own_time, time, _, _ = best_times(partial(own.fit, X, y), partial(other.fit, X, y), repeats)
    agreement = coefficients_apart(own.dual_coef_[:, 0], other.dual_coef_)
    problem = "ridge on one Gaussian, kin8nm, n = 1500, alpha = 0.1"
    yield Comparison(problem, "KernelRidge", True, True, own_time, time, agreement)
    yield gaussian_process(X[:500], y[:500], repeats)


def gaussian_process(X: Array, y: Array, repeats: int) -> Comparison:
    """Compare length scales by marginal likelihood, from one start and within the same bounds."""
    widths = np.sqrt(2.0) * np.array([SHORTEST, 1.0, LONGEST])
    d, wide = X.shape[1], (np.exp(-20.0), np.exp(20.0))
    kernel = Gaussian(np.full(d, widths[1]), ard=True, bounds=(widths[0], widths[2]))
    own = BayesianMKLRegressor(
        [kernel], learn_parameters=True, n_starts=1, normalize_y=True, tol=1e-6
    )
    other = GaussianProcessRegressor(
        ConstantKernel(1.0, wide) * RBF(np.ones(d), (SHORTEST, LONGEST))
        + WhiteKernel(FIRST_NOISE, (FIRST_NOISE * wide[0], FIRST_NOISE * wide[1])),
        normalize_y=True,
    )
    own_time, time, _, _ = best_times(partial(own.fit, X, y), partial(other.fit, X, y), repeats)
    # mercer's is the density of the responses in their own unit, scikit-learn's of scaled ones.
    mine = own.log_marginal_likelihood_ + len(y) * float(np.log(y.std()))
    reached = mine, float(other.log_marginal_likelihood_value_)
    agreement = f"log likelihood: {reached[0]:.4f}, {reached[1]:.4f}"
    close = reached[1] >= reached[0] - REACHED * abs(reached[0])
    problem = f"{d} length scales by marginal likelihood, kin8nm, n = {len(y)}"
    return Comparison(problem, "GaussianProcessRegressor", True, close, own_time, time, agreement)


def xrfm(repeats: int) -> Iterator[Comparison]:
    """Compare test errors with those of recursive feature machines."""
    import torch
    from xrfm import xRFM

    torch.set_num_threads(THREADS)
    X, y = kin8nm()
    X, y = scale(X), scale(y)
    train, test = slice(1000), slice(1000, None)
    learners: dict[str, Any] = {
        "GradientOuterProduct": TwoStageRegressor(GradientOuterProduct()),
        "KernelStackingRegressor": KernelStackingRegressor(),
    }
    valid = np.arange(1000) % 5 == 0

    def fit_other() -> Any:
        parts = [torch.tensor(part.astype(np.float32)) for part in (X[train], y[train])]
        model = xRFM(device=torch.device("cpu"), verbose=False, random_state=0)
        model.fit(parts[0][~valid], parts[1][~valid], parts[0][valid], parts[1][valid])
        return model

    for name, learner in learners.items():
        own_time, time, own, other = best_times(
            partial(learner.fit, X[train], y[train]), fit_other, repeats
        )
        predicted = (
            own.predict(X[test]),
            np.asarray(other.predict(X[test].astype(np.float32))).ravel(),
        )
        scores = [1.0 - float(np.mean((y[test] - f) ** 2) / np.var(y[test])) for f in predicted]
        agreement = f"test R²: {scores[0]:.4f}, {scores[1]:.4f}"
        problem = f"{name}, kin8nm, n = 1000"
        yield Comparison(problem, "xRFM", False, False, own_time, time, agreement)


def gpml_values(folder: Path) -> list[list[str]]:
    """Return rows of GPML's negative log marginal likelihoods, and of mercer's."""
    cases = json.loads((folder / "probabilistic.json").read_text(encoding="utf-8"))["cases"]
    likelihoods: dict[str, Callable[[dict[str, float]], Any]] = {
        "logistic": lambda _: LogisticLikelihood(),
        "gauss": lambda values: GaussianLikelihood(values["s2"]),
        "laplace": lambda values: LaplaceLikelihood(values["tau"]),
    }
    rows = []
    for case in cases:
        if "GPML" not in (case.get("note") or ""):
            continue
        data = load_data_set(case["data"])
        chosen = slice(*case["rows"])
        X, y = scale(data.data[chosen].astype(np.float64)), data.target[chosen].astype(np.float64)
        y = np.where(y == y.max(), 1.0, -1.0) if case["lik"] == "logistic" else scale(y)
        kernels = [Gaussian(np.sqrt(2.0) * ell) for ell in case["ells"]]
        objective = "marginal_likelihood" if case["objective"] == "mlm" else case["objective"]
        found = posterior(
            X,
            y,
            kernels,
            np.array(case["theta"]),
            likelihood=likelihoods[case["lik"]](case["lik_par"]),
            objective=objective,
        )
        own, value = 0.5 * found.objective, case["nlZ"]
        title = f"{objective}, {case['lik']}, {case['data']}, n = {len(y)}"
        rows.append([title, f"{value:.8f}", f"{own:.8f}", f"{abs(own / value - 1.0):.0e}"])
    return rows


COMPARISONS: dict[str, Callable[[int], Iterator[Comparison]]] = {
    "MKLpy": mklpy,
    "himalaya": himalaya,
    "pyHSICLasso": pyhsiclasso,
    "scikit-learn": scikit_learn,
    "xRFM": xrfm,
}
"""The comparisons with each package."""
