"""Scores, intervals and sets beside what they are on new rows, where rows belong together.

    python benchmarks/trusted_scores.py honesty copies coverage sets --jobs 16
    python benchmarks/trusted_scores.py honesty --only "40 subjects" --rows 400 --learner default
    python benchmarks/trusted_scores.py families --learner logistic
    python benchmarks/trusted_scores.py cost
    python benchmarks/trusted_scores.py page

All but the last write lines to trusted_scores.jsonl, or the file that `--output` names, one for
each method on each problem, and leave out problems that have as many draws there; the last writes
docs/trusted_scores.md from them. Draws of problems that are under way are kept in a file beside it,
so that a run that was stopped goes on. Problems have the rows and draws of `ROWS` and `DRAWS`,
unless `--rows` and `--draws` say others. A problem that has fewer draws gets those that it
lacks, and means and standard errors of all.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from common import append_records, read_records, write_records
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_validate,
)
from threadpoolctl import threadpool_limits
from trusted_page import page, pooled
from trusted_problems import COPIES, FAMILIES, HONESTY, N_NEW, NOISES, SETS, Table

from mercer import (
    KernelLogisticRegression,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer.kernels import Gaussian, Laplacian

RECORDS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "trusted_scores.md"
COVERAGE = 0.9
N_COMPONENTS = 1500
"""Number of centers of fits on Nyström features."""
OF_CLASSES: dict[str, Callable[[], Any]] = {
    "two-stage, Nyström": lambda: TwoStageClassifier(approximation="nystroem", n_components=50),
    "logistic": KernelLogisticRegression,
    "sums": lambda: MKLClassifier([Gaussian("median")]),
}
LEARNERS = ["two kernels", "default", "Nyström", "two-stage", *OF_CLASSES]
DRAWS = {"honesty": 50, "copies": 50, "coverage": 200, "sets": 200, "families": 60}
ROWS = {
    "honesty": (400,),
    "copies": (120,),
    "coverage": (50, 500),
    "sets": (50, 500),
    "families": (100,),
}
OTHER_ROWS = {
    "40 subjects": (400, 6000),
    "40 patients, two classes": (400, 6000),
    "digits of 12 forms": (900,),
}

Cell = dict[str, Any]
Measures = dict[str, dict[str, float]]


def stack(table: Table, learner: str, cv: Any = None) -> Any:
    """The estimator whose score is judged."""
    if learner in OF_CLASSES:
        return OF_CLASSES[learner]()
    if learner == "two-stage":
        return (TwoStageClassifier if table.classes else TwoStageRegressor)(cv=cv)
    kind = KernelStackingClassifier if table.classes else KernelStackingRegressor
    two = [Gaussian("median"), Laplacian("median")] if learner == "two kernels" else None
    approximation = "nystroem" if learner == "Nyström" else "auto"
    return kind(two, cv=cv, approximation=approximation, n_components=N_COMPONENTS)


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
    named = "two-stage, " if learner == "two-stage" else ""
    ends = {
        f"{named}`scale={s!r}`": model.predict_interval(table.new, COVERAGE, s)
        for s in (None, "auto")
    }
    plain, scaled = ends.values()
    learned = float(not np.allclose(plain, scaled))
    if find_spec("mapie") and not named:
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
    problems = SETS | FAMILIES
    table = problems[problem](np.random.default_rng([seed, n, list(problems).index(problem)]), n)
    model = stack(table, learner).fit(table.X, table.y)
    sets = {}
    for score, by_class in product(("least_ambiguous", "adaptive"), (False, True)):
        name = score.replace("_", " ") + (", by class" if by_class else "")
        sets[name] = model.predict_set(table.new, COVERAGE, by_class=by_class, score=score)
    if find_spec("mapie") and learner == "two kernels":
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
    "families": (in_sets, FAMILIES),
}


# --- measurement ---------------------------------------------------------------------------------


KEY = ("part", "problem", "rows", "learner")


def drawn(part: str, problem: str, rows: int, learner: str, seed: int) -> Cell:
    """The measures of one draw."""
    measures = PARTS[part][0](problem, rows, seed, learner)
    key = dict(zip(KEY, (part, problem, rows, learner), strict=True))
    return {**key, "seed": seed, "measures": measures}


def measure(problems: dict[tuple[Any, ...], int], output: Path, jobs: int) -> None:
    """Measure problems by their numbers of draws, and write their lines."""
    before = _draws(read_records(output))
    missing = {key: draws for key, draws in problems.items() if before.get(key, 0) < draws}
    kept = output.with_suffix(".draws")
    known = {(*_key(draw), draw["seed"]) for draw in read_records(kept)}
    tasks = [
        (*key, seed) for key, draws in missing.items() for seed in range(before.get(key, 0), draws)
    ]
    # The slowest first, so that all processes end at about the same time.
    tasks = sorted((task for task in tasks if task not in known), key=lambda task: -task[2])
    try:
        append_records(kept, drawn, tasks, jobs)
    finally:
        found = sorted(read_records(kept), key=lambda draw: draw["seed"])
        for key, draws in missing.items():
            own = [draw["measures"] for draw in found if _key(draw) == key]
            if len(own) >= draws - before.get(key, 0):
                _write(output, _cells(key, own), extends=key in before)
                found = [draw for draw in found if _key(draw) != key]
        write_records(kept, found)


def _key(record: Cell) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in KEY)


def _cells(key: tuple[Any, ...], draws: list[Measures]) -> list[Cell]:
    """Means over draws of all methods on a problem, and their standard errors."""
    cells = []
    for method in dict.fromkeys(method for draw in draws for method in draw):
        of_method = [draw[method] for draw in draws if method in draw]
        cell: Cell = {**dict(zip(KEY, key, strict=True)), "method": method}
        cell["draws"] = len(of_method)
        for name in of_method[0]:
            values = np.array([draw[name] for draw in of_method])
            # A class may have no new rows.
            values = values[~np.isnan(values)]
            cell[name] = round(float(values.mean()), 4)
            cell[f"{name}, error"] = round(float(values.std(ddof=1) / np.sqrt(values.size)), 4)
        cells.append(cell)
    return cells


def _draws(cells: list[Cell]) -> dict[tuple[Any, ...], int]:
    """Numbers of draws of the problems whose methods all have as many."""
    found: dict[tuple[Any, ...], set[int]] = {}
    for cell in cells:
        found.setdefault(_key(cell), set()).add(cell["draws"])
    return {key: draws.pop() for key, draws in found.items() if len(draws) == 1}


def _write(output: Path, cells: list[Cell], *, extends: bool = False) -> None:
    """Write the lines of a problem in place of earlier ones, or together with their draws."""
    records = read_records(output)
    if extends:
        earlier = {cell["method"]: cell for cell in records if _key(cell) == _key(cells[0])}
        cells = [pooled(earlier[cell["method"]], cell) for cell in cells]
    kept = [cell for cell in records if _key(cell) != _key(cells[0])]
    write_records(output, [*kept, *cells])


GROUPED: dict[str, np.ndarray | None] = {
    "none": None,
    "40 of 25": np.arange(1000) // 25,
    "250 of 4": np.arange(1000) // 4,
}
"""Groups of 1,000 independent rows, which tell nothing."""

COST_TABLES = {
    KernelStackingRegressor: 8,
    KernelStackingClassifier: 12,
    TwoStageRegressor: 40,
    TwoStageClassifier: 60,
}
"""How many tables each estimator is fitted to: more where a fit takes less time, and of machines,
whose iterations differ from table to table and from fold to fold by more than a tenth."""


def cost(kind: type[Any], n_tables: int, output: Path) -> None:
    """Processor time of one thread, of fits with groups beside fits without, in turns."""
    seconds = np.empty((n_tables, len(GROUPED)))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for seed, (column, groups) in product(range(n_tables), enumerate(GROUPED.values())):
            table = NOISES["normal"](np.random.default_rng(seed), 1000)
            y = table.y > 0.0 if kind.__name__.endswith("Classifier") else table.y
            start = time.process_time()
            kind().fit(table.X, y, groups=groups)
            seconds[seed, column] = time.process_time() - start
    cell: Cell = {"part": "cost", "problem": kind.__name__, "draws": n_tables}
    drawn = np.random.default_rng(0).integers(n_tables, size=(1000, n_tables))
    medians, again = np.median(seconds, axis=0), np.median(seconds[drawn], axis=1)
    for column, name in enumerate(GROUPED):
        cell[name] = round(float(medians[column]), 4)
        cell[f"{name}, ratio"] = round(float(medians[column] / medians[0]), 4)
        cell[f"{name}, error"] = round(float(np.std(again[:, column] / again[:, 0])), 4)
    print(cell, flush=True)
    _write(output, [cell])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", choices=[*PARTS, "cost", "page"])
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--learner", choices=LEARNERS, default=LEARNERS[0])
    parser.add_argument("--only", default="", help="part of the names of problems")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RECORDS)
    given = parser.parse_args()
    problems = {
        (part, problem, rows, given.learner): given.draws or DRAWS[part]
        for part in given.what
        if part in PARTS
        for problem in PARTS[part][1]
        if given.only in problem
        for rows in given.rows or OTHER_ROWS.get(problem, ROWS[part])
    }
    if problems:
        measure(problems, given.output, given.jobs)
    if "cost" in given.what:
        for kind, n_tables in COST_TABLES.items():
            if given.only in kind.__name__:
                cost(kind, n_tables, given.output)
    if "page" in given.what:
        PAGE.write_text(page(read_records(given.output)))


if __name__ == "__main__":
    main()
