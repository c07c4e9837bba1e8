"""The page docs/machines.md, from the records of cores.py and card.py."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.reporting.section import line, named_texts

Record = dict[str, Any]
TEXTS = named_texts(Path(__file__).with_suffix(".md"))
RECORDS = Path(__file__).with_name("machines.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "machines.md"


def machine_name() -> str:
    """The processor of this machine, and the number of cores that this process may use."""
    names = [platform.processor() or platform.machine()]
    info = Path("/proc/cpuinfo")
    if info.exists():
        known = [text.partition(":") for text in info.read_text().splitlines()]
        names = [value.strip() for name, _, value in known if name.strip() == "model name"] or names
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count()
    return f"{names[0]}, {cores} cores"


def page(records: Sequence[Record]) -> str:
    """The text of the page.

    Parameters
    ----------
    records : sequence of dict
    """
    machines = dict.fromkeys(r["machine"] for r in records if r["what"] != "card")
    cards = dict.fromkeys(r["machine"] for r in records if r["what"] == "card")
    cores = "\n".join(_machine([r for r in records if r["machine"] == name]) for name in machines)
    card = "\n".join(_card([r for r in records if r["machine"] == name]) for name in cards)
    return TEXTS["page"].format(cores=cores.strip(), card=(card or TEXTS["none"]).strip()) + "\n"


def write_page() -> None:
    """Write the page from the records of the project."""
    # A script's own folder alone is on the path of a script.
    from common import read_records

    PAGE.write_text(page(read_records(RECORDS)))


def _machine(records: Sequence[Record]) -> str:
    """The tables of a machine with several cores."""
    operations = [record for record in records if record["what"] == "operations"]
    fits = [record for record in records if record["what"] == "fits"]
    threads = records[0]["threads"]
    return TEXTS["machine"].format(
        machine=records[0]["machine"],
        rows=f"{operations[0]['rows']:,}" if operations else "",
        operations=_times(operations, threads),
        most=threads[-1],
        fits=_times(fits, threads, tasks=True),
    )


def _times(records: Sequence[Record], threads: Sequence[int], *, tasks: bool = False) -> str:
    """The table of times by the number of threads."""
    heads = [f"{number} threads, ms" if number > 1 else "1 thread, ms" for number in threads]
    more = ["tasks", "mean length, ms", "tasks below 1 ms", "waiting"] if tasks else []
    rows = [line("fit" if tasks else "operation", *heads, "ratio", *more)]
    rows.append(line("---", *["---:"] * (len(heads) + 1 + len(more))))
    return "\n".join([*rows, *(line(*cells(record)) for record in records)])


def cells(record: Record) -> list[str]:
    """The texts of a record of cores.py: name, times, ratio, and tasks if they were counted."""
    times = record["ms"]
    found = [record["name"], *(f"{ms:,.1f}" for ms in times), f"{max(times) / times[0]:.2f}"]
    if "tasks" in record:
        lengths = [f"{record['mean_ms']:.2f}", f"{record['short']:.0%}"]
        found += [f"{record['tasks']:,}", *(lengths if record["tasks"] else ["", ""])]
        found.append(f"{record['waiting']:.0%}")
    return found


def _card(records: Sequence[Record]) -> str:
    """The table of a graphics card."""
    rows = []
    for record in records:
        measured = [record[name] for name in ("card", "processor")]
        errors = [record[name] for name in ("card_error", "processor_error", "difference")]
        texts = [record["name"], f"{record['rows']:,}"]
        texts += ["" if spent is None else f"{spent:.2f}" for spent in measured]
        texts += ["" if error is None else f"{error:.4f}" for error in errors]
        rows.append(line(*texts))
    about = {"machine": records[0]["machine"], "torch": records[0]["torch"]}
    return TEXTS["card"].format(rows="\n".join(rows), **about)


if __name__ == "__main__":
    write_page()
