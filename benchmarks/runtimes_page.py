"""The page docs/runtimes.md and the table of the guide, from the records of runtimes.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.reporting.section import line, listed, named_texts, table, wrapped

Record = dict[str, Any]
TEXTS = named_texts(Path(__file__).with_suffix(".md"))

REASONS = {
    "ai.onnx.ml.LabelEncoder": "It has no operator `LabelEncoder`, which reads categories.",
    "F64 with Bool": "It takes `IsNaN` of doubles for a number.",
    "F64 and Bool": "It takes `IsNaN` of doubles for a number.",
}
"""What messages of runtimes mean, by a part of them."""


def page(records: Sequence[Record]) -> str:
    """The text of the page.

    Parameters
    ----------
    records : sequence of dict
    """
    (about,) = (one for one in records if "machine" in one)
    absent = [name for name, number in versions(records).items() if number is None]
    names = list(dict.fromkeys(one["model"] for one in records if "model" in one))
    models = [_model(name, [one for one in records if one.get("model") == name]) for name in names]
    text = TEXTS["page"].format(
        machine=about["machine"],
        rows=f"{about['rows']:,}",
        versions=wrapped(f"The versions are {_numbers(records)}.", "* ")[2:],
        absent=TEXTS["absent"].format(names=listed(absent)) + "\n" if absent else "",
        models="\n\n".join(models),
    )
    return text.rstrip() + "\n"


def summary(records: Sequence[Record]) -> str:
    """The guide's table: ranges over models, and what each runtime refuses.

    Parameters
    ----------
    records : sequence of dict
    """
    header = ["runtime", "version", "largest difference, deviations"]
    header += ["`predict` / runtime, one row", "`predict` / runtime, 1,000 rows", "refused"]
    lines = [line(*header), line("---", "---", *["---:"] * 3, "---")]
    for name, number in versions(records).items():
        some = [one for one in records if one.get("runtime") == name and "bytes" in one]
        run = [one for one in some if "difference" in one]
        refused = [one["model"] for one in some if "refused" in one]
        if not run:
            lines.append(line(name, number or "absent", "", "", "", listed(refused, "")))
            continue
        worst = rounded(max(one["difference"] for one in run))
        quicker = [[gain(records, one, key) for one in run] for key in ("row", "rows")]
        spans = [spread(some) for some in quicker]
        lines.append(line(name, number, worst, *spans, "; ".join(refused)))
    return "\n".join(lines)


def versions(records: Sequence[Record]) -> dict[str, str | None]:
    """The version of each runtime, None where it was absent.

    Parameters
    ----------
    records : sequence of dict
    """
    return {one["runtime"]: one["version"] for one in records if "version" in one}


def gain(records: Sequence[Record], one: Record, key: str) -> float:
    """The time of `predict`, divided by that of a runtime.

    `predict` is timed in turn with runtimes of Python. For others, its median over these counts.

    Parameters
    ----------
    records : sequence of dict
    one : dict
        The record of a model in a runtime.
    key : {"row", "rows"}
    """
    same = [some for some in records if some.get("model") == one["model"]]
    return float(one.get(f"predict_{key}", _predict(same, key)) / one[key])


def digits(value: float) -> str:
    """A positive number in two digits, as in 0.043, 4.3 and 430."""
    return np.format_float_positional(float(f"{value:.1e}"), trim="-")


def spread(values: Sequence[float]) -> str:
    """The least and the largest number, or the only one."""
    ends = dict.fromkeys(digits(end) for end in (min(values), max(values)))
    return " to ".join(ends)


def rounded(value: float) -> str:
    """A difference by its order of magnitude, or in two digits if it is large."""
    return f"{value:.0e}" if value < 1e-3 else digits(value)


def _numbers(records: Sequence[Record]) -> str:
    """The runtimes that were there, with their versions."""
    return listed(f"{name} {number}" for name, number in versions(records).items() if number)


def _model(name: str, records: Sequence[Record]) -> str:
    """The section of a model."""
    refused = list(dict.fromkeys(one["not_exported"] for one in records if "not_exported" in one))
    if refused:
        return TEXTS["not_exported"].format(name=name, reason=refused[0])
    times = [_predict(records, key) for key in ("row", "rows")]
    header = ["runtime", "largest difference", "one row, ms", "`predict` / runtime"]
    header += ["1,000 rows, ms", "`predict` / runtime"]
    told = [[one["runtime"], *_cells(records, one)] for one in records]
    reasons: dict[str, list[str]] = {}
    for one in records:
        if "refused" in one:
            reasons.setdefault(_reason(one["refused"]), []).append(one["runtime"])
    lines = [wrapped(f"{listed(some)}: {reason}", "* ") for reason, some in reasons.items()]
    text = TEXTS["model"].format(
        name=name,
        size=f"{records[0]['bytes'] / 1e3:,.0f}",
        row=digits(times[0]),
        rows=digits(times[1]),
        table=table(header, told),
        refused="\n".join(["Refused:", "", *lines]) if lines else "",
    )
    return text.rstrip()


def _predict(records: Sequence[Record], key: str) -> float:
    """The median time of `predict`."""
    return float(np.median([one[f"predict_{key}"] for one in records if f"predict_{key}" in one]))


def _cells(records: Sequence[Record], one: Record) -> list[str]:
    if "refused" in one:
        return ["refused", "", "", "", ""]
    cells = [rounded(one["difference"])]
    for key in ("row", "rows"):
        cells += [digits(one[key]), digits(gain(records, one, key))]
    return cells


def _reason(message: str) -> str:
    """What a message means, and the message."""
    known = [meaning for part, meaning in REASONS.items() if part in message]
    return f"{known[0]} Its message is `{message}`" if known else f"Its message is `{message}`"
