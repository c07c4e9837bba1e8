"""Selection of features by dependence: time and accuracy.

    MERCER_DATA=/path/to/sets python benchmarks/selection.py [NAME ...] [--splits S]

large
    `HSICLasso(50)` on 2,000 samples of 10,000 features; ten of them matter; in a process of its
    own: time, peak memory before and after the fit, and how many of the 10 are selected.
elimination
    `BAHSIC(10)` on 500 samples; two features matter, as an exclusive or: time and whether
    both are selected.
accuracy
    Errors in % of a support vector machine (C by five-fold cross-validation, `gamma="scale"`) on
    the standardized features that each selector leaves, means and standard errors over splits;
    at most 500 training samples, 1,500 for testing; and the seconds that selection took. BAHSIC and
    RFE take one feature at a time; RFE has a linear support vector machine; mutual information is
    that of `mutual_info_classif`.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from common import (
    THREADS,
    Array,
    Labels,
    classification_set,
    mean_and_error,
    print_table,
    run_named,
    seconds,
)
from sklearn.feature_selection import RFE, SelectKBest, mutual_info_classif
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from speed import peak_resident
from threadpoolctl import threadpool_limits

from mercer import BAHSIC, HSICLasso

C_GRID = 2.0 ** np.arange(-5, 16, 2)
TRAINING, TESTING = 500, 1500


def relevant_ten(n: int, p: int) -> tuple[Array, Labels]:
    """Return noise, but for ten features of decreasing effect, half of them even functions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    score = sum((X[:, 2 * j] + X[:, 2 * j + 1] ** 2 - 1.0) / (j + 1.0) for j in range(5))
    return X, np.where(score + 0.3 * rng.normal(size=n) > 0.0, 1, -1)


def fitted_in_a_process(n: int, p: int) -> tuple[float, float, float, int]:
    """Return peak memory in GB before and after a fit, its seconds, and relevant features found."""
    with threadpool_limits(THREADS):
        X, y = relevant_ten(n, p)
        before = peak_resident()
        model = HSICLasso(50)
        took = seconds(partial(model.fit, X, y))
    return before, peak_resident(), took, int(model.support_[:10].sum())


def large(options: argparse.Namespace) -> None:
    """Select among ten thousand features."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as pool:
        before, after, took, found = pool.submit(fitted_in_a_process, 2000, 10_000).result()
    print(
        f"large n=2000 p=10000: {took:.1f} s; {found} of 10 relevant features among 50; "
        f"peak {after:.2f} GB, {before:.2f} GB before the fit",
        flush=True,
    )


def elimination(options: argparse.Namespace) -> None:
    """Eliminate hundreds and thousands of features backward."""
    rows = []
    for p in (200, 1000, 5000):
        X = np.random.default_rng(0).normal(size=(500, p))
        y = X[:, 3] * X[:, 7] > 0.0
        model = BAHSIC(10)
        took = seconds(partial(model.fit, X, y))
        both = "yes" if model.support_[[3, 7]].all() else "no"
        rows.append([f"{p}", f"{took:.1f}", f"{model.n_iter_}", both])
    print_table("elimination n=500", ["p", "s", "rounds", "both found"], rows)


def selectors(number: int, seed: int) -> dict[str, Any]:
    """Return the selectors that are compared, by name."""
    mutual = partial(mutual_info_classif, random_state=seed)
    return {
        "all features": None,
        "HSICLasso": HSICLasso(number),
        "BAHSIC": BAHSIC(number, step=1),
        "mutual information": SelectKBest(mutual, k=number),
        "RFE, linear SVM": RFE(LinearSVC(C=0.1), n_features_to_select=number),
    }


def error_after(selector: Any, train: tuple[Array, Labels], test: tuple[Array, Labels]) -> Array:
    """Return the test error in %, and the seconds of selection."""
    scaler = StandardScaler().fit(train[0])
    X, X_test = scaler.transform(train[0]), scaler.transform(test[0])
    took = 0.0
    if selector is not None:
        took = seconds(partial(selector.fit, X, train[1]))
        X, X_test = selector.transform(X), selector.transform(X_test)
    search = GridSearchCV(SVC(), {"C": C_GRID}, cv=5).fit(X, train[1])
    return np.array([100.0 * (1.0 - search.score(X_test, test[1])), took])


def accuracy(options: argparse.Namespace) -> None:
    """Compare errors with the features that each selector leaves."""
    for name, number in (("sonar", 10), ("splice", 10), ("spambase", 15)):
        X, y = classification_set(name)
        found: dict[str, list[Array]] = {}
        for seed in range(options.splits):
            half = min(TRAINING, len(y) // 2)
            X_train, X_test, y_train, y_test = train_test_split(
                X, y, train_size=half, stratify=y, random_state=seed
            )
            test = X_test[:TESTING], y_test[:TESTING]
            for label, selector in selectors(number, seed).items():
                outcome = error_after(selector, (X_train, y_train), test)
                found.setdefault(label, []).append(outcome)
        rows = [
            [
                label,
                mean_and_error([error for error, _ in outcomes]),
                f"{np.mean([took for _, took in outcomes]):.2f}",
            ]
            for label, outcomes in found.items()
        ]
        print_table(f"accuracy: {name}, {number} of {X.shape[1]}", ["features", "%", "s"], rows)


if __name__ == "__main__":
    benchmarks = {"large": large, "elimination": elimination, "accuracy": accuracy}
    run_named(__doc__, benchmarks, splits=(10, "splits of the accuracy table"))
