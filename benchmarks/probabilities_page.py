"""The page docs/probabilities.md, from the records of probabilities.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.reporting.section import line, named_texts, wrapped

Record = dict[str, Any]
TEXTS = named_texts(Path(__file__).with_suffix(".md"))

WAYS: dict[str, dict[str, Any]] = {
    "sigmoid": {"method": "sigmoid"},
    "isotonic": {"method": "isotonic"},
    "temperature": {"method": "temperature"},
    "temperature, one": {"method": "temperature", "ensemble": False},
}
"""Names and options of calibration."""

MEASURES = {
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
}
NOISE = {"noise, 50:50": (0.5, 0.5), "noise, 10:20:30:40": (0.1, 0.2, 0.3, 0.4)}
"""Sets whose labels do not depend on the features, and the proportions of their classes."""

MAX_COLUMNS = 100
"""Stacks are measured on sets of at most this many encoded columns."""

PRIOR = "class frequencies"
PEERS = ("SVC()", "SVC, grid search")
SHOWN = {PEERS[1]: "tuned `SVC`", "temperature, one": "temperature with one fit"}
"""What the page calls machines and methods of calibration that have other names in the records."""
N_RESAMPLES = 10_000
LEVEL = 0.95


class Ratio(NamedTuple):
    """A geometric mean over sets, and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        star = " *" if self.low > 1.0 else ""
        return f"{self.value:.3f} ({self.low:.3f}, {self.high:.3f}){star}"


# What is measured: an estimator, and how its probabilities come about.
Way = tuple[str, str]


