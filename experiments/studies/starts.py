"""Starting points of the search for widths: 1/d, for d features, or the data's scale."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments.experiment import Experiment, Measures, Method
from experiments.halves import C_GRID, Halves, machine_of_gram, problems
from experiments.problems import Array
from experiments.reporting.results import Results, compare_methods
from experiments.reporting.section import Claim, Finding, claim, judged, table, table_of
from experiments.reporting.verdicts import Compared
from mercer import KernelOptimization
from mercer._gram.samples import Samples
from mercer._search.kernel_objectives import CRITERIA, Dependence
from mercer._search.targets import as_target
from mercer.kernels import Gaussian

# The number of widths on the grid, which spans the data's distances.
N_STARTS = 9

# The search ends after this number of iterations at the latest.
MOST_STEPS = 500


@dataclass(frozen=True)
class Objective:
    """A criterion as the paper defines it: tr(KHLH) for HSIC, else the alignment."""

    criterion: str
    X: Array
    y: Array
    ard: bool

    def __call__(self, log_widths: Array) -> tuple[float, Array]:
        """Return the criterion and its gradient."""
        samples, target, criterion = Samples(self.X), as_target(self.y), CRITERIA[self.criterion]
        widths = np.exp(log_widths)
        kernel = Gaussian(widths if self.ard else widths[0], ard=self.ard).bind(self.X)
        value, gradient = Dependence(criterion, samples, target).value_and_gradient(kernel)
        return self.scale * value, self.scale * gradient

    @property
    def scale(self) -> float:
        """What the criterion of the package is multiplied by."""
        return float((len(self.X) - 1) ** 2) if self.criterion == "hsic" else 1.0

    def n_widths(self) -> int:
        """Return the number of widths."""
        return self.X.shape[1] if self.ard else 1


@dataclass(frozen=True)
class Found:
    """The end of a search, and its number of iterations."""

    kernel: Gaussian
    value: float
    n_iter: int

    @property
    def log_widths(self) -> Array:
        """The log-widths that were found."""
        return self.kernel.theta


def bfgs(objective: Objective, log_width: float) -> Found:
    """Run BFGS until an iteration gains less than 1e-5 of the criterion, as in the paper."""
    learner = KernelOptimization(
        Gaussian(ard=objective.ard),
        objective.criterion,
        start=float(np.exp(log_width)),
        width_penalty=0.0,
        max_iter=MOST_STEPS,
        task="classification",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(objective.X, objective.y)
    return Found(learner.kernels_[0], objective.scale * learner.objective_, learner.n_iter_)


def from_features(objective: Objective) -> Found:
    """Search from the paper's start, widths of one over the number of features."""
    return bfgs(objective, -np.log(objective.X.shape[1]))


def from_gamma(objective: Objective) -> Found:
    """Search from gamma = 1 / s^2 of one over the number of features, LIBSVM's default."""
    return bfgs(objective, 0.5 * np.log(objective.X.shape[1]))


def from_grid(objective: Objective) -> Found:
    """Search from the best of nine widths over the range of the data's distances."""
    low, high = Gaussian().log_bounds(objective.X)[0]
    starts = np.linspace(low, high, N_STARTS + 2)[1:-1, None]
    return bfgs(objective, float(max(starts, key=lambda start: objective(start)[0])[0]))


def from_isotropic(objective: Objective) -> Found:
    """Search for widths per feature from the best single width."""
    isotropic = from_grid(replace(objective, ard=False))
    found = bfgs(objective, float(isotropic.log_widths[0]))
    return replace(found, n_iter=isotropic.n_iter + found.n_iter)


# The searches by the names of their starts, without and with a width per feature.
STARTS = {
    False: {"1/d": from_features, "gamma 1/d": from_gamma, "grid": from_grid},
    True: {"1/d": from_features, "gamma 1/d": from_gamma, "isotropic": from_isotropic},
}
CRITERION_NAMES = ("KA", "CKA", "HSIC")


def search(criterion: str, start: str, *, ard: bool) -> Method:
    """Return a method that maximizes one criterion from one start."""

    def measure(data: Halves) -> Measures:
        X, y = data.train
        objective = Objective(criterion, X, y, ard)
        found = STARTS[ard][start](objective)
        kernel = found.kernel
        machine = machine_of_gram(kernel(X), y)
        value, gradient = objective(np.full(objective.n_widths(), -np.log(X.shape[1])))
        return {
            "error": 1.0 - machine.score(kernel(data.test[0], X), data.test[1]),
            "criterion": found.value,
            "iterations": found.n_iter,
            "slope": float(np.linalg.norm(gradient)) / abs(value) if value else 0.0,
            "width": float(np.exp(found.log_widths.mean())),
        }

    return measure


