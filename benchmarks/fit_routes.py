"""Files and functions of the package that a fit enters.

    python benchmarks/fit_routes.py [--route NAME ...]

Ten estimators are fitted to 100 rows of breast cancer, or of diabetes where they predict numbers.
After a first fit, which imports modules and fills caches, a second fit is profiled in all threads.
For each estimator, one line gives the numbers of files and of functions. `--route NAME` also
prints the files in order of first entry, each with its functions in theirs, for the estimators
whose name contains NAME. Comprehensions and lambda expressions belong to the function around them.
"""

from __future__ import annotations

import argparse
import sys
import threading
import warnings
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import StandardScaler

import mercer

N_ROWS = 100
PACKAGE = Path(mercer.__file__).parent


def estimators() -> dict[str, Any]:
    """Return the ten estimators by the call that makes them."""
    calls = (
        "TwoStageClassifier(ContinuousAlignment())",
        "KernelStackingRegressor()",
        "KernelStackingClassifier()",
        "MKLClassifier()",
        "MKLRegressor()",
        "BayesianMKLClassifier()",
        "BayesianMKLRegressor()",
        "KernelOptimization()",
        "HSICClustering()",
        'TwoStageRegressor(approximation="nystroem")',
    )
    names = {name: getattr(mercer, name) for name in mercer.__all__}
    return {call: eval(call, names) for call in calls}


def entered_functions(estimator: Any, X: Any, y: Any) -> dict[str, list[str]]:
    """Return the functions of each file that a second fit enters, in order of first entry."""
    entered: dict[CodeType, None] = {}

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            entered.setdefault(frame.f_code)

    estimator.fit(X, y)
    # Before Python 3.12, threads that the first fit left running are not seen.
    in_threads = getattr(threading, "setprofile_all_threads", threading.setprofile)
    in_threads(profile)
    sys.setprofile(profile)
    try:
        estimator.fit(X, y)
    finally:
        sys.setprofile(None)
        in_threads(None)
    found: dict[str, list[str]] = {}
    for code in entered:
        path = Path(code.co_filename)
        if PACKAGE in path.parents and not code.co_name.startswith("<"):
            found.setdefault(str(path.relative_to(PACKAGE)), []).append(code.co_qualname)
    return found


def main() -> None:
    """Print the table, and the routes that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--route", nargs="+", default=[], metavar="NAME")
    asked = parser.parse_args().route
    warnings.simplefilter("ignore")
    problems = {}
    for task, load in {"classes": load_breast_cancer, "numbers": load_diabetes}.items():
        X, y = load(return_X_y=True)
        problems[task] = StandardScaler().fit_transform(X)[:N_ROWS], y[:N_ROWS]
    routes = {}
    print("files  functions  fit")
    for call, estimator in estimators().items():
        X, y = problems["numbers" if "Regressor" in call else "classes"]
        routes[call] = entered_functions(estimator, X, y)
        print(f"{len(routes[call]):5d}  {sum(map(len, routes[call].values())):9d}  {call}")
    for call, route in routes.items():
        if any(name in call for name in asked):
            print(f"\n{call}")
            for number, (path, functions) in enumerate(route.items(), 1):
                print(f"{number:3d}. {path}: {', '.join(functions)}")


if __name__ == "__main__":
    main()
