"""Tables of `hsic.py`: errors, times, paired tests, and what the paper says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from common import Array, print_table
from scipy.stats import ttest_rel

LEVEL = 0.05
"""Of the two-tailed t-test on paired splits."""
ROUNDING = 1e-9
"""Differences that vary by less than this, in %, are the same on all splits: no test is made."""
ELLIPSOID = " ellipsoid"
GOALS = (100.0, 10.0)
"""How many times faster than CV learning must be, and learning with the search for C."""
PUBLISHED_ZOO = {"CV": 26.5720, "KA": 0.5943, "CKA": 0.6186, "HSIC": 0.3295}
"""Seconds on zoo (Wang & Li 2018, section 4.3), on another machine and in Matlab."""


@dataclass(frozen=True)
class Trial:
    """One method on one split.

    Attributes
    ----------
    set : str
    split : int
    method : str
    error : float
        On the test half, in %.
    learning : float or None
        Seconds to learn the kernel; None where it is no step of its own.
    total : float
        Seconds of the whole fit.
    """

    set: str
    split: int
    method: str
    error: float
    learning: float | None
    total: float

    @property
    def key(self) -> tuple[str, int, str]:
        """Set, split and method."""
        return self.set, self.split, self.method

    def __str__(self) -> str:
        learning = "" if self.learning is None else f", learning {1e3 * self.learning:.1f} ms"
        return (
            f"{self.set} {self.split} {self.method}: {self.error:.1f} %, "
            f"{self.total:.3f} s{learning}"
        )


class Results:
    """Trials, looked up by set and method.

    Parameters
    ----------
    trials : sequence of Trial
    sets : sequence of str
        In the order of the tables.
    """

    def __init__(self, trials: Sequence[Trial], sets: Sequence[str]) -> None:
        self.trials = {trial.key: trial for trial in trials}
        self.sets = [name for name in sets if any(t.set == name for t in trials)]
        found = dict.fromkeys(trial.method for trial in trials)
        self.spherical = [method for method in found if not method.endswith(ELLIPSOID)]
        self.ellipsoidal = [method for method in found if method.endswith(ELLIPSOID)]

    def of(self, name: str, method: str) -> list[Trial]:
        """Trials of a method on a set, by split."""
        chosen = [t for t in self.trials.values() if (t.set, t.method) == (name, method)]
        return sorted(chosen, key=lambda trial: trial.split)

    def error(self, name: str, method: str) -> float:
        """Mean error in %, NaN where there is none."""
        return _mean([trial.error for trial in self.of(name, method)])

    def total(self, name: str, method: str) -> float:
        """Mean seconds of the whole fit."""
        return _mean([trial.total for trial in self.of(name, method)])

    def learning(self, name: str, method: str) -> float:
        """Mean seconds of learning the kernel."""
        return _mean([t.learning for t in self.of(name, method) if t.learning is not None])

    def both(self, *methods: str) -> list[str]:
        """Sets on which all these methods were tried."""
        return [name for name in self.sets if all(self.of(name, method) for method in methods)]

    def outcome(self, name: str, method: str, other: str) -> int:
        """1 where a method is significantly better than another, -1 where it is worse, else 0."""
        errors: dict[str, dict[int, float]] = {
            m: {trial.split: trial.error for trial in self.of(name, m)} for m in (method, other)
        }
        common = sorted(errors[method].keys() & errors[other].keys())
        ours, theirs = (np.array([errors[m][split] for split in common]) for m in (method, other))
        difference: Array = ours - theirs
        if len(common) < 2 or np.ptp(difference) < ROUNDING:
            return 0
        return int(-np.sign(difference.mean())) * int(ttest_rel(ours, theirs).pvalue < LEVEL)

    def outcomes(self, method: str, other: str) -> dict[str, int]:
        """Outcomes on all sets on which both were tried."""
        return {name: self.outcome(name, method, other) for name in self.both(method, other)}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def win_tie_loss(outcomes: dict[str, int]) -> str:
    """How often a method is better, as good and worse."""
    counts = [sum(outcome == wanted for outcome in outcomes.values()) for wanted in (1, 0, -1)]
    return "-".join(map(str, counts))


def print_errors(title: str, results: Results, methods: Sequence[str], ours: str) -> None:
    """Errors of methods beside ours; + and - where ours is significantly better or worse."""
    marks = {1: " +", 0: "  ", -1: " -"}
    rows = []
    for name in results.sets:
        row = [name]
        for method in methods:
            errors = np.array([trial.error for trial in results.of(name, method)])
            if errors.size == 0:
                row.append("")
                continue
            deviation = errors.std(ddof=1) if errors.size > 1 else 0.0
            mark = marks[results.outcome(name, ours, method) if method != ours else 0]
            row.append(f"{errors.mean():.2f} ± {deviation:.2f} ({errors.size}){mark}")
        rows.append(row)
    tests = [
        "" if method == ours else win_tie_loss(results.outcomes(ours, method)) + "  "
        for method in methods
    ]
    rows.append([f"{ours}, W-T-L", *tests])
    print_table(f"{title}: error in %, mean ± std (splits)", ["set", *methods], rows)


def print_times(title: str, results: Results, methods: Sequence[str]) -> None:
    """Milliseconds of learning, and of the search for C, or of the whole fit."""
    rows = []
    for name in results.sets:
        row = [name]
        for method in methods:
            learning, total = results.learning(name, method), results.total(name, method)
            if np.isnan(total):
                row.append("")
            elif np.isnan(learning):
                row.append(f"{1e3 * total:.0f}")
            else:
                row.append(f"{1e3 * learning:.1f} + {1e3 * max(total - learning, 0.0):.0f}")
        rows.append(row)
    print_table(f"{title}: time in ms, learning + search for C", ["set", *methods], rows)


def print_goals(results: Results) -> None:
    """How many times faster than cross-validation, and whether that is enough."""
    rows = []
    methods = [m for m in results.spherical if results.both("CV", m) and m != "CV"]
    for name in results.both("CV"):
        slow, row = results.total(name, "CV"), [name]
        for method in methods:
            fast = results.learning(name, method), results.total(name, method)
            ratios = [slow / time for time in fast]
            kept = all(ratio >= goal for ratio, goal in zip(ratios, GOALS, strict=True))
            row.append(f"{ratios[0]:.0f}, {ratios[1]:.1f}{'' if kept else ' !'}")
        rows.append(row)
    title = f"times faster than CV: learning [{GOALS[0]:g}], with the search for C [{GOALS[1]:g}]"
    print_table(title, ["set", *methods], rows)


def print_forms(results: Results) -> None:
    """Figures 1 and 2: one width per feature against one width, by HSIC."""
    methods = [method for method in results.ellipsoidal if results.both("HSIC", method)]
    rows = []
    for name in results.both("HSIC"):
        row = [name, f"{results.error(name, 'HSIC'):.2f}"]
        for method in methods:
            sign = {1: "better", 0: "", -1: "worse"}[results.outcome(name, method, "HSIC")]
            slower = results.total(name, method) / results.total(name, "HSIC")
            row.append(f"{results.error(name, method):.2f} {sign:6s} {slower:4.0f} x")
        rows.append(row)
    tests = [win_tie_loss(results.outcomes(method, "HSIC")) + " " * 14 for method in methods]
    rows.append(["W-T-L against HSIC", "", *tests])
    title = (
        "Figures 1 and 2: error in %, significantly better or worse than HSIC, and time beside it"
    )
    print_table(title, ["set", "HSIC", *methods], rows)


def statements(results: Results) -> list[tuple[str, bool | None, str]]:
    """What section 4.3 says, whether it holds (None: not enough was tried), and the figures."""
    found = _of_spheres(results) + _of_ellipsoids(results) + _of_forms(results)
    return [statement for statement in found if statement[2]]


def _of_spheres(results: Results) -> list[tuple[str, bool | None, str]]:
    cv, ka = results.outcomes("HSIC", "CV"), results.outcomes("HSIC", "KA")
    cka = results.outcomes("HSIC", "CKA")
    lowest = _least(results, ["CV", "KA", "CKA", "HSIC"], results.error)
    fastest = _least(results, ["HSIC", "CV", "KA", "CKA"], results.total)
    learns = _least(results, ["HSIC", "KA", "CKA"], results.learning)
    ours = {m: results.total("zoo", m) for m in PUBLISHED_ZOO if "zoo" in results.both(m)}
    return [
        ("Table 2: CV has the lowest error always", *_all(lowest)),
        (
            "Table 2: CV and HSIC do not differ significantly in most cases",
            2 * sum(outcome == 0 for outcome in cv.values()) > len(cv) if cv else None,
            f"W-T-L {win_tie_loss(cv)}" if cv else "",
        ),
        ("Table 2: HSIC is better than KA or comparable on all sets", *_never(ka, -1)),
        ("Table 2: CKA and HSIC do not differ significantly on any set", *_never(cka, -1, 1)),
        ("Table 3: HSIC takes the shortest time on all sets", *_all(fastest)),
        ("     the same of learning alone", *_all(learns)),
        (
            "Table 3, zoo: KA, CKA and CV take 1.8, 1.9 and 81 times as long as HSIC",
            None,
            ", ".join(f"{m} {time / ours['HSIC']:.1f}" for m, time in ours.items())
            if "HSIC" in ours
            else "",
        ),
    ]


def _of_ellipsoids(results: Results) -> list[tuple[str, bool | None, str]]:
    hsic, cka, ka = (name + ELLIPSOID for name in ("HSIC", "CKA", "KA"))
    fastest = _least(results, [hsic, ka, cka], results.total)
    learns = _least(results, [hsic, ka, cka], results.learning)
    against_ka, against_cka = results.outcomes(hsic, ka), results.outcomes(hsic, cka)
    return [
        ("Table 4: HSIC is better than KA or comparable on all sets", *_never(against_ka, -1)),
        ("Table 4: CKA and HSIC give nearly the same on all sets", *_never(against_cka, -1, 1)),
        ("Table 5: HSIC is the fastest of the three", *_all(fastest)),
        ("     the same of learning alone", *_all(learns)),
    ]


def _of_forms(results: Results) -> list[tuple[str, bool | None, str]]:
    ellipsoid = "HSIC" + ELLIPSOID
    names = results.both("HSIC", ellipsoid)
    better = {n: results.error(n, ellipsoid) < results.error(n, "HSIC") for n in names}
    slower = {n: results.total(n, ellipsoid) > results.total(n, "HSIC") for n in names}
    as_said = {n: better[n] == (n not in ("zoo", "sonar")) for n in names}
    outcomes = results.outcomes(ellipsoid, "HSIC")
    count = f"W-T-L of ellipsoids {win_tie_loss(outcomes)}" if names else ""
    return [
        ("Figure 1: ellipsoids have lower errors on all sets but zoo and sonar", *_all(as_said)),
        (
            "Figure 1: the difference is not stably significant",
            any(outcome == 0 for outcome in outcomes.values()) if names else None,
            count,
        ),
        ("Figure 1: spheres are comparable (never significantly worse)", *_never(outcomes, 1)),
        ("Figure 2: ellipsoids take longer on all sets", *_all(slower)),
    ]


def _least(results: Results, methods: Sequence[str], figure: object) -> dict[str, bool]:
    """Where the first method's figure is the least, on all sets where all were tried."""
    assert callable(figure)
    found = {name: [figure(name, m) for m in methods] for name in results.both(*methods)}
    return {name: figures[0] <= min(figures[1:]) for name, figures in found.items()}


