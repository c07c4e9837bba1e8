"""Whether two versions of the package predict the same.

    git archive 1519ba3 | tar -x -C /tmp/before
    export PYTHONPATH=/tmp/before/src:/tmp/before/tests
    python benchmarks/same_predictions.py record before.npz
    export PYTHONPATH=src:tests
    python benchmarks/same_predictions.py record after.npz
    python benchmarks/same_predictions.py compare before.npz after.npz

Every public estimator, in its defaults and in the settings of `tests/test_common.py`, is fitted to
the data sets below that suit it. `compare` prints the largest difference of what it predicts for
new rows, relative to the largest prediction, where that is above 1e-8, and ends with exit code 1
if there is any. `--only NAME` restricts `record` to estimators whose class has NAME in its name.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_clusterer, is_regressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_linnerud,
    load_wine,
    make_friedman1,
    make_moons,
)
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

TOLERANCE = 1e-8
N_ROWS = 60
METHODS = ("predict", "decision_function", "predict_proba", "transform", "predict_interval")
SCORES = ("loo_score_", "C_", "alpha_", "weights_", "scores_", "labels_", "inertia_")


def data_sets() -> dict[str, tuple[Any, np.ndarray, str]]:
    """Ten problems: X, y, and whether y holds classes or responses."""
    rng = np.random.default_rng(0)
    iris, wine, cancer = (
        load(return_X_y=True) for load in (load_iris, load_wine, load_breast_cancer)
    )
    digits = load_digits(n_class=4, return_X_y=True)
    noise = rng.normal(size=(150, 5))
    found: dict[str, tuple[Any, np.ndarray, str]] = {
        "iris": (*iris, "classes"),
        "wine": (*wine, "classes"),
        "cancer": (StandardScaler().fit_transform(cancer[0]), cancer[1], "classes"),
        "digits, sparse": (csr_array(digits[0] / 16.0), digits[1], "classes"),
        "moons": (*make_moons(200, noise=0.3, random_state=0), "classes"),
        "noise": (noise, rng.permutation(np.arange(150) % 2), "classes"),
        "diabetes": (*load_diabetes(return_X_y=True), "responses"),
        "friedman": (*make_friedman1(200, noise=0.5, random_state=0), "responses"),
        "noisy responses": (noise, rng.normal(size=150), "responses"),
        "linnerud": (*load_linnerud(return_X_y=True), "several responses"),
    }
    return found


def cases(only: str) -> Iterator[tuple[str, Any]]:
    """Estimators with names that two versions of the package share."""
    import test_common

    from mercer import TwoStageClassifier, TwoStageRegressor

    groups = {"default": test_common.DEFAULTS, "setting": test_common.SETTINGS}
    options = {"approximation": "nystroem", "n_components": 20, "random_state": 0}
    groups["nystroem"] = [TwoStageClassifier(**options), TwoStageRegressor(**options)]
    for group, estimators in groups.items():
        found: Counter[str] = Counter()
        for estimator in estimators:
            name = type(estimator).__name__
            found[name] += 1
            if only in name:
                yield f"{group} {name} {found[name]}", estimator


def suits(estimator: Any, kind: str) -> bool:
    """Whether an estimator can be fitted to targets of a kind."""
    if is_classifier(estimator):
        return kind == "classes"
    if is_regressor(estimator):
        tags = estimator.__sklearn_tags__().target_tags
        return kind == "responses" or (kind == "several responses" and tags.multi_output)
    return kind != "several responses"


def results(estimator: Any, X: Any, y: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """What an estimator predicts for rows that it was not fitted to, and what it states."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(X.shape[0])
    train, test = order[:N_ROWS], order[N_ROWS : 2 * N_ROWS]
    test = test if test.size else train
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    found = {}
    for weighted in (False, True):
        arguments: dict[str, Any] = {}
        if weighted:
            if seed % 3 or not has_fit_parameter(model, "sample_weight"):
                continue
            arguments["sample_weight"] = rng.integers(0, 3, size=train.size).astype(float)
        try:
            model.fit(X[train], y[train], **arguments)
        except Exception as error:
            found[f"{weighted} error {type(error).__name__}"] = np.zeros(1)
            continue
        for method in METHODS:
            if hasattr(model, method) and not (is_clusterer(model) and method != "predict"):
                try:
                    key, values = method, np.asarray(getattr(model, method)(X[test]), float)
                except Exception as error:
                    key, values = f"{method} {type(error).__name__}", np.zeros(1)
                found[f"{weighted} {key}"] = values
        for attribute in SCORES:
            value = getattr(model, attribute, None)
            if isinstance(value, float | np.ndarray):
                found[f"{weighted} {attribute}"] = np.atleast_1d(np.asarray(value, float))
    return found


def record(path: Path, only: str) -> None:
    """Fit everything, and write what is predicted."""
    warnings.simplefilter("ignore")
    everything = {}
    for name, estimator in cases(only):
        for seed, (data, (X, y, kind)) in enumerate(data_sets().items()):
            if suits(estimator, kind):
                for key, values in results(estimator, X, y, seed).items():
                    everything[f"{name} | {data} | {key}"] = values
        print(name, file=sys.stderr, flush=True)
    np.savez_compressed(path, **everything)


def compare(before: Path, after: Path) -> int:
    """Print the differences; 1 if there is one."""
    old, new = np.load(before), np.load(after)
    names = [name for name in old.files if name in new.files]
    differing = sorted(set(old.files) ^ set(new.files))
    worst = 0.0
    for name in names:
        a, b = old[name], new[name]
        if a.shape != b.shape:
            differing.append(f"{name}: shape {a.shape}, {b.shape}")
            continue
        scale = np.max(np.abs(a), initial=0.0, where=np.isfinite(a)) or 1.0
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gap = float(np.max(np.where(same, 0.0, np.abs(a - b)) / scale, initial=0.0))
        worst = max(worst, gap)
        if not gap <= TOLERANCE:
            differing.append(f"{name}: {gap:.2g}")
    print("\n".join(differing))
    print(f"{len(names)} arrays, {len(differing)} differ, largest relative difference {worst:.2g}")
    return int(bool(differing))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    if given.what == "record":
        record(given.paths[0], given.only)
    else:
        sys.exit(compare(*given.paths))


if __name__ == "__main__":
    main()
