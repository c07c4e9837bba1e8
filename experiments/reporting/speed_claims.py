"""Claims of Afkanpour et al. (2013) on times and steps that several experiments test."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from experiments.problems import Array
from experiments.reporting.ranking import of_tasks, present
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Claims, by_name, judged
from experiments.reporting.shared_claims import SOURCE
from experiments.reporting.verdicts import Condition, Conditions

# CA must take fewer steps.
FEW_STEPS = 10
# A median of at least this many steps is counted as "around 50".
MANY_STEPS = 25
# The limit of steps of CR here; a run that reaches it may need more.
STEP_LIMIT = 50
# The published settings of methods whose steps differ here.
STEPS = {"CA-1D": "CA-1D, stagewise", "CA-nD": "CA-nD, stagewise", "CR-1D": "CR-1D, stagewise"}
UNTIMED = "CA and CR with their published steps were not timed on these tasks"
NO_PUBLISHED_STEPS = "CR-nD has no published steps here, so comparisons with it are not judged"


def speed(results: Results, sets: str) -> Claims:
    """Return the claims on times, or none if no times were recorded."""
    names = [*present(results), *present(results, list(STEPS.values()))]
    seconds = {
        name: values for name in names if (values := of_tasks(results, "seconds", name)).size
    }
    if not {"CA-1D", "DU", "DA", "D1", "D2", "CR-1D"} <= set(seconds):
        return []
    means = {name: float(values.mean()) for name, values in seconds.items()}
    listed = ", ".join(f"{name} {1e3 * mean:.0f} ms" for name, mean in means.items())
    return [
        _order_claim(sets, means, listed),
        _one_stage_claim(sets, means, listed, results),
        _dimension_claim(sets, means),
    ]


def _published(means: Mapping[str, float], *names: str) -> list[float]:
    """Return the times of published settings; none unless all of them are known."""
    settings = [STEPS.get(name, name) for name in names]
    return [means[name] for name in settings] if set(settings) <= set(means) else []


def _order_claim(sets: str, means: Mapping[str, float], listed: str) -> Claim | None:
    """Return the claim on the order of the fastest methods."""
    rest = ("DA", "D1", "D2", "CR-1D")
    known = _published(means, "CA-1D", *rest)
    return judged(
        f"On {sets}, DU is the fastest method and CA-1D the fastest of the rest",
        f"{SOURCE}, Table 2",
        "With a known C, DU has the shortest mean time over tasks to learn a kernel and train one "
        "support vector machine, and CA-1D with published steps has the shortest time of the other "
        "methods (means, not tested)",
        {
            "DU is the fastest": [means["DU"] == min(means.values())],
            "CA-1D is next": [known[0] == min(known)] if known else [],
        },
        listed,
        why=(
            f"{UNTIMED}. "
            * (not known)
            + "DA takes one pass over 20 Gram matrices and a small quadratic program; DU needs "
            "only the sum of these matrices. But DA's support vector machine then has fewer "
            "kernels to add up. CA-1D takes a pass over the distances for each step, and its "
            "corrective steps move all widths together at the end. The paper uses general-purpose "
            "solvers; perhaps their overhead determined the order of its methods."
        ),
        explained=True,
    )


def _one_stage_claim(
    sets: str, means: Mapping[str, float], listed: str, results: Results
) -> Claim | None:
    """Return the claim that one-stage methods are slower."""
    searches = {
        name: 1e3 * values.mean()
        for name in ("D1", "D2", "CR-1D")
        if (values := of_tasks(results, "seconds_search", name)).size
    }
    known = _published(means, "CA-1D", "CR-1D")
    slower = [means[name] > means["CA-1D"] for name in ("D1", "D2", "CR-1D")]
    return judged(
        f"On {sets}, one-stage methods (D1, D2, CR) are slower than two-stage ones (CA, DA)",
        f"{SOURCE}, Table 2",
        "With a known C, D1 and D2 take longer than DA, and CR-1D with published steps takes "
        "longer than DA and than CA-1D with published steps (means, not tested)",
        {
            "D1 and D2": [means[name] > means["DA"] for name in ("D1", "D2")],
            "published CA and CR": [known[1] > max(known[0], means["DA"])] if known else [],
        },
        f"{listed}. With mercer's steps, {sum(slower)} of D1, D2 and CR-1D are slower than CA-1D",
        why=(
            f"{UNTIMED}. "
            * (not known)
            + "Newton's method for the weights trains support vector machines at only a few values "
            "of the weights. The cost of one-stage methods is in the search for C, because they "
            "learn the kernel anew for each C"
            + f"; with this search, the times in milliseconds are {by_name(searches, '.0f')}"
            * bool(searches)
            + "."
        ),
        explained=True,
    )


def _dimension_claim(sets: str, means: Mapping[str, float]) -> Claim | None:
    """Return the claim that methods with a width for each feature are slower."""
    if not {"CA-nD", "CR-nD"} <= set(means):
        return None
    known = _published(means, "CA-nD", "CA-1D")
    published = [known[0] / known[1]] if known else []
    ratios = [means[f"{name}-nD"] / means[f"{name}-1D"] for name in ("CA", "CR")]
    return judged(
        f"On {sets}, CA-nD and CR-nD are significantly slower than CA-1D and CR-1D",
        f"{SOURCE}, Table 2",
        "The mean time of CA-nD, with published steps and the choice of its penalty, is at least "
        "twice that of CA-1D, and that of CR-nD at least twice that of CR-1D (CR-nD has no "
        "published steps here)",
        {"CA": [ratio >= 2.0 for ratio in published], "CR": []},
        f"with mercer's corrective steps, CA-nD takes {ratios[0]:.1f} times as long as CA-1D "
        f"(paper: {770 / 9:.0f}), and CR-nD {ratios[1]:.1f} times as long as CR-1D (paper: "
        f"{1550 / 590:.1f})"
        + "".join(f"; with published steps, CA-nD takes {ratio:.1f} times" for ratio in published),
        why=(
            f"{UNTIMED}. " * (not known) + "The gradient in "
            "all widths costs one matrix product, whatever the number of widths. The choice of "
            "CA-nD's penalty ends at the first penalty that makes all widths equal. CR has no "
            "penalty to choose, and its support vector machines and weights cost the same with "
            "one width as with one width per feature."
        ),
        explained=True,
    )


def steps(results: Results, sets: str) -> Claim | None:
    """Return the claim on the number of steps of CA and CR."""
    names = ("CA-1D", "CA-1D, stagewise", "CR-1D", "CR-1D, stagewise")
    found = {
        name: np.concatenate([results.values("steps", task, name) for task in results.problems])
        for name in names
        if name in results.methods
    }
    alignment, risk = (found.get(f"{name}-1D, stagewise", np.empty(0)) for name in ("CA", "CR"))
    stopped = int((risk >= STEP_LIMIT).sum())
    listed = "; ".join(
        f"{name}: median {np.median(values):.0f}, {values.min():.0f} to {values.max():.0f}"
        for name, values in found.items()
    )
    return judged(
        f"On {sets}, CA converges in fewer than ten iterations and CR in around 50",
        SOURCE,
        f"With published steps, CA takes fewer than {FEW_STEPS} steps on every split, and the "
        f"median number of steps of CR is at least {MANY_STEPS}; if this median is the limit of "
        f"{STEP_LIMIT} steps, it is open how many more steps CR would take",
        _step_conditions(alignment, risk),
        f"{listed}; {stopped} of {risk.size} runs of CR-1D, stagewise, stopped at the limit of "
        f"{STEP_LIMIT} steps",
        why=(
            "The number of steps depends on the tolerance and on C. Here, C is the value that is "
            "best on validation data. CR stops once c'Kc, with the dual variables c, is for no "
            "kernel K more than a thousandth above that of the learned kernel, or once no kernel "
            "lowers the objective. A run that stops at the limit would have continued. Corrective "
            "steps compute all weights anew, and are fewer than steps of the published line search."
        ),
        explained=True,
    )


def _step_conditions(alignment: Array, risk: Array) -> Conditions:
    """Return the conditions on the published steps of CA and of CR."""
    around: list[Condition] = []
    if risk.size:
        middle = float(np.median(risk))
        around = [None if middle >= STEP_LIMIT else middle >= MANY_STEPS]
    few: list[Condition] = [bool(alignment.max() < FEW_STEPS)] if alignment.size else []
    return {"CA in fewer than ten": few, "CR in around 50": around}
