"""Speed of probabilistic kernel learning, on two threads; ratios of times within one run.

    MERCER_DATA=/path/to/sets python benchmarks/probabilistic.py [NAME ...] [--repeats R] [--seed S]

length_scales
    Eight length scales, a variance and noise by marginal likelihood: 1,000 samples of kin8nm,
    features standardized. `BayesianMKLRegressor([Gaussian(ard=True)], learn_parameters=True)`, at
    its own tolerance and at a hundredth of it, against scikit-learn's `GaussianProcessRegressor`,
    from the same start, within the same bounds, without restarts. Root mean squared error and mean
    log predictive density on the other samples.

Of repeated timings, the median is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from common import THREADS, Array, Part, alternate, command_line, load_data_set, print_table
from sklearn.base import RegressorMixin
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from mercer import BayesianMKLRegressor
from mercer.kernels import Gaussian

SHORTEST, LONGEST = 0.05, 100.0
"""Bounds of length scales, in the convention of scikit-learn."""
FIRST_NOISE = 0.1
"""The noise variance at which scikit-learn's search starts."""
LARGEST_RATIO = 0.2
"""The ratio to scikit-learn's time must be at most this."""


def responses(seed: int) -> Part:
    """Return kin8nm, in random order."""
    bunch = load_data_set("kin8nm")
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    return bunch.data[order].astype(np.float64), bunch.target[order].astype(np.float64)


def mean_log_density(model: RegressorMixin, X: Array, y: Array) -> float:
    """Return the mean of ln N(y | mean, variance) of new responses."""
    if isinstance(model, BayesianMKLRegressor):
        mean, std = model.predict(X, return_std=True, include_noise=True)
    else:
        mean, std = model.predict(X, return_std=True)
    return float(np.mean(-0.5 * ((y - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2.0 * np.pi)))


def length_scales(repeats: int, seed: int, n_samples: int = 1000) -> None:
    """Compare one length scale per feature, by marginal likelihood, with scikit-learn's."""
    X, y = responses(seed)
    X, d = scale(X), X.shape[1]
    widths = np.sqrt(2.0) * np.array([SHORTEST, 1.0, LONGEST])
    kernel = Gaussian(np.full(d, widths[1]), ard=True, bounds=(widths[0], widths[2]))
    models: dict[str, RegressorMixin] = {
        f"mercer, tol {tol:g}": BayesianMKLRegressor(
            [kernel], learn_parameters=True, n_starts=1, normalize_y=True, tol=tol
        )
        for tol in (1e-4, 1e-6)
    }
    wide = (np.exp(-20.0), np.exp(20.0))
    models["scikit-learn"] = GaussianProcessRegressor(
        ConstantKernel(1.0, wide) * RBF(np.ones(d), (SHORTEST, LONGEST))
        + WhiteKernel(FIRST_NOISE, (FIRST_NOISE * wide[0], FIRST_NOISE * wide[1])),
        normalize_y=True,
    )
    train, test = slice(n_samples), slice(n_samples, None)
    fits = {name: partial(model.fit, X[train], y[train]) for name, model in models.items()}
    times = {name: float(np.median(t)) for name, t in alternate(fits, repeats).items()}
    reference = models["scikit-learn"]
    best = float(reference.log_marginal_likelihood_value_)
    rows = []
    for name, model in models.items():
        own = isinstance(model, BayesianMKLRegressor)
        evidence = model.log_marginal_likelihood_ if own else best
        error = np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))
        rows.append(
            [
                name,
                f"{times[name]:.2f}",
                f"{times[name] / times['scikit-learn']:.3f}",
                f"{evidence:.5f}",
                f"{evidence - best:.1e}",
                f"{(evidence - best) / abs(best):.1e}",
                f"{error:.5f}",
                f"{mean_log_density(model, X[test], y[test]):.5f}",
                f"{model.n_iter_}" if own else "",
            ]
        )
    header = ["model", "s", "ratio", "log likelihood", "difference", "relative", "test RMSE"]
    header += ["test density", "steps"]
    print_table(f"length_scales: kin8nm, n = {n_samples}, d = {d}", header, rows)
    ratio = times["mercer, tol 0.0001"] / times["scikit-learn"]
    holds = "holds" if ratio <= LARGEST_RATIO else "DOES NOT HOLD"
    print(f"  at most {LARGEST_RATIO:g} of scikit-learn's time: {ratio:.3f}, {holds}")


BENCHMARKS: dict[str, Callable[[int, int], None]] = {
    "length_scales": length_scales,
}


def main() -> None:
    """Run the benchmarks that the command line names."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--repeats", type=int, default=3, help="timings of each side")
        parser.add_argument("--seed", type=int, default=0, help="of the samples")

    names, options = command_line(__doc__, BENCHMARKS, add_options)
    with threadpool_limits(THREADS):
        for name in names:
            BENCHMARKS[name](options.repeats, options.seed)


if __name__ == "__main__":
    main()
