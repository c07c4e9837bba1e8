"""Scores and intervals of stacks beside what they are on new rows, above all on noise.

    python benchmarks/noise_scores.py scores --rows 30,100 --columns 3,10,50 --draws 60
    python benchmarks/noise_scores.py intervals --rows 30,100 --draws 60
    python benchmarks/noise_scores.py page

The first two write a line for each cell to noise_scores.jsonl, in place of an earlier one; the last
writes docs/noise_scores.md from them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from mercer import KernelStackingClassifier, KernelStackingRegressor

RECORDS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "noise_scores.md"
N_NEW = 2000
COVERAGE = 0.9

HEAD = """# Scores on noise, and coverage on small samples

Written by `python benchmarks/noise_scores.py page` from benchmarks/noise_scores.jsonl.

`loo_score_` of the stacking estimators with their defaults, where the columns are normal and the
target has nothing to do with them, beside the score on {n_new} new rows of the same class
frequencies. Means over draws; the standard error is that of the mean difference. Of {n_cells}
differences, {n_beyond} are larger than two standard errors, where one in twenty is to be expected.
Below zero, the score is too low. From 500 rows on, half of the rows choose each stack that predicts
the others for `loo_score_`, and on noise such a stack predicts a rare class more often than a stack
that all rows choose.

| rows | columns | target | draws | `loo_score_` | new rows | difference | standard error |
| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"""

INTERVALS = """
## Intervals

Share of new responses in intervals that aim at {coverage:.0%}, by `KernelStackingRegressor` with
its defaults.

| rows | columns | response | draws | coverage | standard error |
| ---: | ---: | --- | ---: | ---: | ---: |"""

Draw = Callable[[np.random.Generator, int], np.ndarray]


def _classes(*parts: float) -> Draw:
    """Labels in these proportions, in random order."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        ends = np.round(np.cumsum(parts) * n).astype(int)
        return np.asarray(rng.permutation(np.searchsorted(ends, np.arange(n), side="right")))

    return draw


NOISE: dict[str, Draw] = {
    "responses": lambda rng, n: rng.normal(size=n),
    "two classes, 50:50": _classes(0.5, 0.5),
    "two classes, 30:70": _classes(0.3, 0.7),
    "four equal classes": _classes(0.25, 0.25, 0.25, 0.25),
    "four classes, 10:20:30:40": _classes(0.1, 0.2, 0.3, 0.4),
}


def _smooth(X: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2)


RESPONSES: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "noise alone": lambda rng, X: rng.normal(size=len(X)),
    "smooth": lambda rng, X: _smooth(X) + 0.3 * rng.normal(size=len(X)),
    "unequal noise": lambda rng, X: _smooth(X) + 0.5 * np.exp(X[:, 0]) * rng.normal(size=len(X)),
    "heavy tails": lambda rng, X: _smooth(X) + 0.3 * rng.standard_t(2, size=len(X)),
    "two values": lambda rng, X: (_smooth(X) + 0.5 * rng.normal(size=len(X)) > 0.8).astype(float),
    "half of them zero": lambda rng, X: np.where(
        rng.random(len(X)) < 0.5, 0.0, _smooth(X) + 0.3 * rng.normal(size=len(X))
    ),
}


def scored(problem: str, n: int, d: int, seed: int) -> tuple[float, float]:
    """The left-out score of a stack on noise, and its score on new rows."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, n, d, list(NOISE).index(problem)])
    X, new = rng.normal(size=(n, d)), rng.normal(size=(N_NEW, d))
    y, truth = NOISE[problem](rng, n), NOISE[problem](rng, N_NEW)
    kind = KernelStackingRegressor if problem == "responses" else KernelStackingClassifier
    model = kind().fit(X, y)
    return model.loo_score_, float(model.score(new, truth))


def covered(problem: str, n: int, d: int, seed: int) -> tuple[float, float]:
    """The share of new responses in their intervals, and the nominal one."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, n, d, list(RESPONSES).index(problem)])
    X, new = rng.normal(size=(n, d)), rng.normal(size=(N_NEW // 4, d))
    y, truth = RESPONSES[problem](rng, X), RESPONSES[problem](rng, new)
    low, high = KernelStackingRegressor().fit(X, y).predict_interval(new, COVERAGE).T
    return float(np.mean((low <= truth) & (truth <= high))), COVERAGE


def measure(kind: str, rows: list[int], columns: list[int], draws: int, jobs: int) -> None:
    """Measure cells, and write each when it is done."""
    function, problems = (scored, NOISE) if kind == "scores" else (covered, RESPONSES)
    for n, d, problem in product(rows, columns, problems):
        pairs = Parallel(jobs)(delayed(function)(problem, n, d, seed) for seed in range(draws))
        stated, true = np.array(pairs).T
        difference = stated - true
        cell: dict[str, Any] = {
            "kind": kind,
            "problem": problem,
            "rows": n,
            "columns": d,
            "draws": draws,
            "stated": round(float(stated.mean()), 4),
            "true": round(float(true.mean()), 4),
            "difference": round(float(difference.mean()), 4),
            "standard_error": round(float(difference.std(ddof=1) / np.sqrt(draws)), 4),
        }
        print(cell, flush=True)
        key = ("kind", "problem", "rows", "columns")
        kept = [c for c in records() if any(c[k] != cell[k] for k in key)]
        text = "".join(json.dumps(c) + "\n" for c in [*kept, cell])
        aside = RECORDS.with_suffix(".part")
        aside.write_text(text)
        aside.replace(RECORDS)


def records() -> list[dict[str, Any]]:
    """All cells that were measured."""
    if not RECORDS.exists():
        return []
    return [json.loads(line) for line in RECORDS.read_text().splitlines()]


def write_page() -> None:
    """Write the page from the records."""
    cells = sorted(records(), key=lambda c: (c["kind"], c["rows"], c["columns"]))
    scores = [c for c in cells if c["kind"] == "scores"]
    sizes = [abs(c["difference"]) / c["standard_error"] for c in scores if c["standard_error"]]
    beyond = sum(size > 2.0 for size in sizes)
    lines = [HEAD.format(n_new=N_NEW, n_cells=len(sizes), n_beyond=beyond)]
    for c in scores:
        start = "| {rows} | {columns} | {problem} | {draws} | {stated:.3f} |".format(**c)
        end = " {true:.3f} | {difference:+.4f} | {standard_error:.4f} |".format(**c)
        lines.append(start + end)
    lines.append(INTERVALS.format(coverage=COVERAGE))
    for c in cells:
        if c["kind"] == "intervals":
            start = "| {rows} | {columns} | {problem} | {draws} |".format(**c)
            lines.append(start + " {stated:.3f} | {standard_error:.3f} |".format(**c))
    PAGE.write_text("\n".join(lines) + "\n")


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["scores", "intervals", "page"])
    parser.add_argument("--rows", type=_numbers, default=[30, 100])
    parser.add_argument("--columns", type=_numbers, default=[3, 10, 50])
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.what == "page":
        write_page()
    else:
        measure(given.what, given.rows, given.columns, given.draws, given.jobs)


if __name__ == "__main__":
    main()
