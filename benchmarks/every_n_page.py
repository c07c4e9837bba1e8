"""The page docs/every_n.md and its figure, from the records of every_n.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from experiments.reporting.section import line, named_texts

Record = dict[str, Any]
TEXTS = named_texts(Path(__file__).with_suffix(".md"))

STACK, LIGHTGBM, CATBOOST = "stacking", "LightGBM", "CatBoost"
TUNED = ", tuned"
"""End of the names of methods that are tuned."""
LATER = ", later"
"""End of the names of tables whose test rows are later than the training rows."""

TASKS = {"regression": "responses", "classification": "classes"}
"""Kinds of tables, and what their targets are called."""

OFFSET = 0.005
"""Added to fractions of wrong labels in ratios, so that few of them do not make large ones."""


def page(records: Sequence[Record]) -> str:
    """The text of the page.

    Parameters
    ----------
    records : sequence of dict
    """
    on_one, on_all = by_threads(records)
    cells = means(on_one)
    methods = list(dict.fromkeys(record["method"] for record in on_one))
    others = [method for method in methods if method != STACK and not method.endswith(TUNED)]
    later = {key: found for key, found in cells.items() if key[0].endswith(LATER)}
    drawn = {key: found for key, found in cells.items() if key not in later}
    parts = {"ratios": _ratios(drawn, others), "spread": _spread(drawn), "losses": _losses(drawn)}
    parts["later"], parts["tuned"] = _later(later, others), _tuned(on_one)
    parts |= {"machine": on_all[0]["machine"], "wall": _wall(means(on_all))}
    return TEXTS["page"].format(offset=100 * OFFSET, errors=_errors(cells, methods), **parts)


def claim(records: Sequence[Record]) -> str:
    """The table of README.md and docs/index.md, the range over tables, and the number of cores.

    Ratios are geometric means over tables and, in parentheses, over all but the table with the
    lowest ratio.

    Parameters
    ----------
    records : sequence of dict
    """
    on_one, on_all = by_threads(records)
    cells = {key: found for key, found in means(on_one).items() if not key[0].endswith(LATER)}
    timed, others = means(on_all), (LIGHTGBM, CATBOOST)
    header = ["Training rows", "Error / LightGBM", "Error / CatBoost", "Log-loss / LightGBM"]
    header += ["Log-loss / CatBoost", "Fit, s", "Time / LightGBM", "Time / CatBoost"]
    lines = [line(*header), line(*["---:"] * len(header))]
    for size in _sizes(cells):
        row = [size]
        for task, name in zip(TASKS, ("error", "log_loss"), strict=True):
            found = _of_size(cells, size, task, *others)
            for other in others:
                logs = np.sort(np.log([ratio(f[STACK], f[other], name) for f in found]))
                row.append(f"{np.exp(logs.mean()):.2f} ({np.exp(logs[1:].mean()):.2f})")
        found = [f for task in TASKS for f in _of_size(timed, size, task, *others)]
        row.append(f"{np.median([f[STACK]['wall'] for f in found]):.0f}")
        row += [f"{_mean_ratio(found, other, 'wall'):.0f}" for other in others]
        lines.append(line(*row))
    cores = f"Fits were timed on {on_all[0]['threads']} cores."
    return "\n".join([*lines, "", f"{_range(cells)} {cores}"])


def by_threads(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """The records on one thread, and those of the machine with the most threads.

    Parameters
    ----------
    records : sequence of dict
    """
    threads, machine = max((r["threads"], r["machine"]) for r in records if "threads" in r)
    on_one = [record for record in records if "threads" not in record]
    kept = {"threads": threads, "machine": machine}
    return on_one, [record for record in records if kept.items() <= record.items()]


def _mean_ratio(found: Sequence[dict[str, Record]], other: str, name: str) -> float:
    """The geometric mean over tables of a measure of the stack divided by another method's."""
    return float(np.exp(np.mean([np.log(ratio(f[STACK], f[other], name)) for f in found])))


def _range(cells: dict[tuple[str, int], dict[str, Record]]) -> str:
    """A sentence on the tables of responses with the lowest and the highest ratio to CatBoost."""
    found = [
        (ratio(methods[STACK], methods[CATBOOST], "error"), table, methods[STACK]["size"])
        for (table, _), methods in cells.items()
        if CATBOOST in methods and methods[STACK]["task"] == "regression"
    ]
    (best, *at_best), (worst, *at_worst) = min(found), max(found)
    at_best, at_worst = (f"`{table}`, {size} rows" for table, size in (at_best, at_worst))
    return (
        "For numeric targets, the ratio of mercer's error to CatBoost's error ranges from "
        f"{best:.2f} ({at_best}) to {worst:.2f} ({at_worst})."
    )