def experiment(small: bool) -> Experiment:
    """Declare BFGS from three starts, for three criteria and two forms of the kernel."""
    methods = {
        f"{name}{' ARD' if ard else ''}, {start}": search(name.lower(), start, ard=ard)
        for ard in (False, True)
        for name in CRITERION_NAMES
        for start in STARTS[ard]
    }
    return Experiment(
        title="Starts of the search for widths",
        source="Wang & Li (2018), section 4.2.1",
        problems=problems(small),
        methods=methods,
        limits={("yeast", name): 2 for name in methods}
        | {("waveform", name): 1 for name in methods},
        repeats=3,
        test_to_train=1.0,
        grids={"C": C_GRID},
    )


SOURCE = "Wang & Li 2018, section 4.2.1"
# A start has found the same optimum if its relative loss of the criterion is at most this.
CLOSE = 1e-3
# At most this many pairs of set and criterion are named.
WORST = 6
# A width is the same on all splits if its relative deviation is at most this.
STABLE = 0.1
# The start that is compared with the paper's, by the form of the kernel.
FORMS = {"": "grid", " ARD": "isotropic"}
FROM_FEATURES = ("1/d", "gamma 1/d")


def one_width(results: Results) -> str:
    """Return losses and errors of one width."""
    return losses(results, "")


def one_width_per_feature(results: Results) -> str:
    """Return losses and errors of one width per feature."""
    return losses(results, " ARD")


def pair(criterion: str, form: str, start: str = "1/d") -> tuple[str, str]:
    """Return the methods of a start and of the start that it is compared with."""
    return f"{criterion}{form}, {start}", f"{criterion}{form}, {FORMS[form]}"


def loss(results: Results, problem: str, criterion: str, form: str, start: str = "1/d") -> float:
    """Return the relative loss of the criterion after a start."""
    first, second = results.pairs("criterion", problem, *pair(criterion, form, start))
    return float(np.mean(1.0 - first / second)) if first.size else float("nan")


def error(results: Results, problem: str, method: str) -> float:
    """Return the mean error in %."""
    return 100.0 * results.mean("error", problem, method)


def losses(results: Results, form: str) -> str:
    """Return losses and errors by set."""
    rows = []
    for problem in results.problems:
        row = [problem]
        for criterion in CRITERION_NAMES:
            lacks = [
                100.0 * loss(results, problem, criterion, form, start) for start in FROM_FEATURES
            ]
            methods = [f"{criterion}{form}, {start}" for start in (*FROM_FEATURES, FORMS[form])]
            row.append(", ".join(shown(value, 2) for value in lacks))
            row.append(", ".join(shown(error(results, problem, m), 1) for m in methods))
        rows.append(row)
    header = [cell for name in CRITERION_NAMES for cell in (f"{name}: lacks", "errors")]
    return table(["set", *header], rows)


def widths(results: Results) -> str:
    """Return the best single widths."""
    return table_of(
        "set",
        results.problems,
        CRITERION_NAMES,
        lambda p, name: shown(results.mean("width", p, f"{name}, grid"), 2),
    )


def shown(value: float, digits: int) -> str:
    """Format a number, without the sign of a zero; NaN is a hyphen."""
    return f"{round(value, digits) + 0.0:.{digits}f}" if np.isfinite(value) else "-"


def on_start(results: Results, form: str, label: str) -> Claim | None:
    """Return the claim that the paper's start finds what another start finds."""
    known = losses_by_pair(results, form, "1/d")
    missed = {key: value for key, value in known.items() if value > CLOSE}
    worst = max(known, key=lambda key: known[key])
    at_worst = [error(results, worst[0], method) for method in pair(worst[1], form)]
    return judged(
        f"BFGS may start at widths of 1/d ({label}).",
        SOURCE,
        f"The criterion after the start 1/d is at most {100 * CLOSE:g} % lower than after the "
        f"start *{FORMS[form]}*, for each criterion on each set.",
        [value <= CLOSE for value in known.values()],
        f"in {len(known) - len(missed)} of {len(known)} pairs of set and criterion; at worst "
        f"({worst[1]} on {worst[0]}) the criterion is {100 * known[worst]:.1f} % lower, with "
        f"errors of {at_worst[0]:.1f} and {at_worst[1]:.1f} % after the two starts",
        why=f"{_plateau(results, form)} Pairs for which the criterion is more than "
        f"{100 * CLOSE:g} % lower: {lacking(missed)}.",
        explained=True,
    )


def losses_by_pair(results: Results, form: str, start: str) -> dict[tuple[str, str], float]:
    """Return the known losses after a start, by set and criterion."""
    found = {
        (problem, criterion): loss(results, problem, criterion, form, start)
        for problem in results.problems
        for criterion in CRITERION_NAMES
    }
    return {key: value for key, value in found.items() if np.isfinite(value)}


