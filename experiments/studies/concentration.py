"""Concentration of alignment, and the predictors of theorems 2 and 3: Cortes et al. (2010)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from sklearn.preprocessing import KernelCenterer, StandardScaler

from experiments.experiment import Experiment, Measures
from experiments.problems import Array, whole
from experiments.reporting.figures import panels
from experiments.reporting.results import Results, flat, stacked
from experiments.reporting.section import Finding, claim, listed, table
from experiments.studies.class_balance import RARE, with_share
from mercer.kernels import Gaussian
from mercer.metrics import alignment, centered_alignment

# A deviation exceeds the bound with at most this probability.
CONFIDENCE = 0.05
LEVEL = 1.0 - CONFIDENCE

N_DRAWS = 200
SIZES: Array = 25 * 2 ** np.arange(9)
CLASSES = ("banana", "image", "splice", "german", "diabetes_pima", "spambase")
RESPONSES = "kin8nm"
# The widths are the data's scale times two to these powers.
POWERS = (-2, 0, 2)


@dataclass(frozen=True)
class Population:
    """Samples of equal probability that are taken for the whole distribution.

    Expectations are then sums, and draws are made with replacement.
    """

    X: Array
    y: Array
    classes: bool
    seed: int

    def gram(self, power: float) -> Array:
        """Return the Gram matrix of a Gaussian whose width is in units of the data's scale."""
        return np.asarray(Gaussian(np.sqrt(self.X.shape[1]) * 2.0**power)(self.X))


def classes(repeat: int, *, name: str, share: float | None, n_samples: int) -> Population:
    """Return a population of two classes, with standardized features."""
    X, y = with_share(name, share, repeat)
    rows = np.random.default_rng(repeat).permutation(len(y))[:n_samples]
    return Population(StandardScaler().fit_transform(X[rows]), y[rows].astype(float), True, repeat)


def responses(repeat: int, *, n_samples: int) -> Population:
    """Return a population of responses of unit standard deviation, which are not centered."""
    X, y = whole(RESPONSES)
    rows = np.random.default_rng(repeat).permutation(len(y))[:n_samples]
    return Population(
        StandardScaler().fit_transform(X[rows]), y[rows] / y[rows].std(), False, repeat
    )


def drawn_alignments(K: Array, y: Array, counts: Array) -> Array:
    """Return the centered alignments of a Gram matrix with labels, on draws.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    y : ndarray of shape (n_samples,)
    counts : ndarray of shape (n_samples, n_draws)
        The number of times that each draw has each sample.
    """
    m = counts.sum(axis=0)
    centered = counts * (y[:, None] - y @ counts / m)
    product = np.sum(centered * (K @ centered), axis=0)
    products = K @ counts
    squares = np.sum(counts * ((K * K) @ counts), axis=0)
    squares -= 2.0 * np.sum(counts * products**2, axis=0) / m
    squares += np.sum(counts * products, axis=0) ** 2 / m**2
    return np.asarray(product / np.sqrt(squares) / (y @ centered))


def deviations(data: Population, *, sizes: Array, n_draws: int) -> Measures:
    """Return |alignment of m draws - alignment| by m and width: mean, quantile, and bound.

    The bound is 18 beta (3 / m + 4 sqrt(log(6 / delta) / (2 m))), theorem 1.
    """
    generator = np.random.default_rng(data.seed)
    y, n = data.y, len(data.y)
    largest = float(np.max(y**2))
    target = float(np.var(y)) ** 2
    counts = [generator.multinomial(m, np.full(n, 1.0 / n), size=n_draws).T for m in sizes]
    shape = 3.0 / sizes + 4.0 * np.sqrt(np.log(6.0 / CONFIDENCE) / (2.0 * sizes))
    found: dict[str, list[list[float]]] = {"mean": [], "bias": [], "quantile": [], "bound": []}
    expected = []
    for power in POWERS:
        K = data.gram(power)
        expected.append(float(drawn_alignments(K, y, np.ones((n, 1)))[0]))
        beta = max(1.0 / np.mean(KernelCenterer().fit_transform(K) ** 2), largest**2 / target)
        drawn = np.array([drawn_alignments(K, y, draws.astype(float)) for draws in counts])
        errors = np.abs(drawn - expected[-1])
        found["mean"].append(list(errors.mean(axis=1)))
        found["bias"].append(list(drawn.mean(axis=1) - expected[-1]))
        found["quantile"].append(list(np.quantile(errors, LEVEL, axis=1)))
        found["bound"].append(list(18.0 * beta * shape))
    return {**found, "alignment": expected, "sizes": sizes}


