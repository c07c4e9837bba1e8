"""The page on which method to choose, argued from the records of the experiments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from experiments.reporting.evidence import SIZES, Evidence
from experiments.reporting.results import Results, compare_entries
from experiments.reporting.section import by_name, listed, table
from experiments.reporting.table_advice import table_of_data

# The experiments from which the page argues.
NEEDED = (
    *("bigrams", "defaults", "dependence", "dependence_times", "digits", "gaussian_combinations"),
    *("letters", "miscellany", "partitions", "relevance", "sine", "tables", "taxonomy"),
)

# The beginning of the page.
HEAD = """# Which method for which situation

The choice argued from the experiments of [reproduction.md](reproduction.md); written with it by
`python -m experiments report`, every figure from the same records. Errors are means over problems
and repeats, in %; times are of one training, alone on the machine. In brackets stand the names of
the papers. The README has the choice in one table, and the guide what to do with
[many rows](guide/large.md).
"""


def choosing(results: Mapping[str, Results]) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    results : dict of str to Results
        The results of all experiments that are `NEEDED`.
    """
    found = Evidence(results)
    parts = [
        HEAD,
        *(
            f"## {title}\n\n{paragraph(found)}\n"
            for title, paragraph in (
                ("A table of data", lambda found: table_of_data(found.results["tables"])),
                ("One kernel for a table, in a second", no_kernel_in_mind),
                ("One width, quickly", one_width),
                ("Few features that matter among many", few_features),
                ("A list of kernels, or several sources", finite_dictionary),
                ("A kernel for each of thousands of features", rank_one),
                ("Kernel and predictor at once", one_stage),
                ("A periodic signal", periodic),
                ("Probabilities and error bars", probabilities),
                ("No labels", no_labels),
                ("What not to rely on", cautions),
            )
        ),
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


# The methods with uniform weights on widths that are taken from the data.
READ_OFF = {"digits": "DU, widths read off", "letters": "DU, widths read off", "miscellany": "DU"}


def grid_better(found: Evidence) -> list[str]:
    """Return the problems on which a grid search errs clearly less than CA-1D."""
    return [
        label
        for name, label in SIZES.items()
        if found.gap(name, "grid search", "CA-1D").clearly_lower
    ]


def no_kernel_in_mind(found: Evidence) -> str:
    """Return the advice on a table of data: isotropic kernels from a continuous family."""
    methods = ("CA-1D", "CR-1D", 'learner="auto"', "grid search")
    rows = [[method, *(found.error(name, method) for name in SIZES)] for method in methods]
    uniform = [found.error(name, method) for name, method in READ_OFF.items()]
    rows.append(["uniform weights, 20 widths read off", *uniform])
    grid = less(found, "CA-1D", dict.fromkeys(SIZES, "grid search"))
    sums = less(found, "CA-1D", READ_OFF)
    slower = found.times("letters", "grid search", "CA-1D")
    kernels = found.mean("letters", "CA-1D", measure="kernels")
    aside = f", and the grid takes {slower} times as long" * bool(slower)
    better = grid_better(found)
    advice = (
        f"the grid errs clearly less on {listed(better)}, so that where time allows, try it and "
        "CR-1D too"
        if better
        else "the grid is nowhere clearly better, but worth trying beside it"
    )
    return f"""Where one kernel is wanted, or a fit in a second, `TwoStageClassifier()` takes
a Gaussian or a product Laplacian by its exact leave-one-out error, and then a support vector
machine.

{with_defaults(found)}

With `ContinuousAlignment()` as learner it is a sum of Gaussians whose widths are searched (CA-1D).
Beside it scikit-learn's machine with width and C from a grid, all on the same training and
validation data:

{table(["", *SIZES.values()], rows)}
CA-1D less the grid, {grid}. CA-1D less uniform weights on 20 widths read off the data, {sums}.
On the letters CA-1D is a sum of {kernels:.1f} kernels on average, which can be looked
at{aside}. Nothing has to be chosen. What it maximizes is alignment, not accuracy: {advice}."""


def with_defaults(found: Evidence) -> str:
    """Compare both default estimators with a cross-validated grid on every data set."""
    said = []
    for method, label in (
        ("default", "`TwoStageClassifier()`"),
        ("CA-1D", "CA-1D"),
        ("HSIC", "one width by HSIC"),
    ):
        slower = found.times("defaults", "grid search", method)
        said.append(
            f"{label} is {found.outcomes('defaults', method, 'grid search')} "
            f"({found.gap('defaults', method, 'grid search').description})"
            + f", and the grid takes {slower} times as long"
            * bool(slower)
        )
    return (
        "As a user would call them, on every data set, with up to 400 training samples and all "
        "choices by cross-validation, against `GridSearchCV` of width and C or alpha: "
        f"{'; '.join(said)}."
    )


def less(found: Evidence, first: str, others: Mapping[str, str]) -> str:
    """Return gaps from one method to another on each group of sets, as text."""
    return "; ".join(
        f"{SIZES[name]}: {found.gap(name, first, other).description}"
        for name, other in others.items()
    )


# Sets of more than two classes.
MANY_CLASSES = ("yeast", "vehicle", "dermatology")


def one_width(found: Evidence) -> str:
    """Return the advice on a single isotropic kernel: maximal dependence."""
    sets = found.shared("dependence", "HSIC", "CV")
    whole = found.times("dependence_times", "CV", "HSIC")
    learning = found.times("dependence_times", "CV", "HSIC", "seconds_learning")
    plain, centered, repaired = (
        found.mean("dependence", name, only=MANY_CLASSES) for name in ("KA", "CKA", "KA 0/1")
    )
    return (
        "`KernelOptimization` finds the width of the largest HSIC or centered alignment globally. "
        f"Over the sets of Wang & Li: HSIC {found.error('dependence', 'HSIC', *sets)}, five-fold "
        f"cross-validation of width and C {found.error('dependence', 'CV', *sets)}; HSIC is "
        f"{found.outcomes('dependence', 'HSIC', 'CV')}."
        + f" Cross-validation takes {whole} times as long as learning and the search for C, "
        f"{learning} times as long as learning alone."
        * bool(whole and learning)
        + f" Uncentered alignment (`ka`) is to be avoided on sets such as {listed(MANY_CLASSES)}, "
        f"where it errs on {100 * plain:.1f} % and centered alignment on {100 * centered:.1f} %."
        * (plain > centered)
        + f" A target of 0 and 1 in place of -1 and 1 brings it to {100 * repaired:.1f} %."
        * (plain > max(centered, repaired))
    )


def few_features(found: Evidence) -> str:
    """Return the advice on irrelevant features: ARD kernels."""
    automatic = "CA-nD, automatic penalty"
    form = "TwoStageClassifier(auto)"
    names = ["CA-1D", "CA-nD, no penalty", "CA-nD", automatic, form, "grid search"]
    rows = [
        [name, *(found.error("relevance", name, f"gamma={gamma}") for gamma in (0, 5, 40))]
        for name in names
    ]
    tried = ("CA-1D", "CA-nD, no penalty", 'CA-nD, penalty="auto"', 'learner="auto"')
    splice, others = (
        listed(f"{name} {found.error('miscellany', name, *sets)}" for name in tried)
        for sets in (["splice"], [p for p in found.shared("miscellany", *tried) if p != "splice"])
    )
    sets = found.shared("dependence", "HSIC ARD", "HSIC")
    return (
        "A width for each feature pays where few features matter, and overfits where all do, "
        "unless a penalty holds the widths together. 50 training samples of 50 features, all of "
        "which matter (gamma=0), some, or very few (40); *CA-nD* has the penalty of the largest "
        "alignment on 1000 validation samples, and all but `TwoStageClassifier(auto)`, which has "
        "the training samples alone, choose C on "
        f"them:\n\n{table(['', 'gamma=0', '5', '40'], rows)}\nWith 500 samples of splice: "
        f"{splice}. On the other sets: {others}. The automatic choice of form looks at held-out "
        "predictions and asks for clear evidence, of which 50 samples give little: with few "
        "samples and a reason to expect irrelevant features, ask for the penalized ARD kernels by "
        f"name. Without a penalty they are a risk: on {len(sets)} sets of Wang & Li a single ARD "
        f"kernel by HSIC errs on {found.error('dependence', 'HSIC ARD', *sets)}, the isotropic "
        f"kernel on {found.error('dependence', 'HSIC', *sets)}."
    )


def finite_dictionary(found: Evidence) -> str:
    """Return the advice on finite dictionaries."""
    name = "gaussian_combinations"
    problems = found.shared(name, "alignf", "unif")
    tests = [
        compare_entries(found.results[name], "error", p, "alignf", "unif").sign for p in problems
    ]
    better = sum(
        found.mean(name, "alignf", only=[p]) < found.mean(name, "unif", only=[p]) for p in problems
    )
    rows = [
        [label, *(found.error(sets, method) for sets in ("digits", "letters"))]
        for method, label in (
            ("DA", "alignf, evenly spaced widths"),
            ("DU", "uniform weights, the same widths"),
            ("DA, widths read off", "alignf, widths taken from the data"),
            ("DU, widths read off", "uniform weights, the same widths"),
            ("CA-1D", "CA-1D, without a list"),
        )
    ]
    return (
        "Weights of maximal alignment (`AlignmentMaximization`, alignf) err less than uniform ones "
        f"on {better} of {len(problems)} problems of Cortes et al., raw and standardized, "
        f"significantly on {tests.count(-1)}, and significantly more on {tests.count(1)}. With 20 "
        f"Gaussians:\n\n{table(['', 'MNIST', 'letters'], rows)}\nWhere the kernels are Gaussians "
        "of your own making, let their widths come from the data, by search or as the default list "
        "of `UniformCombination()` and `AlignmentMaximization()`; where they are sources that you "
        "are given, learn the weights, and compare with `UniformCombination`."
    )


def rank_one(found: Evidence) -> str:
    """Return the advice on thousands of features: kernels of rank one."""
    classes = "books, good or not"
    methods = ("unif", "align", "alignf", "one-stage")
    errors = ", ".join(f"{m} {found.error('bigrams', m, classes)}" for m in methods)
    kernels = found.mean("bigrams", "alignf", measure="kernels", only=[classes])
    align, alignf = (found.mean("bigrams", m, only=[classes]) for m in ("align", "alignf"))
    worse = alignf > align
    return (
        "Weights that are each kernel's own alignment (`IndependentAlignment`, align). On 4,000 "
        f"counts of bigrams in reviews of books, good or not: {errors}. alignf keeps {kernels:.0f} "
        "of the kernels"
        + ("; where every feature carries a little, that is perhaps a loss." * worse or ".")
    )


def one_stage(found: Evidence) -> str:
    """Return the advice on multiple kernel learning."""
    slower = found.times("letters", "CR-1D", "CA-1D")
    return (
        "`ContinuousMKLClassifier` (CR-1D) minimizes the machine's own objective over a whole "
        "family and certifies the optimum. CR-1D less CA-1D, "
        f"{less(found, 'CR-1D', dict.fromkeys(SIZES, 'CA-1D'))}. Each value of C needs another "
        "fit, where a two-stage method learns the kernel once"
        + f"; one fit takes {slower} times as long on the letters"
        * bool(slower)
        + ". Over a finite list, `MKLClassifier` on the letters less alignf, with the l1-norm: "
        f"{found.gap('letters', 'D1', 'DA').description}; with the l2-norm: "
        f"{found.gap('letters', 'D2', 'DA').description}."
    )


def periodic(found: Evidence) -> str:
    """Return the advice on periodic signals: Dirichlet kernels."""
    return (
        "Frequencies cannot be put on a coarse list. The label that is the sign of three sines: "
        f"CA-1D {found.error('sine', 'CA-1D')}; alignf over the frequencies 0, 1, ..., 9 "
        f"{found.error('sine', 'DA')}, over steps of 0.1 {found.error('sine', 'DA, step 0.1')}; "
        f"the three true frequencies {found.error('sine', '√2 + √12 + √60')}."
    )


def probabilities(found: Evidence) -> str:
    """Return the advice on probabilities: Gaussian processes."""
    classes = [p for p in found.results["taxonomy"].problems if "logistic" in p]
    losses = ", ".join(
        f"{label} {found.mean('taxonomy', name, measure='log_loss', only=classes, pick=np.min):.3f}"
        for name, label in (
            ("marginal", "the bound on the marginal likelihood, which has nothing to set,"),
            ("MAP", "joint MAP with its best jitter"),
            ("MKL", "multiple kernel learning with its best penalty"),
        )
    )
    return (
        "`BayesianMKLClassifier` and `BayesianMKLRegressor` learn weights and noise without "
        f"cross-validation. Mean log-loss of classes in the taxonomy: {losses}; the best settings "
        "are picked on the test data, in their favor."
    )


def no_labels(found: Evidence) -> str:
    """Return the advice on clustering."""
    name = "partitions"
    rows = [
        [
            p,
            *(
                f"{100 * mean:.0f}"
                if np.isfinite(mean := found.results[name].mean("index", p, m))
                else "-"
                for m in found.results[name].methods
            ),
        ]
        for p in found.results[name].problems
    ]
    header = ["adjusted Rand index, %", *found.results[name].methods]
    means = found.results[name].means("index").dropna()
    first = means.idxmax(axis=1).value_counts()
    return (
        "`HSICClustering` is kernel k-means with a width read off the data, and "
        "`MultipleKernelClustering` learns the weights of several kernels with the "
        f"clusters:\n\n{table(header, rows)}\nMeans: {by_name(means.mean(), '.0f', 100.0)}. The "
        f"highest, by number of sets: {by_name(first, '.0f')}. No method is right everywhere, and "
        "none can be chosen without labels: look at several."
    )


def cautions(found: Evidence) -> str:
    """Return what the experiments warn against."""
    return (
        "*A higher alignment is not a lower error.* On the letters CA-nD without a penalty reaches "
        f"an alignment of {found.mean('letters', 'CA-nD, no penalty', measure='alignment'):.2f} "
        f"with test labels and errs on {found.error('letters', 'CA-nD, no penalty')}; CA-1D "
        f"reaches {found.mean('letters', 'CA-1D', measure='alignment'):.2f} and errs on "
        f"{found.error('letters', 'CA-1D')}. Compare forms of kernel by predictions of held-out "
        "samples, "
        'as `TwoStageClassifier("auto")` and `mercer compare` do.\n\n'
        "*A learned sum is not always better than one good width.* In the setting of Cortes et "
        "al., raw features and their lists of widths, one width and C from a grid has a lower "
        f"error than alignf on {grid_ahead(found)} problems."
    )


def grid_ahead(found: Evidence) -> str:
    """State on how many problems of Cortes et al. the grid search has a lower error than alignf."""
    name = "gaussian_combinations"
    problems = [p for p in found.results[name].problems if not p.endswith("standardized")]
    ahead = [
        found.mean(name, "grid search", only=[p]) < found.mean(name, "alignf", only=[p])
        for p in problems
    ]
    return f"{sum(ahead)} of {len(problems)}"
