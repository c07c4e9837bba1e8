"""Times of fits by two versions of the package.

    git archive ae7229c src | tar -x -C /tmp/before
    python benchmarks/fit_times.py /tmp/before/src src --rounds 5

The fits below are timed in processes that take turns between the two versions, so that both meet
the same noise. Each process fits once before it measures, and keeps the shortest of three times.
For each fit, a line gives the median times, and the median of the ratios within rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_friedman1

REPEATS = 3
FITS = {
    "KernelStackingRegressor()": (400, 1000),
    "KernelStackingClassifier()": (400, 1000),
    "TwoStageClassifier()": (400, 1000),
    "TwoStageRegressor()": (400, 1000),
    "TwoStageClassifier(ContinuousAlignment())": (400,),
    'TwoStageRegressor(approximation="nystroem")': (4000,),
    "KernelStackingRegressor(random_state=0)": (4000,),
    "MKLClassifier()": (400,),
    "ContinuousMKLClassifier()": (200,),
    "BayesianMKLClassifier()": (200,),
    "BayesianMKLRegressor()": (400,),
    "AlignmentMaximization()": (1500,),
    "ContinuousAlignment()": (1000,),
    "KernelOptimization()": (400,),
    "HSICClustering()": (400,),
}
"""Calls that make estimators, and numbers of rows."""


def measure() -> dict[str, float]:
    """Return the seconds of each fit by the version that is imported."""
    import mercer

    names = {name: getattr(mercer, name) for name in mercer.__all__}
    found = {}
    for call, sizes in FITS.items():
        for n_rows in sizes:
            if "Classifier" in call or "Clustering" in call:
                X, y = make_classification(n_rows, 10, n_informative=6, random_state=0)
            else:
                X, y = make_friedman1(n_rows, 10, noise=1.0, random_state=0)
            times = [seconds(eval(call, names), X, y) for _ in range(1 + REPEATS)]
            found[f"{call}, {n_rows:,} rows"] = min(times[1:])
    return found


def seconds(estimator: Any, X: Any, y: Any) -> float:
    """Return the wall-clock time of a fit."""
    start = time.perf_counter()
    estimator.fit(X, y)
    return time.perf_counter() - start


def measured_by(source: Path) -> dict[str, float]:
    """Return the seconds of each fit in a new process that imports the package from a folder."""
    path = os.pathsep.join(filter(None, [str(source.resolve()), os.environ.get("PYTHONPATH")]))
    ended = subprocess.run(
        [sys.executable, __file__, "--measure"],
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(ended.stdout)
    return found


def main() -> None:
    """Measure this version, or compare two."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs="*", type=Path, help="the two folders with the package")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", action="store_true", help="print the times of one version")
    options = parser.parse_args()
    if options.measure:
        warnings.simplefilter("ignore")
        print(json.dumps(measure()))
        return
    if len(options.sources) != 2:
        parser.error("name two folders, each with the package in it")
    rounds = [[measured_by(source) for source in options.sources] for _ in range(options.rounds)]
    for fit in rounds[0][0]:
        before, after = np.array([[one[fit] for one in pair] for pair in rounds]).T
        times = f"{np.median(before):8.3f} s {np.median(after):8.3f} s"
        print(f"{fit:58} {times} {np.median(after / before):6.2f}", flush=True)


if __name__ == "__main__":
    main()
