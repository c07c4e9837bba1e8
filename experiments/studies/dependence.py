"""One Gaussian kernel by HSIC, alignment or cross-validation: errors of Wang & Li (2018)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from experiments.compared_methods import automatic
from experiments.experiment import Experiment, Measures, Method, at_most
from experiments.halves import C_GRID, GAMMAS, Halves, machine_of_gram, machine_of_grid, problems
from experiments.reporting.error_tables import Errors
from experiments.reporting.figures import grouped_bars
from experiments.reporting.results import deviation
from experiments.reporting.section import Claim, Claims, Finding, claim, judged, listed
from experiments.reporting.verdicts import NOT_MEASURED, Compared
from mercer import KernelOptimization
from mercer.kernels import Gaussian

Criterion = Literal["ka", "cka", "hsic"]

# The criteria that are maximized, by their names in the paper.
CRITERIA: dict[str, Criterion] = {"KA": "ka", "CKA": "cka", "HSIC": "hsic"}

# The part of a method's name that says that it has one width for each feature.
ARD_SUFFIX = " ARD"

# The largest numbers of repeats of slow methods.
LIMITS = {
    **at_most(
        3,
        ("australian", "vehicle", "yeast", "segment", "waveform"),
        ("CV", "HSIC ARD, penalty", "HSIC ARD, stopped", "choice of form"),
    ),
    ("yeast", "CV"): 2,
    ("waveform", "CV"): 1,
    ("yeast", "choice of form"): 2,
    ("segment", "choice of form"): 1,
    ("waveform", "choice of form"): 0,
}


def learner(criterion: Criterion, *, ard: bool, **options: Any) -> KernelOptimization:
    """Return the learner of a Gaussian kernel that maximizes a criterion."""
    settings = {"width_penalty": 0.0, "max_iter": 2000, **options}
    return KernelOptimization(Gaussian(ard=ard), criterion, **settings)


def optimized(criterion: Criterion, *, ard: bool = False, **options: Any) -> Method:
    """Return a method that maximizes a criterion, and then finds C by five folds.

    The measure `features` is the effective number of features, (sum r_z)^2 / sum r_z^2 for the
    relevances r_z = 1 / s_z^2.
    """

    def measure(data: Halves) -> Measures:
        X, y = data.train
        model = learner(criterion, ard=ard, **options).fit(X, y)
        machine = machine_of_gram(model.transform(X), y)
        relevance = model.kernels_[0].relevance(X.shape[1])
        return {
            "error": 1.0 - machine.score(model.transform(data.test[0]), data.test[1]),
            "C": machine.best_params_["C"],
            "alignment": model.alignment_,
            "iterations": model.n_iter_,
            "features": relevance.sum() ** 2 / np.sum(relevance**2),
        }

    return measure


def cross_validation(small: bool) -> Method:
    """Return the method that finds width and C by five folds."""
    gammas = GAMMAS[::6] if small else GAMMAS

    def measure(data: Halves) -> Measures:
        machine = machine_of_grid(*data.train, gammas=gammas)
        return {"error": 1.0 - machine.score(*data.test), **machine.best_params_}

    return measure


def experiment(small: bool) -> Experiment:
    """Declare cross-validation, and kernels with one width and with one width per feature."""
    drawn = problems(small)
    methods: dict[str, Method] = {"CV": cross_validation(small)}
    for name, criterion in CRITERIA.items():
        methods[name] = optimized(criterion)
    methods["KA 0/1"] = optimized("ka", output_kernel="delta")
    for name, criterion in CRITERIA.items():
        methods[name + ARD_SUFFIX] = optimized(criterion, ard=True)
    methods["HSIC ARD, penalty"] = optimized("hsic", ard=True, width_penalty="auto")
    methods["HSIC ARD, stopped"] = optimized("hsic", ard=True, early_stopping=True)
    methods["choice of form"] = automatic()
    left_out = {(name, "choice of form"): 0 for name in drawn} if small else {}
    return Experiment(
        title="Kernels of the largest dependence on the labels",
        source="Wang & Li (2018), section 4, Tables 2 and 4, Figure 1",
        problems=drawn,
        methods=methods,
        limits={**LIMITS, **left_out},
        test_to_train=1.0,
        grids={"C": C_GRID},
    )


SOURCE = "Wang & Li 2018, section 4.3"
ISOTROPIC = ("CV", "KA", "KA 0/1", "CKA", "HSIC")
ARD = ("KA ARD", "CKA ARD", "HSIC ARD")
REGULARIZED = ("HSIC ARD, penalty", "HSIC ARD, stopped", "choice of form")
# Sets on which ARD kernels have the larger errors in the paper.
OVERFITTED = ("zoo", "sonar")

# The methods in the figure.
DRAWN = ("HSIC", "HSIC ARD", "HSIC ARD, penalty", "HSIC ARD, stopped")


def repeats(found: Errors) -> int:
    """Return the number of splits."""
    return int(found.results.frame["repeat"].nunique())


def one_width(found: Errors) -> str:
    """Return Table 2."""
    return found.table(ISOTROPIC, "HSIC")


def one_width_per_feature(found: Errors) -> str:
    """Return Table 4."""
    return found.table(ARD, "HSIC ARD")


def regularized(found: Errors) -> str:
    """Return the errors of regularized ARD kernels."""
    return found.table(("HSIC", "HSIC ARD", *REGULARIZED), "HSIC")


def drawn(found: Errors) -> Figure:
    """Draw Figure 1, with regularized ARD kernels beside."""
    problems = found.results.problems
    methods = [method for method in DRAWN if method in found.results.methods]
    heights = {m: np.array([found.mean(p, m) for p in problems]) for m in methods}
    errors = {m: np.array([deviation(found.values(p, m)) for p in problems]) for m in methods}
    return grouped_bars(problems, heights, "test error in %", errors=errors)


def never(
    found: Errors, statement: str, method: str, other: str, *unwanted: int, why: str
) -> Claim | None:
    """Return the claim that a method is on no set significantly worse (-1) or better (1)."""
    outcomes = found.outcomes(method, other)
    against = [
        f"{problem} ({found.mean(problem, method):.1f} and {found.mean(problem, other):.1f} %)"
        for problem, outcome in outcomes.items()
        if outcome in unwanted
    ]
    conditions = [found.never(method, other, problem, *unwanted) for problem in outcomes]
    kinds = " or ".join({-1: "worse", 1: "better"}[kind] for kind in unwanted)
    return judged(
        statement,
        SOURCE,
        f"On no set is {method} significantly {kinds} than {other}; a tie meets the condition.",
        conditions,
        f"win-tie-loss of {method} against {other}: {found.tally(method, other)}"
        + f"; exceptions, with both errors: {', '.join(against)}" * bool(against),
        why=why * bool(against),
    )


def on_cross_validation(found: Errors) -> Claims:
    """Return the claims on cross-validation, Table 2."""
    rivals = ("KA", "CKA", "HSIC")
    sets = found.both("CV", *rivals)
    lowest = [found.lowest("CV", rivals, p) for p in sets]
    mean = np.mean([gap(found, "HSIC", "CV", p) for p in sets])
    return [
        judged(
            "Cross-validation always has the lowest error.",
            SOURCE + ", Table 2",
            "On each set, the mean error of CV is at most that of KA, CKA and HSIC, on the repeats "
            "in common; a set is clear if CV is significantly better than all three, and clearly "
            "against if CV is significantly worse than one of them.",
            lowest,
            f"on {sum(map(bool, lowest))} of {len(sets)} sets; the error of HSIC minus that of CV "
            f"is {mean:+.2f} points on average over the sets",
            why="Where no difference is significant, the order of the means is due to chance. "
            "Perhaps five folds of a small half are too noisy to choose width and C together; "
            "KA, CKA and HSIC choose the width on the whole half, and only C in the folds.",
            explained=True,
        ),
        judged(
            "CV and HSIC do not differ significantly in most cases.",
            SOURCE + ", Table 2",
            "CV and HSIC tie on more than half of the sets with enough repeats for a test.",
            [found.mostly_ties("CV", "HSIC")],
            f"win-tie-loss of HSIC against CV: {found.tally('HSIC', 'CV')}",
            why="The table shows the sets on which they differ.",
            explained=True,
        ),
    ]


def on_isotropic_kernels(found: Errors) -> Claims:
    """Return the claims on one width, Table 2."""
    comparable, alike = (
        "HSIC is better than KA or comparable on all sets.",
        "CKA and HSIC do not differ significantly on any set.",
    )
    size = (
        "If two classes are of similar size, a target of -1 and 1 is nearly centered. "
        "Perhaps the width of KA ([widths](starts_in_detail.md)) suits these sets better."
    )
    norm = (
        "CKA divides by the norm of the kernel matrix, and HSIC does not. This norm moves the best "
        "width ([widths](starts_in_detail.md))."
    )
    return [
        never(found, comparable, "HSIC", "KA", -1, why=size),
        never(found, alike, "HSIC", "CKA", -1, 1, why=norm),
        on_centering(found),
    ]


def gap(found: Errors, method: str, other: str, problem: str) -> float:
    """Return the mean error of a method less that of another, on the repeats in common."""
    first, second = found.paired(method, other, problem)
    return first - second


@claim(
    "Wang & Li 2018, section 3.3",
    "No run of this experiment measures the correlation of alignment with performance over "
    "kernels; the records only compare the errors of one kernel for each criterion.",
)
def on_centering(found: Errors) -> Finding | None:
    """Without centering, alignment does not correlate well with performance."""
    outcomes = found.outcomes("CKA", "KA")
    better = [p for p, outcome in outcomes.items() if outcome == 1]
    mended = [
        f"{p} {found.mean(p, 'KA'):.1f} -> {found.mean(p, 'KA 0/1'):.1f}"
        for p in better
        if found.values(p, "KA 0/1").size
    ]
    return (
        NOT_MEASURED,
        f"win-tie-loss in error of CKA against KA: {found.tally('CKA', 'KA')}; CKA is better on "
        f"{', '.join(better) or 'none'}",
        "The correlation is measured on other data sets, in [Centering in the definition of "
        "alignment](class_balance_in_detail.md). With several classes, the uncentered target of -1 "
        "and 1 is mostly -1, and kernels with tiny widths come nearest to it. The following errors "
        "in %, on the sets where CKA is better, are those of KA with this target and with a target "
        f"of 0 and 1, which is uncentered too: {'; '.join(mended) or 'there is no such set'}.",
    )


def on_ard_kernels(found: Errors) -> Claims:
    """Return the claims on one width per feature, Table 4."""
    hsic = "HSIC ARD"
    converged = (
        f"When its search converges, HSIC ARD has an effective number of {effective(found, hsic)} "
        f"features on average, by relevances of 1 / s^2; CKA ARD has {effective(found, 'CKA ARD')} "
        f"and KA ARD {effective(found, 'KA ARD')}. Perhaps the reason is that HSIC, unlike CKA and "
        "KA, does not divide by the norm of the kernel matrix. "
        "[Starts](starts_in_detail.md) shows searches from other starts."
    )
    comparable = "ARD kernels: HSIC is better than KA or comparable on all sets."
    alike = "ARD kernels: CKA and HSIC give nearly the same results on all sets."
    return [
        never(found, comparable, hsic, "KA ARD", -1, why=converged),
        never(found, alike, hsic, "CKA ARD", -1, 1, why=converged),
    ]


def effective(found: Errors, method: str) -> str:
    """Return the mean effective number of features of a kernel, as text."""
    results = found.results
    values = [results.mean("features", p, method) for p in results.problems]
    known = [value for value in values if np.isfinite(value)]
    return f"{np.mean(known):.1f}" if known else "an unknown number"


def on_forms(found: Errors) -> Claims:
    """Return the claims on one width against one per feature, Figure 1."""
    preferred = "Isotropic kernels must be preferred: they perform comparably."
    why = "ARD kernels are not regularized. The third table shows on which data sets they differ."
    return [
        lower_errors(found),
        overfitting(found),
        not_stable(found),
        never(found, preferred, "HSIC", "HSIC ARD", -1, 1, why=why),
    ]


@claim(
    SOURCE + ", Figure 1",
    "The mean error of HSIC ARD is below that of HSIC on the eight other sets; each difference is "
    "tested.",
    explained=True,
)
def lower_errors(found: Errors) -> Finding | None:
    """ARD kernels have lower errors on all sets but zoo and sonar."""
    gaps = {p: gap(found, "HSIC ARD", "HSIC", p) for p in found.both("HSIC", "HSIC ARD")}
    lower = [
        Compared.lower(found.compared("HSIC ARD", "HSIC", p)) for p in gaps if p not in OVERFITTED
    ]
    others = [p for p in found.both("CKA ARD", "CKA") if p in gaps and p not in OVERFITTED]
    return (
        lower,
        f"on {sum(map(bool, lower))} of {len(lower)} sets; for CKA in place of HSIC, on "
        f"{sum(gap(found, 'CKA ARD', 'CKA', p) < 0.0 for p in others)}",
        "The search here converges. The ARD kernel with the largest HSIC has a larger error than "
        f"the isotropic kernel on {sum(value > 0.0 for value in gaps.values())} of {len(gaps)} "
        "sets. Methods with at most the mean error of the isotropic kernel: "
        f"{regularized_errors(found)}.",
    )


@claim(
    SOURCE + ", Figure 1",
    "HSIC ARD and HSIC tie on more than half of the sets with enough repeats for a test.",
    explained=True,
)
def not_stable(found: Errors) -> Finding | None:
    """The difference between the two forms is not stably significant."""
    known = found.both("HSIC ARD", "HSIC")
    return (
        [found.mostly_ties("HSIC ARD", "HSIC")] if known else [],
        f"win-tie-loss of HSIC ARD against HSIC: {found.tally('HSIC ARD', 'HSIC')}",
        "The search here converges. Perhaps this lets ARD kernels overfit more.",
    )


def regularized_errors(found: Errors) -> str:
    """State on how many sets regularized kernels have at most the error of isotropic kernels."""
    counts = []
    for name in REGULARIZED:
        sets = found.both(name, "HSIC")
        at_most = [p for p in sets if gap(found, name, "HSIC", p) <= 0.0]
        counts += [f"{name} on {len(at_most)} of {len(sets)} sets"] if sets else []
    return "; ".join(counts) or "nothing else was tried"


@claim(
    SOURCE + ", Figure 1",
    "On both sets, the mean error of HSIC ARD is above that of HSIC; each difference is tested.",
)
def overfitting(found: Errors) -> Finding | None:
    """On zoo and sonar, the smallest sets, ARD kernels overfit: their errors are higher."""
    small = [p for p in OVERFITTED if p in found.both("HSIC", "HSIC ARD")]
    figures = [
        f"{p} {found.mean(p, 'HSIC'):.1f} and {found.mean(p, 'HSIC ARD'):.1f} %" for p in small
    ]
    sure = [p for p in small if found.compared("HSIC ARD", "HSIC", p).sign]
    return (
        [Compared.higher(found.compared("HSIC ARD", "HSIC", p)) for p in small],
        f"errors of HSIC and of HSIC ARD: {', '.join(figures)}; the difference is significant on "
        f"{', '.join(sure) or 'neither'}",
        "The third table shows standard deviations over the splits.",
    )


def on_regularization(found: Errors) -> Claims:
    """Return the claims on early stopping and on the penalty."""
    made = []
    ways = {"Regularization": "HSIC ARD, penalty", "Early stopping": "HSIC ARD, stopped"}
    for word, method in ways.items():
        overfitted = [p for p, way in found.outcomes("HSIC ARD", "HSIC").items() if way == -1]
        better = [Compared.lower(found.compared(method, "HSIC ARD", p)) for p in overfitted]
        claim = judged(
            f"{word} may avoid the overfitting of ARD kernels.",
            SOURCE,
            "Where HSIC ARD is significantly worse than HSIC with one width, the regularized ARD "
            "kernel has a lower error; and on no set is it significantly worse than HSIC.",
            {
                "lower where ARD kernels overfit": better,
                "no worse than one width": [
                    found.never(method, "HSIC", p, -1) for p in found.both(method, "HSIC")
                ],
            },
            f"on {listed(overfitted)}, the error is lower than that of HSIC ARD in "
            f"{sum(map(bool, better))} of {len(better)} cases; win-tie-loss against HSIC ARD is "
            f"{found.tally(method, 'HSIC ARD')}, and against HSIC {found.tally(method, 'HSIC')}",
            why="The third table shows the sets on which the method is worse.",
            explained=True,
        )
        made.append(claim)
    return made


EVIDENCE = Errors
CLAIMS = (
    on_cross_validation,
    on_isotropic_kernels,
    on_ard_kernels,
    on_forms,
    on_regularization,
)
FIGURES = {"dependence_forms": drawn}
