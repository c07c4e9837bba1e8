"""Scores, intervals and sets beside what they are on new rows, where rows belong together.

    python benchmarks/trusted_scores.py honesty copies --rows 100,300 --draws 50
    python benchmarks/trusted_scores.py coverage sets --rows 50,500 --draws 200
    python benchmarks/trusted_scores.py cost
    python benchmarks/trusted_scores.py page

All but the last write lines to trusted_scores.jsonl, one for each method on each problem, and leave
out problems that have as many draws there; the last writes docs/trusted_scores.md from them.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_validate,
)
from trusted_page import page
from trusted_problems import COPIES, HONESTY, N_NEW, NOISES, SETS, Table

from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer.kernels import Gaussian, Laplacian

RECORDS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "trusted_scores.md"
COVERAGE = 0.9
LEARNERS = ["two kernels", "default", "Nyström"]
PEER_DRAWS = {"coverage": 30, "sets": 6}
"""Intervals from 100 rows on, and sets, of the other package are measured on this many draws, as it
fits six times."""

Cell = dict[str, Any]
Measures = dict[str, dict[str, float]]


def stack(table: Table, learner: str, cv: Any = None) -> Any:
    """The estimator whose score is judged."""
    kind = KernelStackingClassifier if table.classes else KernelStackingRegressor
    two = [Gaussian("median"), Laplacian("median")] if learner == "two kernels" else None
    return kind(two, cv=cv, approximation="nystroem" if learner == "Nyström" else "auto")


def _error(truth: np.ndarray, predictions: np.ndarray) -> float:
    return float(mean_squared_error(truth, predictions))


def _judged(table: Table, learner: str, cv: Any = None, groups: Any = None) -> dict[str, float]:
    """The left-out score of a stack beside its score on new rows; see `_compared`."""
    model = stack(table, learner, cv).fit(table.X, table.y, groups=groups)
    found = _compared(table, model, model.loo_score_)
    if not table.classes:
        covered = np.isfinite(model.loo_predictions_)
        error = _error(table.y[covered], model.loo_predictions_[covered])
        found["on one scale"] = (_error_of(table, model) - error) / float(np.var(table.y))
    return found


def _error_of(table: Table, model: Any) -> float:
    return _error(table.truth, model.predict(table.new))


def _compared(table: Table, model: Any, estimate: float) -> dict[str, float]:
    true = float(model.score(table.new, table.truth))
    return {"estimate": estimate, "true": true, "difference": estimate - true}


def honest(problem: str, n: int, seed: int, learner: str) -> Measures:
    """Scores that know what belongs together, and scores that do not."""
    table = HONESTY[problem](np.random.default_rng([seed, n, list(HONESTY).index(problem)]), n)
    alone = np.arange(n) if problem == "a third copied" else None
    found = {
        "`loo_score_`, told": _judged(table, learner, table.cv, table.groups),
        "`loo_score_`, not told": _judged(table, learner, groups=alone),
    }
    if learner != "two kernels":
        return found
    kind, scorers = (
        (StratifiedKFold, {"score": "accuracy"})
        if table.classes
        else (KFold, {"score": "r2", "error": "neg_mean_squared_error"})
    )
    folds = kind(5, shuffle=True, random_state=seed)
    scores = cross_validate(stack(table, learner), table.X, table.y, cv=folds, scoring=scorers)
    model = stack(table, learner).fit(table.X, table.y)
    crossed = _compared(table, model, float(np.mean(scores["test_score"])))
    if not table.classes:
        error = -float(np.mean(scores["test_error"]))
        crossed["on one scale"] = (_error_of(table, model) - error) / float(np.var(table.y))
    return {**found, "`cross_val_score`, random folds": crossed}


def copied(problem: str, n: int, seed: int, learner: str) -> Measures:
    """Both treatments of equal rows, and what the package does unless it is told."""
    table = COPIES[problem](np.random.default_rng([seed, n, list(COPIES).index(problem)]), n)
    equal = np.unique(table.X, axis=0, return_inverse=True)[1].ravel()
    ways = {"one at a time": np.arange(n), "equal rows together": equal, "by default": None}
    return {way: _judged(table, learner, groups=groups) for way, groups in ways.items()}


# --- coverage ------------------------------------------------------------------------------------


def covered(problem: str, n: int, seed: int, learner: str) -> Measures:
    """The share of new responses in their intervals, over all and by decile of the width."""
    table = NOISES[problem](np.random.default_rng([seed, n, list(NOISES).index(problem)]), n)
    model = stack(table, learner).fit(table.X, table.y, groups=table.groups)
    ends = {
        f"`scale={s!r}`": model.predict_interval(table.new, COVERAGE, s) for s in (None, "auto")
    }
    plain, scaled = ends.values()
    learned = float(not np.allclose(plain, scaled))
    if find_spec("mapie") and (n < 100 or seed < PEER_DRAWS["coverage"]):
        from mapie.regression import CrossConformalRegressor

        cv = KFold(5, shuffle=True, random_state=0) if table.groups is None else GroupKFold(5)
        peer = CrossConformalRegressor(stack(table, learner), COVERAGE, method="plus", cv=cv)
        peer.fit_conformalize(table.X, table.y, groups=table.groups)
        ends["MAPIE"] = peer.predict_interval(table.new)[1][:, :, 0]
    # Deciles of the scaled width, so that all methods are judged on the same rows.
    order = np.argsort(scaled[:, 1] - scaled[:, 0], kind="stable")
    found = {}
    for method, (low, high) in ((name, both.T) for name, both in ends.items()):
        inside = (low <= table.truth) & (table.truth <= high)
        deciles = {f"decile {k}": float(p.mean()) for k, p in enumerate(_tenths(inside[order]))}
        found[method] = {"coverage": float(inside.mean()), "width": float(np.mean(high - low))}
        found[method] |= deciles | {"learned": learned}
    return found


def _tenths(values: np.ndarray) -> list[np.ndarray]:
    return list(np.array_split(values, 10))


def in_sets(problem: str, n: int, seed: int, learner: str) -> Measures:
    """The share of new labels in their sets, over all and by class, and the size of sets."""
    table = SETS[problem](np.random.default_rng([seed, n, list(SETS).index(problem)]), n)
    model = stack(table, learner).fit(table.X, table.y)
    sets = {}
    for score, by_class in product(("least_ambiguous", "adaptive"), (False, True)):
        name = score.replace("_", " ") + (", by class" if by_class else "")
        sets[name] = model.predict_set(table.new, COVERAGE, by_class=by_class, score=score)
    if find_spec("mapie") and seed < PEER_DRAWS["sets"]:
        from mapie.classification import CrossConformalClassifier

        peer = CrossConformalClassifier(stack(table, learner), COVERAGE, cv=5)
        peer.fit_conformalize(table.X, table.y)
        sets["MAPIE, least ambiguous"] = peer.predict_set(table.new)[1][:, :, 0]
    found = {}
    for name, member in sets.items():
        inside = member[np.arange(N_NEW), table.truth]
        found[name] = {"coverage": float(inside.mean()), "size": float(member.sum(axis=1).mean())}
        found[name]["empty"] = float(np.mean(~member.any(axis=1)))
        for label in range(member.shape[1]):
            found[name][f"class {label}"] = float(inside[table.truth == label].mean())
    return found


PARTS = {
    "honesty": (honest, HONESTY),
    "copies": (copied, COPIES),
    "coverage": (covered, NOISES),
    "sets": (in_sets, SETS),
}


# --- measurement ---------------------------------------------------------------------------------


def _quiet(function: Callable[..., Measures], *arguments: Any) -> Measures:
    warnings.simplefilter("ignore")
    return function(*arguments)


def measure(part: str, problem: str, n: int, draws: int, learner: str) -> None:
    """Measure all methods on a problem, and write their lines."""
    key = {"part": part, "problem": problem, "rows": n, "learner": learner}
    before = [c for c in records() if key.items() <= c.items()]
    if before and max(c["draws"] for c in before) >= draws:
        return
    start, function = time.perf_counter(), PARTS[part][0]
    found = Parallel(2)(delayed(_quiet)(function, problem, n, s, learner) for s in range(draws))
    cells = []
    for method in found[0]:
        of_method = [draw[method] for draw in found if method in draw]
        cell: Cell = {**key, "method": method, "draws": len(of_method)}
        for name in of_method[0]:
            values = np.array([draw[name] for draw in of_method])
            # A class may have no new rows.
            values = values[~np.isnan(values)]
            cell[name] = round(float(values.mean()), 4)
            cell[f"{name}, error"] = round(float(values.std(ddof=1) / np.sqrt(values.size)), 4)
        cells.append(cell)
    print(key, f"{time.perf_counter() - start:.0f} s", *cells, sep="\n", flush=True)
    _write(cells, key)


def _write(cells: list[Cell], key: Cell) -> None:
    kept = [c for c in records() if not key.items() <= c.items()]
    aside = RECORDS.with_suffix(".part")
    aside.write_text("".join(json.dumps(c) + "\n" for c in [*kept, *cells]))
    aside.replace(RECORDS)


def records() -> list[Cell]:
    """All that was measured."""
    if not RECORDS.exists():
        return []
    return [json.loads(line) for line in RECORDS.read_text().splitlines()]


def cost(repeats: int) -> None:
    """Processor time of fits with groups beside fits without, in turns."""
    warnings.simplefilter("ignore")
    table = NOISES["normal"](np.random.default_rng(0), 1000)
    ways = {"none": None, "40 of 25": np.arange(1000) // 25, "250 of 4": np.arange(1000) // 4}
    for kind in (
        KernelStackingRegressor,
        KernelStackingClassifier,
        TwoStageRegressor,
        TwoStageClassifier,
    ):
        y = table.y > 0.0 if kind.__name__.endswith("Classifier") else table.y
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _, (name, groups) in product(range(repeats), ways.items()):
            start = time.process_time()
            kind().fit(table.X, y, groups=groups)
            seconds[name].append(time.process_time() - start)
        key = {"part": "cost", "problem": kind.__name__}
        least = {name: round(min(times), 3) for name, times in seconds.items()}
        print(key, seconds, flush=True)
        _write([{**key, "draws": repeats, **least}], key)


def _whole_numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", choices=[*PARTS, "cost", "page"])
    parser.add_argument("--rows", type=_whole_numbers, default=[300])
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--learner", choices=LEARNERS, default=LEARNERS[0])
    parser.add_argument("--only", default="", help="part of the names of problems")
    given = parser.parse_args()
    for what in given.what:
        if what == "page":
            PAGE.write_text(page(records()))
        elif what == "cost":
            cost(repeats=3)
        else:
            problems = [name for name in PARTS[what][1] if given.only in name]
            for n, problem in product(given.rows, problems):
                measure(what, problem, n, given.draws, given.learner)


if __name__ == "__main__":
    main()