def predictor(data: Population, *, center: bool) -> Measures:
    """Return errors of h(x) = E[y' K_c(x, x')] / sqrt(E[K_c^2]) by width, and their bounds.

    For two classes, the error is the fraction on the wrong side, and its bound is 1 - rho / Gamma,
    where Gamma is the largest of sqrt(E[K_c(x, x')^2 | x] / E[K_c^2]). The mean squared error has
    the bound 2 (1 - rho). With `center`, y is centered and divided by its standard deviation.
    """
    y = (data.y - data.y.mean()) / data.y.std() if center else data.y
    found: dict[str, list[float]] = {
        "alignment": [],
        "uncentered": [],
        "product": [],
        "error": [],
        "error_bound": [],
        "mse": [],
        "mse_bound": [],
    }
    for power in (-3, -2, -1, 0, 1, 2, 3):
        K = data.gram(power)
        centered = KernelCenterer().fit_transform(K)
        size = np.sqrt(np.mean(centered**2))
        h = centered @ y / len(y) / size
        rho = centered_alignment(K, np.outer(y, y))
        gamma = np.sqrt(np.max(np.mean(centered**2, axis=1))) / size
        found["alignment"].append(rho)
        found["uncentered"].append(alignment(K, np.outer(y, y)))
        found["product"].append(float(np.mean(y * h)))
        found["error"].append(float(np.mean(y * h < 0.0)))
        found["error_bound"].append(1.0 - rho / gamma)
        found["mse"].append(float(np.mean((y - h) ** 2)))
        found["mse_bound"].append(2.0 * (1.0 - rho))
    share = float(np.mean(data.y < 0.0)) if data.classes else float("nan")
    return {**found, "least_share": min(share, 1.0 - share)}


def experiment(small: bool) -> Experiment:
    """Declare the populations, the deviations of alignment, and the predictors."""
    n_samples, n_draws, sizes = (200, 20, SIZES[:3]) if small else (1000, N_DRAWS, SIZES)
    names = CLASSES[:2] if small else CLASSES
    populations = {
        name: partial(classes, name=name, share=None, n_samples=n_samples) for name in names
    }
    rare = partial(classes, name="banana", share=0.1, n_samples=n_samples)
    kin = partial(responses, n_samples=n_samples)
    problems = {**populations, "banana" + RARE: rare, RESPONSES: kin}
    few = dict.fromkeys((*names[2:], "banana" + RARE), 0)
    return Experiment(
        title="Concentration of alignment, and good predictors",
        source="Cortes, Mohri, Rostamizadeh (2010), sections 3.1 and 3.2, theorems 1-3",
        problems=problems,
        methods={
            "deviations": partial(deviations, sizes=sizes, n_draws=n_draws),
            "predictor": partial(predictor, center=False),
            "predictor, centered labels": partial(predictor, center=True),
        },
        limits={(name, "deviations"): n for name, n in few.items()},
    )


# A slope of log deviation against log m of at most this confirms the promised rate of -1/2.
RATE = -0.45
PLAIN, CENTERED = "predictor", "predictor, centered labels"
WIDTH_COLORS = ("tab:purple", "tab:blue", "tab:cyan")
# A bound that is exceeded by less than this is not counted as broken.
ROUNDING = 1e-9


def sizes(results: Results, problem: str) -> Array:
    """Return the numbers of draws."""
    return stacked(results, "sizes", problem, "deviations")[0]


def curves(results: Results, measure: str, problem: str) -> Array:
    """Return a measure by width and size, as a mean over repeats."""
    return np.asarray(stacked(results, measure, problem, "deviations").mean(axis=0))


def slopes(results: Results, problem: str) -> Array:
    """Return the slope of the log quantile against log m by width, over the larger half of m."""
    m, quantile = sizes(results, problem), curves(results, "quantile", problem)
    late = m >= np.median(m)
    return np.array([np.polyfit(np.log(m[late]), np.log(row[late]), 1)[0] for row in quantile])


def measured(results: Results) -> list[str]:
    """Return the problems that have deviations."""
    return [name for name in results.problems if results.repeats(name, "deviations")]


def figure(results: Results) -> Figure:
    """Draw deviations against the number of draws."""
    names = measured(results)
    picture, axes = panels(max(len(names), 1), width=3.6)
    for panel, problem in zip(axes, names, strict=False):
        m = sizes(results, problem)
        for row, bound, power, color in zip(
            curves(results, "quantile", problem),
            curves(results, "bound", problem),
            POWERS,
            WIDTH_COLORS,
            strict=True,
        ):
            panel.loglog(m, row, "o-", color=color, ms=3, label=f"width 2^{power}")
            panel.loglog(m, bound, ":", color=color)
        panel.loglog(m, 0.5 / np.sqrt(m), color="black", lw=0.8, label="slope -1/2")
        panel.set(title=problem, xlabel="number of draws m")
    axes[0].set_ylabel("deviation of alignment")
    axes[0].legend(fontsize=7)
    return picture


def deviation_table(results: Results) -> str:
    """Return alignments, rates and biases by population and width."""
    rows = []
    for problem in measured(results):
        ratio = curves(results, "bound", problem) / curves(results, "quantile", problem)
        expected = stacked(results, "alignment", problem, "deviations").mean(axis=0)
        bias = curves(results, "bias", problem)
        rows += [
            [
                f"{problem}, 2^{power}",
                f"{expected[k]:.4f}",
                f"{slopes(results, problem)[k]:.2f}",
                f"{bias[k, 0]:+.4f}",
                f"{ratio[k].min():.0f}",
            ]
            for k, power in enumerate(POWERS)
        ]
    header = ["population, width", "alignment", "slope", "bias at least m", "bound / quantile"]
    return table(header, rows)


