"""What checks of a report found, with what to say on the command line about it."""

import re
from collections.abc import Collection
from dataclasses import replace

from mercer.inspection import ModelReport
from mercer_command.messages import shown


def with_advice(report: ModelReport, used: Collection[str]) -> ModelReport:
    """Return a report whose warnings advise options of the command.

    Parameters
    ----------
    report : ModelReport
    used : collection of str
        Names of the columns that the model learned from. That others tell the target does not
        matter.
    """
    found = []
    for check in report.checks:
        names = check.columns or ("",) * len(check.warnings)
        pairs = zip(names, check.warnings, strict=True)
        kept = [p for p in pairs if check.name != "leakage" or not p[0] or p[0] in used]
        told = tuple(
            "; ".join(filter(None, (text, _advice(check.name, name)))) for name, text in kept
        )
        names = tuple(name for name, _ in kept)
        found.append(replace(check, warnings=told, advice="", columns=names))
    remarks = tuple(map(_plain, report.remarks))
    return replace(report, checks=tuple(found), remarks=remarks)


_PLAIN = {
    r"as \w+ has no predict_interval": "as this method predicts no intervals",
    r"as \w+ has no predict_set": "as this method predicts no sets",
    r": pass train=\(X, y\)": "",
}
"""What remarks of the library are without names of its classes and arguments."""


def _plain(text: str) -> str:
    for pattern, words in _PLAIN.items():
        text = re.sub(pattern, words, text)
    return text


def _advice(check: str, column: str) -> str:
    """Return the option that does something about what a check found of a column."""
    # Of codes, it is the part before a separator that names the group; so does the option.
    name = shown(column.split(" before '", maxsplit=1)[0])
    if check == "identifiers":
        return f"--group '{name}' holds out whole groups, and does not learn from it"
    if check == "time order" and column:
        return f"--time '{name}' learns from the past and tests on the last rows"
    if check == "leakage" and column:
        return f"--columns '{name}=ignored' does so"
    return ""