def means(records: Sequence[Record]) -> dict[tuple[str, int], dict[str, Record]]:
    """Means over splits, by table and number of rows, and by method."""
    groups: dict[tuple[str, int], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        groups[record["table"], record["rows"]][record["method"]].append(record)
    return {
        key: {
            method: {
                "task": found[0]["task"],
                "size": "all" if found[0].get("whole") else f"{found[0]['rows']:,}",
                "splits": len(found),
            }
            | {
                name: float(np.mean([record[name] for record in found]))
                for name in ("error", "log_loss", "fit", "predict", "wall")
                if name in found[0]
            }
            for method, found in groups[key].items()
        }
        for key in sorted(groups, key=lambda key: (key[1], key[0]))
    }


def figure(records: Sequence[Record]) -> Figure:
    """Errors of stacking divided by CatBoost's: a line for each table, and geometric means.

    Parameters
    ----------
    records : sequence of dict
    """
    cells = means(by_threads(records)[0])
    points: dict[str, list[tuple[int, float]]] = defaultdict(list)
    by_size: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for (table, rows), found in cells.items():
        if STACK in found and CATBOOST in found and not table.endswith(LATER):
            point = rows, ratio(found[STACK], found[CATBOOST], "error")
            points[table].append(point)
            by_size[found[STACK]["size"]].append(point)
    drawn = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = drawn.subplots()
    for table, drawn_points in points.items():
        axes.plot(*np.transpose(drawn_points), marker="o", ms=3, lw=1.0, alpha=0.7, label=table)
    middle = [np.exp(np.log(values).mean(axis=0)) for values in by_size.values()]
    axes.plot(*np.transpose(middle), color="black", marker="o", lw=2.5, label="geometric mean")
    axes.axhline(1.0, color="0.4", lw=0.8)
    axes.set(xscale="log", yscale="log", xlabel="training rows", ylabel="error / CatBoost's")
    rows_of_ticks, ratios_of_ticks = (400, 1000, 3000, 10_000, 30_000), (0.2, 0.3, 0.5, 0.7, 1.0)
    axes.set_xticks(rows_of_ticks, [f"{tick:,}" for tick in rows_of_ticks])
    axes.set_yticks(ratios_of_ticks, [f"{tick:g}" for tick in ratios_of_ticks])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    drawn.legend(loc="outside right upper", fontsize="small")
    return drawn


def ratio(stack: Record, other: Record, name: str) -> float:
    """A measure of the stack divided by the same measure of another method."""
    offset = OFFSET if name == "error" and stack["task"] == "classification" else 0.0
    return float((stack[name] + offset) / (other[name] + offset))


def _ratios(cells: dict[tuple[str, int], dict[str, Record]], others: list[str]) -> str:
    """Geometric means of ratios over tables, for each number of rows."""
    header = ["training rows", "data sets", *_headers(("error", "fit time"), others)]
    lines = [line(*header), line(*["---:"] * len(header))]
    for size in _sizes(cells):
        of_rows = [found for found in cells.values() if found[STACK]["size"] == size]
        row = [size, str(len(of_rows))]
        for name, other in [(n, o) for n in ("error", "fit") for o in others]:
            beside = [found for found in of_rows if other in found]
            row.append(f"{_mean_ratio(beside, other, name):.3f}" if beside else "")
        lines.append(line(*row))
    return "\n".join(lines)


def _headers(measures: Sequence[str], others: Sequence[str]) -> list[str]:
    """Heads of columns of ratios: measures of the stack divided by those of other methods."""
    return [f"{what} / {other.replace(', ', ' with ')}" for what in measures for other in others]


def _of_size(
    cells: dict[tuple[str, int], dict[str, Record]], size: str, task: str, *others: str
) -> list[dict[str, Record]]:
    """The tables of a task at a number of rows for which all these methods are measured."""
    return [
        found
        for found in cells.values()
        if found[STACK]["size"] == size
        and found[STACK]["task"] == task
        and all(other in found for other in others)
    ]


def _sizes(cells: dict[tuple[str, int], dict[str, Record]]) -> list[str]:
    return list(dict.fromkeys(found[STACK]["size"] for found in cells.values()))


def _spread(cells: dict[tuple[str, int], dict[str, Record]]) -> str:
    """Ratios of errors to CatBoost's: means, medians, and means without single tables."""
    header = ["training rows", "target", "data sets", "geometric mean", "median"]
    header += ["mean without the best data set", "mean without the worst data set"]
    header += ["best data set", "worst data set"]
    lines = [line(*header), line(*["---:"] * len(header))]
    for size in _sizes(cells):
        for task, target in TASKS.items():
            found = _of_size(cells, size, task, CATBOOST)
            values = np.sort([ratio(f[STACK], f[CATBOOST], "error") for f in found])
            if len(values) < 2:
                continue
            logs = np.log(values)
            numbers = np.exp([logs.mean(), np.median(logs), logs[1:].mean(), logs[:-1].mean()])
            shown = [f"{number:.3f}" for number in (*numbers, values[0], values[-1])]
            lines.append(line(size, target, str(len(values)), *shown))
    return "\n".join(lines)


def _losses(cells: dict[tuple[str, int], dict[str, Record]]) -> str:
    """Ratios of log-losses of classes to those of LightGBM, CatBoost, and the better of both."""
    header = ["training rows", "data sets", *_headers(("log-loss",), [LIGHTGBM, CATBOOST])]
    header += ["log-loss / the better of both", "highest ratio to the better of both"]
    lines = [line(*header), line(*["---:"] * len(header))]
    for size in _sizes(cells):
        found = _of_size(cells, size, "classification", LIGHTGBM, CATBOOST)
        if not found:
            continue
        stack, light, cat = (
            np.log([f[method]["log_loss"] for f in found]) for method in (STACK, LIGHTGBM, CATBOOST)
        )
        better = stack - np.minimum(light, cat)
        means_of = ((stack - light).mean(), (stack - cat).mean(), better.mean(), better.max())
        lines.append(line(size, str(len(found)), *(f"{np.exp(m):.3f}" for m in means_of)))
    return "\n".join(lines)


def _wall(timed: dict[tuple[str, int], dict[str, Record]]) -> str:
    """Medians of the stack's fit times on all cores, and ratios to those of other methods."""
    others = [LIGHTGBM, CATBOOST]
    header = ["training rows", "data sets", "median fit time, s", *_headers(("fit time",), others)]
    lines = [line(*header), line(*["---:"] * len(header))]
    for size in _sizes(timed):
        found = [f for task in TASKS for f in _of_size(timed, size, task, *others)]
        median = np.median([f[STACK]["wall"] for f in found])
        ratios = (f"{_mean_ratio(found, other, 'wall'):.1f}" for other in others)
        lines.append(line(size, str(len(found)), f"{median:.1f}", *ratios))
    return "\n".join(lines)


def _later(cells: dict[tuple[str, int], dict[str, Record]], others: list[str]) -> str:
    """Ratios of errors, and of log-losses, on tables whose test rows are later ones."""
    header = ["data set", "training rows", *_headers(("error", "log-loss"), others)]
    lines = [line(*header), line("---", *["---:"] * (len(header) - 1))]
    for (table, rows), found in cells.items():
        shown = [table.removesuffix(LATER), f"{rows:,}"]
        for name in ("error", "log_loss"):
            shown += [
                f"{ratio(found[STACK], found[other], name):.3f}"
                if other in found and name in found[STACK]
                else ""
                for other in others
            ]
        lines.append(line(*shown))
    return "\n".join(lines)


def _tuned(records: Sequence[Record]) -> str:
    """Ratios to tuned methods, on the splits for which these are measured."""
    header = ["training rows", "tuned method", "target", "data sets", "splits"]
    header += ["error / tuned error", "median of the error ratio"]
    header += ["error ratio without the best data set", "error ratio without the worst data set"]
    header += ["log-loss / tuned log-loss", "fit time / tuned fit time"]
    header += ["tuned error / default error"]
    lines = [line(*header), line("---:", "---", "---", *["---:"] * (len(header) - 3))]
    for (size, method, target), found in _beside_tuned(records).items():
        tables = sorted({stack["table"] for stack, _, _ in found})
        errors = [
            [np.log(ratio(s, m, "error")) for s, m, _ in found if s["table"] == table]
            for table in tables
        ]
        logs = np.sort([np.mean(of_table) for of_table in errors])
        numbers = [logs, np.median(logs, keepdims=True), logs[1:], logs[:-1]]
        numbers.append([np.log(ratio(s, m, "log_loss")) for s, m, _ in found if "log_loss" in m])
        numbers.append([np.log(ratio(s, m, "fit")) for s, m, _ in found])
        numbers.append([np.log(ratio(m, d, "error")) for _, m, d in found])
        shown = [f"{np.exp(np.mean(values)):.3f}" if len(values) else "" for values in numbers]
        counts = [str(len(tables)), str(len(found))]
        lines.append(line(size, method.removesuffix(TUNED), target, *counts, *shown))
    return "\n".join(lines)


def _beside_tuned(
    records: Sequence[Record],
) -> dict[tuple[str, str, str], list[tuple[Record, Record, Record]]]:
    """Records of the stack, a tuned method and its default, by rows, method and target."""
    keys = ("table", "rows", "split", "method")
    by_split = {tuple(record[key] for key in keys): record for record in records}
    found = defaultdict(list)
    for (table, rows, split, method), record in sorted(by_split.items()):
        names = (STACK, method.removesuffix(TUNED))
        stack, default = (by_split.get((table, rows, split, name)) for name in names)
        if method.endswith(TUNED) and stack and default:
            size = "all" if record.get("whole") else f"{rows:,}"
            found[size, method, TASKS[record["task"]]].append((stack, record, default))
    return dict(sorted(found.items(), key=lambda item: (item[1][0][0]["rows"], item[0])))


def _errors(cells: dict[tuple[str, int], dict[str, Record]], methods: list[str]) -> str:
    """Errors, log-losses and seconds of all methods."""
    lines = []
    for (table, rows), found in cells.items():
        for method in (method for method in methods if method in found):
            cell = found[method]
            classes = cell["task"] == "classification"
            error = f"{100 * cell['error']:.2f} %" if classes else f"{cell['error']:.4f}"
            loss = f"{cell['log_loss']:.4f}" if "log_loss" in cell else ""
            values = [table, f"{rows:,}", method, str(cell["splits"]), error, loss]
            values += [f"{cell['fit']:.1f}", f"{cell['predict']:.2f}"]
            lines.append(line(*values))
    return "\n".join(lines)
