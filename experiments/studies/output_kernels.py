"""Output kernels for several classes, and one width for each pair of classes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from experiments.c_search import MAX_ITER
from experiments.experiment import Experiment, Measures, Method
from experiments.halves import C_GRID, Halves, problems
from experiments.problems import Array
from experiments.reporting.error_tables import Errors
from experiments.reporting.section import Claim, Finding, claim, judged
from experiments.reporting.verdicts import NOT_MEASURED
from experiments.studies.dependence import learner, optimized
from mercer.kernels import Kernel

TWO_CLASSES = ("sonar", "ionosphere", "australian")
N_FOLDS = 5


@dataclass(frozen=True)
class Pair:
    """Two classes, and the kernel learned from their samples alone."""

    first: int
    second: int
    kernel: Kernel


def learned_pairs(X: Array, y: Array) -> list[Pair]:
    """Return a kernel with the width of the largest HSIC for each pair of classes."""
    pairs = []
    for first, second in combinations(range(int(y.max()) + 1), 2):
        rows = np.isin(y, (first, second))
        model = learner("hsic", ard=False).fit(X[rows], y[rows])
        pairs.append(Pair(first, second, model.kernels_[0]))
    return pairs


def votes(pairs: list[Pair], train: tuple[Array, Array], X: Array, grid: Array) -> Array:
    """Return the classes that most machines vote for, of shape (n_grid, n_samples)."""
    counts = np.zeros((len(grid), len(X), int(train[1].max()) + 1))
    for pair in pairs:
        rows = np.isin(train[1], (pair.first, pair.second))
        inside, labels = train[0][rows], train[1][rows]
        if len(np.unique(labels)) < 2:
            continue
        gram, outside = pair.kernel(inside), pair.kernel(X, inside)
        for number, C in enumerate(grid):
            machine = SVC(kernel="precomputed", C=C, max_iter=MAX_ITER)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                voted = machine.fit(gram, labels).predict(outside)
            counts[number, np.arange(len(X)), voted] += 1.0
    return np.asarray(counts.argmax(axis=2))


def width_per_pair(data: Halves) -> Measures:
    """Return the error of machines of two classes, each with a kernel of its own.

    All machines have one C, which is the best in five folds.
    """
    X, y = data.train[0], np.unique(data.train[1], return_inverse=True)[1]
    classes = np.unique(data.train[1])
    pairs = learned_pairs(X, y)
    hits = np.zeros(len(C_GRID))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = list(StratifiedKFold(N_FOLDS).split(X, y))
    for inside, outside in folds:
        voted = votes(pairs, (X[inside], y[inside]), X[outside], C_GRID)
        hits += np.mean(voted == y[outside], axis=1)
    C = C_GRID[int(np.argmax(hits))]
    predicted = classes[votes(pairs, (X, y), data.test[0], np.array([C]))[0]]
    widths = [float(np.exp(pair.kernel.theta[0])) for pair in pairs]
    return {"error": float(np.mean(predicted != data.test[1])), "C": C, "widths": widths}


def experiment(small: bool) -> Experiment:
    """Declare output kernels, and a width per pair, on the sets of several classes."""
    drawn = {name: draw for name, draw in problems(small).items() if name not in TWO_CLASSES}
    methods: dict[str, Method] = {
        "HSIC": optimized("hsic"),
        "HSIC, balanced": optimized("hsic", output_kernel="balanced"),
        "HSIC, a width per pair": width_per_pair,
        "KA": optimized("ka"),
        "KA, 0/1": optimized("ka", output_kernel="delta"),
        "KA, balanced": optimized("ka", output_kernel="balanced"),
    }
    few = {"yeast": 3, "segment": 3, "waveform": 2}
    return Experiment(
        title="Output kernels for several classes",
        source="Wang & Li (2018), sections 3.1 and 4.2.2",
        problems=drawn,
        methods=methods,
        limits={(name, method): number for name, number in few.items() for method in methods},
        test_to_train=1.0,
        grids={"C": C_GRID},
    )


PAIRS = "HSIC, a width per pair"


def errors(found: Errors) -> str:
    """Return the errors of all methods."""
    return found.table(tuple(found.results.methods), "HSIC")


@claim(
    "Wang & Li 2018, section 4.2.2, after Chen et al. 2005",
    "The errors of the two methods do not differ significantly on any set.",
    explained=True,
)
def one_width_suffices(found: Errors) -> Finding | None:
    """One kernel parameter for all classes performs like one for each pair."""
    spread = []
    for problem in found.both(PAIRS):
        for widths in found.results.series("widths", problem, PAIRS):
            spread.append(max(widths) / min(widths))
    mean = np.mean([found.mean(p, PAIRS) - found.mean(p, "HSIC") for p in found.both(PAIRS)])
    return (
        [found.never(PAIRS, "HSIC", p, -1, 1) for p in found.both(PAIRS, "HSIC")],
        f"win-tie-loss of a width per pair against one width: {found.tally(PAIRS, 'HSIC')}, "
        f"mean difference in error {mean:+.2f} points; the largest width of a run is "
        f"{np.median(spread):.1f} times the smallest (median over runs)",
        "Perhaps, on the sets where the errors differ, different widths suit different pairs of "
        "classes, or some pairs have too few samples for a width of their own.",
    )


def on_targets(found: Errors, criterion: str, other: str, why: str) -> Claim | None:
    """Return the claim on the output kernel of equation 6."""
    outcomes = found.outcomes(criterion, other)
    worse = [
        f"{p} ({found.mean(p, criterion):.1f} and {found.mean(p, other):.1f} %)"
        for p, outcome in outcomes.items()
        if outcome == -1
    ]
    return judged(
        f"The output kernel of 1 and -1 reveals the ideal similarities of samples ({criterion}).",
        "Wang & Li 2018, section 3.1, equation 6",
        "No run of this experiment measures the similarities that an output kernel reveals; the "
        f"records compare the errors of {criterion} and of *{other}*.",
        NOT_MEASURED,
        f"win-tie-loss of {criterion} by error: {found.tally(criterion, other)}"
        + f"; {criterion} is worse on {', '.join(worse)}" * bool(worse),
        why=f"The paper names no measure of these similarities. {why}",
    )


SMALL_CLASSES = (
    "Small classes have little influence on HSIC; where errors on small classes matter, a balanced "
    "output kernel leads to another width."
)
MANY_CLASSES = (
    "With many classes, the two samples of most pairs belong to different classes. The output "
    "kernel is therefore mostly -1, and the kernel with the largest alignment is close to the "
    "identity. Centering avoids this, and so does 0 in place of -1."
)


EVIDENCE = Errors
CLAIMS = (
    one_width_suffices,
    partial(on_targets, criterion="HSIC", other="HSIC, balanced", why=SMALL_CLASSES),
    partial(on_targets, criterion="KA", other="KA, 0/1", why=MANY_CLASSES),
)
