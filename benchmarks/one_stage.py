"""Time of one-stage learning relative to one support vector machine, on two threads.

    MERCER_DATA=/path/to/sets python benchmarks/one_stage.py [NAME ...] [--repeats R]

l1svm
    `L1SVM().fit` over 20 Gaussian widths read off the data, n = 1000, to relative duality gaps of
    1e-3 and 1e-6, from features to predictions: spambase, image, waveform and splice,
    standardized, and MNIST digits, odd against even, raw pixels. The unit is the median time of
    `SVC(kernel="precomputed").fit` with scikit-learn's own tolerance, 1e-3, and the same C, given
    the uniform sum of the same kernels, centered and of equal traces; it takes turns with the fits.
    Kernels "active" are those of positive weight in some step: all 20, since the weights start
    equal; those "kept" have positive weight in the end.

Of repeated timings, the median is printed.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from common import Array, Labels, Part, alternate, print_table, run_named, standardized_sample
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC
from speed import odd_or_even

from mercer import L1SVM, UniformCombination

PENALTIES = (0.1, 1.0, 100.0)
TOLERANCES = (1e-3, 1e-6)
FITS_PER_KERNEL = 10.0
"""The time of l1-svm to a gap of 1e-3, in fits of a support vector machine for each active kernel,
must be at most this."""


def l1svm_problems() -> dict[str, Part]:
    """Return a thousand samples of each set, with labels -1 and 1."""
    problems = {}
    for name in ("spambase", "image", "waveform", "splice"):
        X, y = standardized_sample(name, 1000, seed=0)
        problems[name] = X, 2 * y - 1
    problems["mnist"] = odd_or_even(1000)
    return problems


def uniform_gram(X: Array, y: Labels) -> Array:
    """Return the Gram matrix that l1-svm starts from: centered, of mean diagonal one."""
    gram = UniformCombination(normalize="trace").fit(X, y).transform(X)
    gram = KernelCenterer().fit_transform(gram)
    return np.asarray(gram * (len(gram) / gram.trace()))


def l1svm(options: argparse.Namespace) -> None:
    """Compare l1-svm with one support vector machine."""
    rows, worst = [], 0.0
    for name, (X, y) in l1svm_problems().items():
        gram = uniform_gram(X, y)
        for C in PENALTIES:
            models = {tol: L1SVM(C=C, tol=tol) for tol in TOLERANCES}
            runs = {f"{tol}": partial(model.fit, X, y) for tol, model in models.items()}
            runs["svc"] = partial(SVC(kernel="precomputed", C=C).fit, gram, y)
            times = {
                run: float(np.median(t)) for run, t in alternate(runs, options.repeats).items()
            }
            for tol, model in models.items():
                active = max(step.n_kernels for step in model.history_)
                kept = int(np.count_nonzero(model.weights_))
                ratio = times[f"{tol}"] / times["svc"]
                worst = max(worst, ratio / active if tol == TOLERANCES[0] else 0.0)
                rows.append(
                    [
                        f"{name}, C = {C:g}",
                        f"{tol:g}",
                        f"{model.dual_gap_:.0e}",
                        f"{1e3 * times['svc']:.1f}",
                        f"{times[f'{tol}']:.2f}",
                        f"{ratio:.0f}",
                        f"{active}",
                        f"{ratio / active:.1f}",
                        f"{kept}",
                        f"{ratio / kept:.0f}",
                        f"{model.n_iter_}",
                    ]
                )
    header = ["problem", "tol", "gap", "SVC ms", "fit s", "ratio", "active", "per active", "kept"]
    header += ["per kept", "steps"]
    print_table("l1svm: time, in fits of one SVC", header, rows)
    holds = "holds" if worst <= FITS_PER_KERNEL else "DOES NOT HOLD"
    print(f"  at most {FITS_PER_KERNEL:g} an active kernel, to 1e-3: {worst:.1f}, {holds}")


if __name__ == "__main__":
    run_named(__doc__, {"l1svm": l1svm}, repeats=(3, "timings of each side"))