def _plateau(results: Results, form: str) -> str:
    """State why a start at 1/d fails, and how LIBSVM's default fares."""
    slopes = {p: results.mean("slope", p, pair("HSIC", form)[0]) for p in results.problems}
    flattest = min(slopes, key=lambda p: slopes[p])
    gamma = losses_by_pair(results, form, "gamma 1/d")
    text = (
        "With many features, 1/d is far below most distances in [0, 1]^d. The kernel matrix is "
        "then nearly the identity, and the criterion has a plateau, where its gradient is nearly "
        f"zero (for HSIC on {flattest}, the norm of the gradient is {slopes[flattest]:.1g} times "
        "the criterion). "
    )
    if form:
        text += (
            "The derivative with respect to a width depends only on the few pairs of samples that "
            "are almost equal in all other features, and the search ends on the plateau. In "
            "addition, there are many local maxima. "
        )
    else:
        text += (
            "Where the gradient is not exactly zero, the line search lengthens its step and "
            "usually leaves the plateau. "
        )
    if gamma:
        text += (
            "If the paper means LIBSVM's default gamma = 1/d, its start suffices in "
            f"{sum(value <= CLOSE for value in gamma.values())} of {len(gamma)} pairs."
        )
    return text


@claim(
    "Wang & Li 2018, section 3.1",
    "On each set, the standard deviation over the splits of the width that maximizes HSIC is at "
    f"most {100 * STABLE:g} % of its mean.",
    explained=True,
)
def stability(results: Results) -> Finding | None:
    """The same kernel is selected when data are drawn repeatedly: empirical HSIC is stable."""
    spreads = {
        problem: float(widths.std(ddof=1) / widths.mean())
        for problem in results.problems
        if (widths := results.values("width", problem, "HSIC, grid")).size > 1
    }
    if not spreads:
        return None
    others = {
        criterion: np.median(
            [
                widths.std(ddof=1) / widths.mean()
                for problem in spreads
                if (widths := results.values("width", problem, f"{criterion}, grid")).size > 1
            ]
        )
        for criterion in ("KA", "CKA")
    }
    return (
        [spread <= STABLE for spread in spreads.values()],
        f"median over sets {100 * np.median(list(spreads.values())):.1f} %, at most "
        f"{100 * max(spreads.values()):.1f} % ({max(spreads, key=lambda p: spreads[p])}); "
        + ", ".join(f"median for {name} {100 * spread:.1f} %" for name, spread in others.items()),
        "The random halves of a small data set differ.",
    )


@claim(
    "Wang & Li 2018, section 4.3, Figure 1",
    "On each set except those two, the mean error of HSIC with ARD kernels after the start 1/d is "
    "below that of HSIC with one width; each difference is tested.",
    explained=True,
)
def with_the_papers_start(results: Results) -> Finding | None:
    """ARD kernels have lower errors on all sets but zoo and sonar (with the paper's start)."""
    found = {start: _lower(results, f"HSIC ARD, {start}") for start in FROM_FEATURES}
    paper = found["1/d"]
    gamma = found["gamma 1/d"]
    figures = ", ".join(f"{p} {ours:.1f} and {one:.1f} %" for p, (ours, one) in paper.items())
    return (
        [
            Compared.lower(compare_methods(results, "error", p, "HSIC ARD, 1/d", "HSIC, grid"))
            for p in paper
        ],
        f"on {_count(paper)}" + (f"; from gamma = 1/d on {_count(gamma)}" if gamma else ""),
        f"Errors with ARD kernels after the start 1/d, and with one width: {figures}. The paper's "
        "start and its stopping rule do not explain its Figure 1. The search either converges to "
        "an ARD kernel that overfits, as after the start from the isotropic kernel, or it ends on "
        "the plateau, where the kernel matrix is the identity.",
    )


def _lower(results: Results, method: str) -> dict[str, tuple[float, float]]:
    """Return errors of an ARD kernel and of one width, on sets where the paper's ARD errs less."""
    errors = {
        p: (error(results, p, method), error(results, p, "HSIC, grid"))
        for p in results.problems
        if p not in ("zoo", "sonar")
    }
    return {p: both for p, both in errors.items() if np.isfinite(both).all()}


def _count(errors: dict[str, tuple[float, float]]) -> str:
    """State on how many sets the ARD kernel has the lower error."""
    return f"{sum(ours < one for ours, one in errors.values())} of {len(errors)} sets"


def lacking(missed: dict[tuple[str, str], float]) -> str:
    """Return sets and criteria with their losses, as text."""
    worst = sorted(missed.items(), key=lambda entry: -entry[1])[:WORST]
    rest = f", and {len(missed) - len(worst)} others" * (len(missed) > len(worst))
    return (", ".join(f"{p} {c} ({100 * v:.1f} %)" for (p, c), v in worst) or "none") + rest


CLAIMS = (
    partial(on_start, form="", label="one width"),
    partial(on_start, form=" ARD", label="one width per feature"),
    stability,
    with_the_papers_start,
)