def predictor_table(results: Results) -> str:
    """Return a table of bounds and errors at the width of largest alignment."""
    rows = []
    for problem in results.problems:
        for method in (PLAIN, CENTERED):
            if not results.repeats(problem, method):
                continue
            alignment = stacked(results, "alignment", problem, method).mean(axis=0)
            best = int(alignment.argmax())
            cells = [
                f"{stacked(results, name, problem, method).mean(axis=0)[best]:.3f}"
                for name in ("error", "error_bound", "mse", "mse_bound")
            ]
            if problem == RESPONSES:
                cells[:2] = ["", ""]
            kind = "" if method == PLAIN else ", centered labels"
            rows.append([f"{problem}{kind}", f"{alignment[best]:.3f}", *cells])
    header = ["population", "alignment", "error", "its bound", "MSE", "its bound"]
    return table(header, rows)


@claim(
    "Cortes et al. 2010, theorem 1",
    "For three widths, the slope of the logarithm of the deviation's quantile against log m is at "
    f"most {RATE}; and no quantile is above the bound",
)
def concentration(results: Results) -> Finding | None:
    """The alignment of a sample differs from that of the distribution by O(1 / sqrt(m))."""
    rates = {name: slopes(results, name) for name in measured(results)}
    both = ("quantile", "bound")
    pairs = [[stacked(results, each, name, "deviations") for each in both] for name in rates]
    inside = [bool((quantile <= bound).all()) for quantile, bound in pairs]
    vacuous = [curves(results, "bound", name).min() for name in rates]
    texts = [f"{name} {', '.join(f'{rate:.2f}' for rate in row)}" for name, row in rates.items()]
    exceeded = "the bound is never exceeded" if all(inside) else "the bound is exceeded"
    return (
        [bool(rate <= RATE) for row in rates.values() for rate in row] + [all(inside)],
        f"slopes: {'; '.join(texts)}; {exceeded}",
        "The rate is that of the theorem, but its constant is too large to be useful: the smallest "
        f"value of the bound over all m and widths that were tried is {min(vacuous):.1f}, while "
        "alignments lie between 0 and 1.",
    )


def broken(results: Results, method: str, value: str, bound: str) -> tuple[list[str], int, float]:
    """Return populations that break a bound, the number of cases that keep it, and least slack."""
    names, kept, slack = [], 0, np.inf
    for problem in results.problems:
        if not results.repeats(problem, method) or (value == "error" and problem == RESPONSES):
            continue
        margin = flat(results, bound, problem, method) - flat(results, value, problem, method)
        kept += int((margin >= -ROUNDING).sum())
        slack = min(slack, float(margin.min()))
        if (margin < -ROUNDING).any():
            names.append(problem)
    return names, kept, slack


@claim(
    "Cortes et al. 2010, theorem 2",
    "On each population and at each width, the error of sign(h) is at most the bound",
)
def classification(results: Results) -> Finding | None:
    """Of two classes, sign(h) errs with probability at most 1 - rho / Gamma."""
    off = [
        np.abs(
            flat(results, "product", name, PLAIN) - flat(results, "alignment", name, PLAIN)
        ).max()
        for name in results.problems
        if name != RESPONSES and results.repeats(name, PLAIN)
    ]
    names, kept, slack = broken(results, PLAIN, "error", "error_bound")
    if not kept and not names:
        return None
    return (
        [not names],
        f"the bound holds in {kept} cases and is exceeded on {listed(names)}; the smallest "
        f"difference between bound and error is {slack:.2f}",
        "The proof replaces the alignment by E[y h(x)]. The two are equal only if the mean of the "
        f"labels is zero; here, they differ by up to {max(off, default=0.0):.3f}. Alignments of "
        "Gaussian kernels are far below 1, so that the bound is near 1 for any error.",
    )


@claim(
    "Cortes et al. 2010, theorem 3",
    "On each population and at each width, the mean squared error of h is at most the bound; "
    "labels as they are and centered labels are judged separately",
)
def regression(results: Results) -> Finding | None:
    """For labels divided by their standard deviation, h has a mean squared error of at most 2 (1 -
    rho).
    """
    names, kept, _ = broken(results, PLAIN, "mse", "mse_bound")
    centered, kept_centered, slack = broken(results, CENTERED, "mse", "mse_bound")
    if not kept and not names:
        return None
    return (
        {"centered labels": [not centered], "labels as they are": [not names]},
        f"labels as they are: the bound holds in {kept} cases and is exceeded on {listed(names)}; "
        f"centered labels: it holds in {kept_centered} cases and is exceeded on "
        f"{listed(centered)}, and the smallest difference between bound and error is {slack:.2f}",
        "The theorem assumes E[y^2] = 1. Division by the standard deviation gives this only if the "
        "mean is zero too. If it is not zero, h cannot predict the mean, because h is built from a "
        "centered kernel. Centered labels meet the assumption. Their bound is above 1, the error "
        "of predicting zero, unless the alignment is above 1/2.",
    )


CLAIMS = (concentration, classification, regression)
FIGURES = {"concentration": figure}