class Scores:
    """Measures of one number of training rows, by way, set and split."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.found: dict[Way, dict[str, dict[int, Record]]] = defaultdict(lambda: defaultdict(dict))
        for record in records:
            for way, scores in record["scores"].items():
                self.found[record["estimator"], way][record["set"]][record["split"]] = scores
        self.own = [name for name, way in self.found if way == "own" and name != PRIOR]

    def mean(self, way: Way, name: str, measure: str) -> float:
        """The mean over splits on a set."""
        return float(np.mean([scores[measure] for scores in self.found[way][name].values()]))

    def ratio(self, one: Way, other: Way, measure: str) -> Ratio | None:
        """The ratio of the first to the second; None where no set has both, above zero."""
        pairs = []
        for name in self.found[one].keys() & self.found.get(other, {}).keys():
            first, second = self.found[one][name], self.found[other][name]
            splits = first.keys() & second.keys()
            sums = [sum(side[split][measure] for split in splits) for side in (first, second)]
            if splits and min(sums) > 0.0:
                pairs.append((name, sums))
        if not pairs:
            return None
        logs = np.array([np.log(one / other) for _, (one, other) in sorted(pairs)])
        rows = np.random.default_rng(0).integers(logs.size, size=(N_RESAMPLES, logs.size))
        ends = np.quantile(logs[rows].mean(axis=1), [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
        value, low, high = np.exp([logs.mean(), *ends]).tolist()
        return Ratio(value, low, high)

    def best_way(self) -> str:
        """The calibration by which `SVC, grid search` has the lowest log-loss."""
        first = (PEERS[1], next(iter(WAYS)))
        found = {way: self.ratio((PEERS[1], way), first, "log_loss") for way in WAYS}
        return min(WAYS, key=lambda way: getattr(found[way], "value", np.inf))


def _marks(n: int) -> str:
    return " | ".join(["---:"] * n)


def _code(name: str) -> str:
    return f"`{name}`" if name.endswith(")") else SHOWN.get(name, name)


def _listing(parts: Sequence[str]) -> str:
    return ", ".join(parts) if parts else "none"


Comparisons = dict[tuple[str, str, Way], Ratio]
"""Ratios by estimator, measure, and what its own probabilities are compared with."""


def _worse(found: Comparisons) -> str:
    """List the estimators whose own probabilities are worse, and by which factors."""
    lines = []
    for name in dict.fromkeys(key[0] for key in found):
        of_estimator = []
        for measure, title in MEASURES.items():
            factors = [
                f"{_title(other, name)} ({ratio.value:.3f})"
                for (n, m, other), ratio in found.items()
                if (n, m) == (name, measure) and ratio.low > 1.0
            ]
            of_estimator += [f"{title}: {', '.join(factors)}"] * bool(factors)
        if of_estimator:
            text = f"{_code(name)}: {'; '.join(of_estimator)}"
            lines.append(wrapped(text, "* "))
    return "\n".join(lines) if lines else "* none"


def _title(way: Way, estimator: str = "") -> str:
    return _code(way[1]) if way[0] == estimator else f"{_code(way[0])}, {_code(way[1])}"


def _verdict(found: Comparisons) -> str:
    """Say where own probabilities are worse, and count where they are better."""
    texts = []
    for same, what in (
        (True, "the calibrated probabilities of the same estimator"),
        (False, "the calibrated probabilities of support vector machines"),
    ):
        ratios = {key: r for key, r in found.items() if (key[2][0] == key[0]) == same}
        better = sum(ratio.high < 1.0 for ratio in ratios.values())
        worse = sum(ratio.low > 1.0 for ratio in ratios.values())
        text = (
            f"In {len(ratios)} ratios, an estimator's own probabilities are compared with {what}. "
            f"For {better} ratios, the whole interval is below one, and for {worse} ratios, it is "
            "above one. The following list gives the ratios whose whole interval is above one, by "
            "estimator, measure and method of calibration:"
        )
        texts += [wrapped(text), _worse(ratios)]
    return "\n\n".join(texts)


def _ratios(scores: Scores, rows: int) -> str:
    peers = [(PEERS[0], "sigmoid"), *((PEERS[1], way) for way in list(WAYS)[:3])]
    found: Comparisons = {}
    lines = []
    for name in scores.own:
        n_sets, n_calibrated = (len(scores.found[name, way]) for way in ("own", next(iter(WAYS))))
        sets = (
            f"{n_sets}"
            if n_calibrated in (0, n_sets)
            else f"{n_sets}, {n_calibrated} of them calibrated"
        )
        others = [*((name, way) for way in WAYS), *peers]
        for measure, title in MEASURES.items():
            ratios = [scores.ratio((name, "own"), other, measure) for other in others]
            found |= {(name, measure, o): r for o, r in zip(others, ratios, strict=True) if r}
            lines.append(line(_code(name), title, sets, *("" if r is None else r for r in ratios)))
    columns = [*(f"same estimator, {_code(way)}" for way in WAYS), *(_title(way) for way in peers)]
    head = TEXTS["ratios"].format(
        rows=f"{rows:,}",
        level=LEVEL,
        verdict=_verdict(found),
        columns=" | ".join(columns),
        marks=_marks(len(columns)),
    )
    return head + "\n".join(lines) + "\n"


def _by_set(scores: Scores, records: Sequence[Record]) -> str:
    method = scores.best_way()
    ways = [(PRIOR, "own"), *((name, method) for name in PEERS)]
    ways += [(name, "own") for name in scores.own]
    sizes = {r["set"]: (r["n"], r["classes"]) for r in records}
    lines = []
    for name, size in sizes.items():
        known = {way: scores.mean(way, name, "log_loss") for way in ways if scores.found[way][name]}
        least = min(known.values())
        cells = [
            f"**{known[w]:.3f}**" if known.get(w) == least else f"{known.get(w, np.nan):.3f}"
            for w in ways
        ]
        lines.append(line(name, *size, *(cell.replace("nan", "") for cell in cells)))
    names = " | ".join(_code(name) for name, _ in ways)
    return (
        TEXTS["sets"].format(method=method, names=names, marks=_marks(len(ways)))
        + "\n".join(lines)
        + "\n"
    )


def _noise(records: Sequence[Record], method: str) -> str:
    settings = sorted({(r["rows"], r["set"]) for r in records}, key=lambda s: (s[0], -len(s[1])))
    cells = {}
    for rows, name in settings:
        scores = Scores([r for r in records if (r["rows"], r["set"]) == (rows, name)])
        prior = scores.found[PRIOR, "own"][name]
        for way in [(peer, method) for peer in PEERS] + [(own, "own") for own in scores.own]:
            draws = scores.found[way][name]
            excess = [
                1000.0 * (draws[k]["log_loss"] - prior[k]["log_loss"])
                for k in draws.keys() & prior.keys()
            ]
            if len(excess) < 2:
                continue
            cells[way[0], rows, name] = np.mean(excess), np.std(excess, ddof=1) / len(excess) ** 0.5
    lines, beyond = [], []
    for estimator in dict.fromkeys(key[0] for key in cells):
        texts = []
        for setting in settings:
            value, error = cells.get((estimator, *setting), (np.nan, np.nan))
            star = " *" if value > 2.0 * error else ""
            texts.append("" if np.isnan(value) else f"{value:.1f} ± {error:.1f}{star}")
        own = [c for k, c in cells.items() if k[0] == estimator]
        beyond += [_code(estimator)] * (estimator not in PEERS and any(v > 2 * e for v, e in own))
        lines.append(line(_code(estimator), *texts))
    text = TEXTS["noise_head"].format(
        method=method,
        one=" and ".join(f"{500.0 / r:.1f} at n = {r:,}" for r in sorted({s[0] for s in settings})),
        verdict=wrapped(
            "For the following estimators, the log-loss of their own probabilities exceeds the "
            "log-loss of the class frequencies by more than two standard errors in at least one "
            f"column: {_listing(beyond)}."
        ),
        columns=" | ".join(f"classes {name[7:]}, n = {rows:,}" for rows, name in settings),
        marks=_marks(len(settings)),
    )
    return text + "\n".join(lines) + "\n"


def page(records: Sequence[Record]) -> str:
    """The text of the page.

    Parameters
    ----------
    records : sequence of dict
        One for each estimator on each split of a set.
    """
    public = [r for r in records if r["set"] not in NOISE]
    n_splits = 1 + max(record["split"] for record in public)
    sizes = sorted({record["rows"] for record in public})
    text = TEXTS["head"].format(
        n_sets=len({record["set"] for record in public}),
        n_splits=n_splits,
        rows=" or ".join(f"{size:,}" for size in sizes),
        max_columns=MAX_COLUMNS,
        larger="\n" + TEXTS["larger"] if len(sizes) > 1 else "",
    )
    for rows in sizes:
        own = [record for record in public if record["rows"] == rows]
        scores = Scores(own)
        text += _ratios(scores, rows) + _by_set(scores, own)
    noise = [r for r in records if r["set"] in NOISE]
    return text + (_noise(noise, Scores(public).best_way()) if noise else "")
