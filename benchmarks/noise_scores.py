"""Scores and intervals of stacks, compared with those on new rows, above all on noise.

    python benchmarks/noise_scores.py scores --rows 30,100 --columns 3,10,50 --draws 60
    python benchmarks/noise_scores.py intervals --rows 30,100 --draws 60
    python benchmarks/noise_scores.py coverage --rows 50,100,300,3050 --draws 60
    python benchmarks/noise_scores.py page

The first three write a line for each cell to noise_scores.jsonl, in place of an earlier one; the
last writes docs/noise_scores.md from them. Draws of `coverage` are kept in noise_scores.draws until
a cell has all of them, so that a run that was stopped goes on; `--only` takes a part of the names
of its cells, such as "lognormal, groups, TwoStageRegressor".
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from common import append_records, read_records, write_records
from joblib import Parallel, delayed
from scipy.stats import beta

from mercer import KernelStackingClassifier, KernelStackingRegressor, TwoStageRegressor

RECORDS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "noise_scores.md"
N_NEW = 2000
COVERAGE = 0.9

HEAD = """# Scores on noise, and coverage on small samples

If the columns of a table carry no information about the target, a model's reported score should not
suggest that they do. For such tables, this page compares the `loo_score_` that a model reports, its
[left-out score](glossary.md#stacking), with the score on new rows. The page also gives the coverage
of prediction intervals on new rows. The command `python benchmarks/noise_scores.py page` generates
this page from the measurements in `benchmarks/noise_scores.jsonl`.

The first table compares the `loo_score_` of the estimators `KernelStackingRegressor` and
`KernelStackingClassifier` with the score of the same model on {n_new} new rows with the same class
frequencies. The estimators have their default parameters. The columns of the tables are normally
distributed noise.

Values are means over draws, each of which generates a new table. The difference is the `loo_score_`
minus the score on new rows, and the last column is the standard error of the mean difference. If
the difference is below zero, the `loo_score_` is too low. Of the {n_cells} differences, {n_beyond}
are larger than two standard errors; about one difference in twenty is expected to be that large by
chance.

To compute `loo_score_`, a [stack](glossary.md#stacking) divides the rows into folds. For each fold,
the stack learns how to combine its kernels from the other rows only. There are five folds for up to
200 rows, three or four folds for 201 to 333 rows, and two folds for more rows. On noise, a
combination that is learned from half of the rows predicts a rare class more often than a
combination that is learned from all rows, so `loo_score_` may be slightly too low.

| rows | columns | target | draws | mean `loo_score_` | mean score on new rows | difference | \
standard error |
| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"""

INTERVALS = """
## Intervals

The table gives the coverage of prediction intervals: the share of new responses that are inside
their intervals. All intervals aim at a coverage of {coverage:.0%}. The estimator is
`KernelStackingRegressor` with its default parameters.

Apart from "noise alone", the responses are a smooth function of the columns plus noise. With "two
values", the response is one if this sum exceeds a threshold, and zero otherwise. With "half of them
zero", half of the responses are replaced by zero.

| rows | columns | response | draws | coverage | standard error of the coverage |
| ---: | ---: | --- | ---: | ---: | ---: |"""

NULL = """
## Coverage on noise

The table gives the coverage of prediction intervals: the share of {n_new} new responses that are
inside their intervals. All intervals aim at a coverage of {coverage:.0%}. The response does not
depend on the three columns, which are normally distributed. The estimators have their default
parameters.

Tables have one of four structures:

| structure | how the rows are made |
| --- | --- |
| alone | Rows are independent. |
| groups | Rows belong to groups of five. The columns of a group's rows scatter around a common \
center, and about half of the rows of a group have the same response. |
| copies | Each row occurs three times. The estimators find the copies by default. |
| weights | Rows are independent, and their weights are exponentially distributed. |

The columns of the next table are:

* "Exact" is the expected coverage of intervals whose width is a quantile of exchangeable errors,
  with one error for each row, group or set of copies. The exact coverage is above {coverage:.0%}
  if there are only a few errors. If some errors are equal, the exact coverage is a lower bound. The
  exact coverage is also a lower bound for groups, whose rows are neither equal nor independent.
* The columns `scale=None` and `scale="auto"` give the mean coverage without and with a learned
  [scale](glossary.md#stacking) of the residuals, and the standard error of this mean.
* "Least" is the lowest coverage of a single fit.
* "Fits below {low:.0%}" is the number of fits with `scale="auto"` that cover less than {low:.0%} of
  the new responses.
* "Scale used" is the share of draws in which `scale="auto"` used a learned scale.

In {n_under} of the {n_cells} rows of the next table, the coverage with `scale="auto"` is below the
exact coverage by more than two standard errors. With `scale=None`, the coverage is that low in
{n_under_plain} rows. Of the {n_fits} fits to 100 rows or more, {n_low} fits cover less than
{low:.0%} of the new responses with `scale="auto"`, and {n_low_plain} fits do so with `scale=None`.
If the same number of fits had exact intervals from independent errors, {n_low_exact:.0f} fits would
be expected to cover less than {low:.0%}.

| rows | noise | structure | estimator | draws | exact | `scale=None` | least with `scale=None` | \
`scale="auto"` | least with `scale="auto"` | fits below {low:.0%} | scale used |
| ---: | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""

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


SHAPES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
    "half zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.exponential(size=n)),
    "Poisson": lambda rng, n: rng.poisson(1.0, n).astype(float),
    "t, 3 degrees": lambda rng, n: rng.standard_t(3, size=n),
}
TOGETHER = {"alone": 1, "groups": 5, "copies": 3, "weights": 1}
"""How many rows of each structure belong together."""
FAMILIES: dict[str, Any] = {
    kind.__name__: kind for kind in (KernelStackingRegressor, TwoStageRegressor)
}
LOW = 0.75


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


def null_covered(problem: str, n: int, seed: int) -> dict[str, Any]:
    """The share of new responses in their intervals, with and without a scale."""
    shape, structure, family = problem.split(" / ")
    rng = np.random.default_rng([seed, n, list(SHAPES).index(shape)])
    n_new = N_NEW // 2
    numbers = np.arange(n + n_new) // TOGETHER[structure]
    numbers[n:] += numbers[n - 1] + 1 - numbers[n]
    first = np.unique(numbers, return_index=True)[1][numbers]
    X, y = rng.normal(size=(len(numbers), 3)), SHAPES[shape](rng, len(numbers))
    known: dict[str, Any] = {}
    if structure == "groups":
        X = (X + rng.normal(size=X.shape)[first]) / np.sqrt(2.0)
        y = np.where(rng.random(len(y)) < 0.5, y, SHAPES[shape](rng, len(y))[first])
        known["groups"] = numbers[:n]
    elif structure == "copies":
        rows = np.append(rng.permutation(n), np.arange(n, n + n_new))
        X, y = X[first][rows], y[first][rows]
    elif structure == "weights":
        known["sample_weight"] = rng.exponential(size=n)
    model = FAMILIES[family]().fit(X[:n], y[:n], **known)
    found: dict[str, Any] = {"kind": "coverage", "problem": problem, "rows": n, "seed": seed}
    ends = [model.predict_interval(X[n:], COVERAGE, scale) for scale in (None, "auto")]
    for name, (low, high) in zip(("plain", "scaled"), (both.T for both in ends), strict=True):
        found[name] = round(float(np.mean((low <= y[n:]) & (y[n:] <= high))), 4)
    return {**found, "taken": float(not np.allclose(*ends))}


def measure_coverage(rows: list[int], draws: int, jobs: int, only: str) -> None:
    """Measure cells of noise, and write each that has all of its draws."""
    names = [" / ".join(parts) for parts in product(SHAPES, TOGETHER, FAMILIES)]
    wanted = only.split(", ") if only else []
    names = [name for name in names if all(part in name.split(" / ") for part in wanted)]
    kept = RECORDS.with_suffix(".draws")
    done = {(c["problem"], c["rows"]) for c in records() if c["draws"] >= draws}
    cells = [cell for cell in product(names, rows) if cell not in done]
    known = {(c["problem"], c["rows"], c["seed"]) for c in read_records(kept)}
    tasks = [(*cell, seed) for cell in cells for seed in range(draws)]
    tasks = sorted((task for task in tasks if task not in known), key=lambda task: -task[1])
    try:
        append_records(kept, null_covered, tasks, jobs)
    finally:
        found = sorted(read_records(kept), key=lambda c: c["seed"])
        for problem, n in cells:
            own = [c for c in found if (c["problem"], c["rows"]) == (problem, n)]
            if len(own) >= draws:
                others = [c for c in records() if (c["problem"], c["rows"]) != (problem, n)]
                write_records(RECORDS, [*others, coverage_cell(own)])
                found = [c for c in found if (c["problem"], c["rows"]) != (problem, n)]
        write_records(kept, found)


def coverage_cell(draws: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over draws of one cell, their standard errors, and the lowest values."""
    cell = {name: draws[0][name] for name in ("kind", "problem", "rows")}
    cell |= {"columns": 3, "draws": len(draws)}
    for name in ("plain", "scaled"):
        values = np.array([draw[name] for draw in draws])
        cell[name] = round(float(values.mean()), 4)
        cell[f"{name}, error"] = round(float(values.std(ddof=1) / np.sqrt(len(values))), 4)
        cell[f"{name}, least"] = float(values.min())
        cell[f"{name}, below"] = int(np.sum(values < LOW))
    cell["taken"] = round(float(np.mean([draw["taken"] for draw in draws])), 4)
    cell["seconds"] = round(float(np.mean([draw["seconds"] for draw in draws])), 2)
    return cell


def exact(cell: dict[str, Any]) -> tuple[int, int]:
    """Rank and number of the errors whose quantile bounds an interval, one more than there are."""
    n = -(-cell["rows"] // TOGETHER[cell["problem"].split(" / ")[1]]) + 1
    return int(np.ceil(COVERAGE * n - 1e-9)), n


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
        write_records(RECORDS, [*kept, cell])


def records() -> list[dict[str, Any]]:
    """All cells that were measured."""
    return read_records(RECORDS)


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
    if null := [c for c in cells if c["kind"] == "coverage"]:
        lines += null_lines(null)
    PAGE.write_text("\n".join(lines) + "\n")


def null_lines(cells: list[dict[str, Any]]) -> list[str]:
    """The section on coverage where there is nothing but noise."""
    large = [c for c in cells if c["rows"] >= 100]
    counts = {"n_cells": len(cells), "n_fits": sum(c["draws"] for c in large)}
    for end, name in (("", "scaled"), ("_plain", "plain")):
        least = [(c[name] + 2.0 * c[f"{name}, error"], np.divide(*exact(c))) for c in cells]
        counts[f"n_under{end}"] = sum(most < aim for most, aim in least)
        counts[f"n_low{end}"] = sum(c[f"{name}, below"] for c in large)
    # The coverage of a quantile of exchangeable errors has a beta distribution.
    shares = [beta.cdf(LOW, rank, n - rank) * c["draws"] for c in large for rank, n in [exact(c)]]
    head = NULL.replace("\\\n", "")
    head = head.format(
        n_new=N_NEW // 2, coverage=COVERAGE, low=LOW, n_low_exact=sum(shares), **counts
    )
    lines = [head]
    for c in cells:
        shape, structure, family = c["problem"].split(" / ")
        parts = [
            c["rows"],
            shape,
            structure,
            f"`{family}`",
            c["draws"],
            f"{np.divide(*exact(c)):.3f}",
        ]
        for name in ("plain", "scaled"):
            parts.append(f"{c[name]:.3f} ± {c[f'{name}, error']:.3f}")
            parts.append(f"{c[f'{name}, least']:.2f}")
        parts += [c["scaled, below"], f"{c['taken']:.0%}"]
        lines.append("| " + " | ".join(str(part) for part in parts) + " |")
    return lines


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["scores", "intervals", "coverage", "page"])
    parser.add_argument("--rows", type=_numbers, default=[30, 100])
    parser.add_argument("--columns", type=_numbers, default=[3, 10, 50])
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="parts of the names of cells of coverage")
    given = parser.parse_args()
    if given.what == "page":
        write_page()
    elif given.what == "coverage":
        measure_coverage(given.rows, given.draws, given.jobs, given.only)
    else:
        measure(given.what, given.rows, given.columns, given.draws, given.jobs)


if __name__ == "__main__":
    main()