def _all(holds: dict[str, bool]) -> tuple[bool | None, str]:
    if not holds:
        return None, ""
    fails = [name for name, value in holds.items() if not value]
    return not fails, f"on {len(holds) - len(fails)} of {len(holds)} sets" + _but(fails)


def _never(outcomes: dict[str, int], *unwanted: int) -> tuple[bool | None, str]:
    if not outcomes:
        return None, ""
    fails = [name for name, outcome in outcomes.items() if outcome in unwanted]
    return not fails, f"W-T-L {win_tie_loss(outcomes)}" + _but(fails)


def _but(names: Sequence[str]) -> str:
    return f", not {', '.join(names)}" if names else ""


def print_tables(trials: Sequence[Trial], sets: Sequence[str]) -> None:
    """All tables, and the paper's statements with verdicts.

    Parameters
    ----------
    trials : sequence of Trial
    sets : sequence of str
        In the order of the tables.
    """
    results = Results(trials, sets)
    forms = (
        (results.spherical, "2", "3", "HSIC"),
        (results.ellipsoidal, "4", "5", "HSIC" + ELLIPSOID),
    )
    for methods, errors, times, ours in forms:
        if methods:
            print_errors(f"Table {errors}", results, methods, ours)
            print_times(f"Table {times}", results, methods)
    if results.both("CV"):
        print_goals(results)
    if results.ellipsoidal:
        print_forms(results)
    verdict = {True: "holds", False: "does not hold", None: ""}
    rows = [[text, verdict[holds], figures] for text, holds, figures in statements(results)]
    print_table("What section 4.3 says", ["statement", "here", ""], rows)
