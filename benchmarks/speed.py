"""Time and memory of learners relative to plain baselines, within one run on two threads.

    MERCER_DATA=/path/to/sets python benchmarks/speed.py [NAME ...] [--repeats R] [--json FILE]

ca1d
    CA-1D with fully corrective steps: `ContinuousAlignment().fit` on MNIST digits, odd against
    even, raw pixels in float64, validation of the input included. The baseline is 20 Gaussian Gram
    matrices in plain NumPy: squared distances once, by |x|^2 + |z|^2 - 2 x'z, then 20 times
    `np.exp(-D / s**2)`, each matrix dropped before the next. A second ratio is against the same
    with the distances computed anew for each width (20 times the time of computing them once).
alignf
    `AlignmentMaximization("precomputed").fit` on 20 Gaussian Gram matrices of 1500 samples, stacked
    along the last axis. The baseline centers each matrix and sums products pair by pair.
memory
    Peak resident memory of a process that fits `AlignmentMaximization` from features: n = 8000,
    20 widths.
gradient
    Centered alignment of an ARD Gaussian kernel and its gradient in 60 log-widths, n = 2000,
    against two matrix products and one exponential, which it cannot do without: `X @ X.T`,
    `np.exp(D)` and `W @ X` in plain NumPy; and the tensor of scikit-learn's
    `RBF(...)(X, eval_gradient=True)` contracted with the sensitivity of the same criterion. The
    peak of the memory allocated is in Gram matrices.
norms
    The same value and gradient of ARD kernels of norms 1 and 1.5, n = 1000, d = 20, against the
    Gaussian's; and of norm 1 with 180 columns of zeros and ones more.
two_stage
    `TwoStageClassifier().fit` against `GridSearchCV(SVC())` over 19 widths and the same values of
    C, 5 folds, spambase, n = 1500, standardized.
cand
    `ContinuousAlignment(Gaussian(ard=True))` against `ContinuousAlignment()` on eight pairs of
    letters, n = 300, d = 16; each repeat is one pass over all pairs.
l1svm
    `L1SVM().fit` over 20 widths to a duality gap of 1e-3, C = 1, n = 1000, for each kernel that has
    weight in some step; against `SVC(kernel="precomputed").fit` on their sum.
explanations
    Processor time of the Shapley values of a row: 1,000 training and 100 background rows, d = 20.
predictions
    Processor time of the predictions for 1,000 rows and for one row, by two-stage models, stacks
    and what `mercer.compress` makes of them, n = 3000, d = 10; against the same model's ONNX graph
    in onnxruntime, both on one thread. It needs onnxruntime.
wide
    A table of 70 rows and 8,000 columns: processor time of `mercer columns` against that of a
    process that reads the file with pandas; and of `KernelStackingClassifier().fit` against
    `GridSearchCV(SVC())` over seven values of C, 5 folds.
package
    Processor time of `import sklearn.svm, mercer` less that of `import sklearn.svm`, relative to
    it; and the same with every public name of `mercer`.
command
    `mercer --help`, relative to `import sklearn.svm`. The time of a bare interpreter is subtracted.

Of repeated timings, the minimum and the median are printed. Sides take turns; the tensor and the
baselines of alignf and two_stage run once.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from common import (
    LETTER_PAIRS,
    THREADS,
    Array,
    Labels,
    Part,
    alternate,
    apart,
    command_line,
    peak_resident,
    seconds,
    squared_distances,
    standardized_sample,
    three_parts,
    two_classes,
    widths_around,
)
from scipy.optimize import nnls
from sklearn.datasets import make_friedman1
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from mercer import (
    L1SVM,
    AlignmentMaximization,
    ContinuousAlignment,
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
    to_onnx,
)
from mercer._estimators.two_stage import C_GRID
from mercer._gram.dense import centered
from mercer._gram.samples import Samples
from mercer._search.kernel_objectives import CRITERIA, Dependence
from mercer._search.targets import as_target
from mercer.datasets import make_relevance
from mercer.inspection import shapley_values
from mercer.kernels import ExponentialPower, Gaussian, Kernel


@dataclass(frozen=True)
class Record:
    """The numbers of one benchmark, and what they must reach."""

    name: str
    target: str
    figures: dict[str, float]

    def __str__(self) -> str:
        figures = "; ".join(f"{label} {figure:.3g}" for label, figure in self.figures.items())
        return f"{self.name}: {figures}  [{self.target}]"


def spread(label: str, values: Array) -> dict[str, float]:
    """Return minimum and median of repeated numbers."""
    return {f"{label} min": float(values.min()), f"{label} median": float(np.median(values))}


def odd_or_even(n_samples: int) -> Part:
    """Return MNIST digits, labeled odd or even."""
    X, y = two_classes("mnist20k", range(0, 10, 2), range(1, 10, 2))
    return three_parts(X, y, (n_samples, 0, 0), seed=0).train


def gaussians(D: Array, widths: Array) -> None:
    """Compute one Gaussian Gram matrix after the other."""
    for s in widths:
        np.exp(-D / s**2)


def ca1d(repeats: int) -> Iterator[Record]:
    """Compare CA-1D with 20 Gram matrices."""
    for n, target in ((2000, "at most 0.8, target 0.5"), (5000, "at most 0.4, target 0.2")):
        X, y = odd_or_even(n)
        D = squared_distances(X)
        widths = widths_around(D, 20)
        parts = {
            "fit": partial(ContinuousAlignment().fit, X, y),
            "distances": partial(squared_distances, X),
            "exponentials": partial(gaussians, D, widths),
        }
        times = alternate(parts, repeats)
        baseline = times["distances"] + times["exponentials"]
        anew = widths.size * times["distances"] + times["exponentials"]
        figures = spread("ratio", times["fit"] / baseline)
        figures |= spread("ratio with distances anew", times["fit"] / anew)
        figures |= spread("fit s", times["fit"]) | spread("baseline s", baseline)
        yield Record(f"ca1d n={n}", target, figures)


def pairwise_alignf(stack: Array, y: Labels) -> Array:
    """Return non-negative weights of largest alignment, by a loop over pairs of matrices."""
    p = stack.shape[2]
    H = [K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean() for K in np.moveaxis(stack, 2, 0)]
    M = np.array([[np.sum(H[k] * H[m]) for m in range(p)] for k in range(p)])
    a = np.array([np.sum(K * np.outer(y, y)) for K in H])
    values, vectors = np.linalg.eigh(M)
    roots = np.sqrt(np.maximum(values, 1e-12 * values[-1]))
    v = nnls(roots[:, None] * vectors.T, vectors.T @ a / roots)[0]
    weights: Array = v / v.sum()
    return weights


def alignf(repeats: int) -> Iterator[Record]:
    """Time the finite dictionary on a stack of Gram matrices."""
    X, y = odd_or_even(1500)
    D = squared_distances(X)
    D = (D + D.T) / 2.0
    stack = np.stack([np.exp(-D / s**2) for s in widths_around(D, 20)], axis=2)
    learner = AlignmentMaximization("precomputed")
    times = alternate({"fit": lambda: learner.fit(stack, y)}, repeats)["fit"]
    baseline = seconds(lambda: pairwise_alignf(stack, y))
    figures = spread("fit s", times) | spread("ratio", times / baseline) | {"baseline s": baseline}
    yield Record("alignf n=1500 p=20", "at most 0.25 s, target 0.12", figures)


def peak_memory(n_samples: int) -> tuple[float, float]:
    """Return the peak resident memory before and after a fit of 20 widths."""
    X, y = make_relevance(n_samples, random_state=0)
    before = peak_resident()
    AlignmentMaximization().fit(X, y)
    return before, peak_resident()


def memory(repeats: int) -> Iterator[Record]:
    """Measure the memory of the finite dictionary from features, in a process of its own."""
    before, after = apart(peak_memory, 8000)
    figures = {"peak GB": after, "before the fit GB": before}
    yield Record("memory n=8000 p=20", "under 1.5 GB", figures)


def own_gradient(
    X: Array, y: Labels, widths: Array, family: Kernel | None = None
) -> tuple[float, Array]:
    """Return centered alignment and its gradient in the log-widths."""
    family = Gaussian(ard=True) if family is None else family
    samples, kernel = Samples(X), family.bind(X).with_theta(np.log(widths))
    return Dependence(CRITERIA["cka"], samples, as_target(y)).value_and_gradient(kernel)


def tensor_gradient(X: Array, y: Labels, widths: Array) -> tuple[float, Array]:
    """Return both through scikit-learn's tensor of shape (n, n, d)."""
    K, tensor = RBF(widths / np.sqrt(2.0))(X, eval_gradient=True)
    Y = as_target(y).centered
    K, L = centered(K), Y @ Y.T
    norms = np.linalg.norm(K) * np.linalg.norm(L)
    value = float(np.vdot(K, L)) / norms
    P = L / norms - value * K / np.linalg.norm(K) ** 2
    return value, np.tensordot(P, tensor, axes=2)


def least_work(X: Array, D: Array, W: Array) -> None:
    """Two matrix products and one exponential, of all pairs of samples."""
    X @ X.T
    np.exp(D)
    W @ X


def gradient(repeats: int) -> Iterator[Record]:
    """Compare the gradient of an ARD kernel with its least work and with scikit-learn's tensor."""
    n, d = 2000, 60
    X, y = make_relevance(n, n_features=d, gamma=2.0, random_state=0)
    widths = np.sqrt(d) * np.linspace(1.0, 3.0, d)
    D, W = -squared_distances(X / widths), np.random.default_rng(0).random((n, n))
    sides = {
        "own": lambda: own_gradient(X, y, widths),
        "least": lambda: least_work(X / widths, D, W),
    }
    times = alternate(sides, 10 * repeats)
    own = times["own"]
    found: list[Any] = []
    baseline = seconds(lambda: found.append(tensor_gradient(X, y, widths)))
    tracemalloc.start()
    value, slope = own_gradient(X, y, widths)
    peak = tracemalloc.get_traced_memory()[1] / (8.0 * n**2)
    tracemalloc.stop()
    error = max(abs(value - found[0][0]), float(np.abs(slope - found[0][1]).max()))
    figures = spread("ratio to least work", own / times["least"])
    figures |= spread("times faster than the tensor", baseline / own) | spread("own s", own)
    figures |= {"baseline s": baseline, "peak in Gram matrices": peak, "largest difference": error}
    target = "at most 1.5 of the least work, 100 times faster, under 2 Gram matrices"
    yield Record("gradient n=2000 d=60", target, figures)


def norms(repeats: int) -> Iterator[Record]:
    """Compare the gradients of ARD kernels of several norms."""
    n, d = 1000, 20
    X, y = make_relevance(n, n_features=d, gamma=2.0, random_state=0)
    mixed = np.hstack([X, np.random.default_rng(0).integers(0, 2, size=(n, 180))])

    def timed(table: Array, family: Kernel) -> Callable[[], object]:
        widths = np.full(table.shape[1], float(d))
        return lambda: own_gradient(table, y, widths, family)

    product = ExponentialPower(ard=True)
    sides = {
        "norm 2": timed(X, Gaussian(ard=True)),
        "norm 1": timed(X, product),
        "norm 1.5": timed(X, ExponentialPower(norm=1.5, ard=True)),
        "norm 1, zeros and ones": timed(mixed, product),
    }
    times = alternate(sides, repeats)
    figures = {}
    for name, own in times.items():
        figures |= spread(f"{name} s", own) | spread(f"{name} ratio", own / times["norm 2"])
    yield Record("norms n=1000 d=20", "norm 1 under 0.05 s", figures)


def two_stage(repeats: int) -> Iterator[Record]:
    """Compare the two-stage classifier with a grid search."""
    X_all, y_all = standardized_sample("spambase", 5000, seed=0)
    X, y, X_test, y_test = X_all[:1500], y_all[:1500], X_all[1500:], y_all[1500:]
    model = TwoStageClassifier()
    times = alternate({"fit": lambda: model.fit(X, y)}, repeats)["fit"]
    gammas = widths_around(squared_distances(X), 19) ** -2
    search = GridSearchCV(SVC(), {"gamma": gammas, "C": C_GRID}, cv=5)
    baseline = seconds(lambda: search.fit(X, y))
    figures = spread("ratio", times / baseline) | spread("fit s", times) | {"baseline s": baseline}
    figures["test error %"] = 100.0 * (1.0 - model.score(X_test, y_test))
    figures["baseline's test error %"] = 100.0 * (1.0 - search.score(X_test, y_test))
    yield Record("two_stage spambase n=1500", "at most 0.1, target 0.05", figures)


def cand(repeats: int) -> Iterator[Record]:
    """Compare CA-nD with CA-1D."""
    parts = [
        three_parts(*two_classes("letter", *pair), (300, 0, 0), seed=0).train
        for pair in LETTER_PAIRS
    ]

    def fit_all(learner: ContinuousAlignment) -> None:
        for X, y in parts:
            learner.fit(X, y)

    learners = {"CA-nD": ContinuousAlignment(Gaussian(ard=True)), "CA-1D": ContinuousAlignment()}
    runs = {name: partial(fit_all, learner) for name, learner in learners.items()}
    times = alternate(runs, repeats)
    figures = spread("ratio", times["CA-nD"] / times["CA-1D"])
    figures |= spread("CA-nD s", times["CA-nD"]) | spread("CA-1D s", times["CA-1D"])
    yield Record("cand, eight pairs", "at most 5", figures)


def l1svm(repeats: int) -> Iterator[Record]:
    """Compare one-stage learning with support vector machines on the uniform sum of its kernels."""
    samples = {name: standardized_sample(name, 1000, seed=0) for name in ("spambase", "splice")}
    for name, (X, y) in {**samples, "mnist": odd_or_even(1000)}.items():
        gram = UniformCombination(normalize="trace").fit(X, y).transform(X)
        gram = KernelCenterer().fit_transform(gram)
        model, machine = L1SVM(tol=1e-3), SVC(kernel="precomputed")
        sides = {
            "fit": partial(model.fit, X, y),
            "svc": partial(machine.fit, gram * (len(gram) / gram.trace()), y),
        }
        times = alternate(sides, repeats)
        active = max(step.n_kernels for step in model.history_)
        figures = spread("ratio a kernel", times["fit"] / times["svc"] / active)
        yield Record(f"l1svm {name} n=1000", "at most 10", figures | spread("fit s", times["fit"]))


def explanations(repeats: int) -> Iterator[Record]:
    """Time Shapley values."""
    X = np.random.default_rng(0).normal(size=(1000, 20))
    learner = UniformCombination([Gaussian(5.0)])
    model = TwoStageRegressor(learner, alpha=0.1).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    found = []
    for _ in range(repeats):
        start = time.process_time()
        shapley_values(model, X[:10], X[-100:])
        found.append((time.process_time() - start) / 10.0)
    yield Record("explanations n=1000 d=20", "at most 0.1 s", spread("row s", np.array(found)))


def processor_seconds(function: Callable[[], object], times: int) -> float:
    """Return the processor time of a call, the mean over calls."""
    start = time.process_time()
    for _ in range(times):
        function()
    return (time.process_time() - start) / times


def graph_of(model: Any, X: Array) -> Callable[[Array], object]:
    """Return the function of a model's ONNX graph, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = to_onnx(model, X).SerializeToString()
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    number = np.float64 if "double" in given.type else np.float32
    return lambda rows: session.run(None, {given.name: rows.astype(number)})


def predictions(repeats: int) -> Iterator[Record]:
    """Compare predictions with those of the same models' ONNX graphs."""
    X, y = make_friedman1(3000, noise=1.0, random_state=0)
    new, is_high = make_friedman1(1000, random_state=1)[0], y > np.median(y)
    models: dict[str, Any] = {}
    for estimator in (TwoStageRegressor, KernelStackingRegressor):
        models[estimator.__name__] = estimator().fit(X, y)
    for estimator in (TwoStageClassifier, KernelStackingClassifier):
        models[estimator.__name__] = estimator().fit(X, is_high)
    models |= {f"compressed {name}": compress(model, X) for name, model in models.items()}
    for name, model in models.items():
        sides = getattr(model, "predict_proba", model.predict), graph_of(model, X)
        figures: dict[str, float] = {}
        for n_rows, times in ((1000, 3), (1, 100)):
            rows = new[:n_rows]
            calls = [partial(side, rows) for side in sides]
            with threadpool_limits(1):
                found = np.array(
                    [[processor_seconds(call, times) for call in calls] for _ in range(repeats + 1)]
                )[1:]
            label = "row" if n_rows == 1 else f"{n_rows} rows"
            figures |= spread(f"{label} s", found[:, 0])
            figures |= spread(f"{label} ratio", found[:, 0] / found[:, 1])
        yield Record(f"predictions {name}", "at most 2, a row 0.001 s", figures)


def wide(repeats: int) -> Iterator[Record]:
    """Compare reading and fitting a table of many more columns than rows with plain baselines."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(70, 8000)).round(4), rng.integers(0, 2, 70)
    grid = GridSearchCV(SVC(), {"C": np.logspace(-2, 4, 7)})
    with TemporaryDirectory() as folder:
        file = str(Path(folder) / "wide.csv")
        names = ",".join([*(f"g{k}" for k in range(8000)), "y"])
        np.savetxt(file, np.c_[X, y], "%.10g", ",", header=names, comments="")
        told = ["-c", "from mercer_command import main; main()", "columns", file]
        plain = ["-c", f"import pandas; pandas.read_csv({file!r})"]
        sides = (told, plain)
        read = np.array([[processor_time(side) for side in sides] for _ in range(repeats)]).T
    fits = np.empty((2, repeats))
    for k in range(repeats):
        for row, model in zip(fits, (KernelStackingClassifier(), grid), strict=True):
            start = time.process_time()
            model.fit(X, y)
            row[k] = time.process_time() - start
    figures = spread("columns ratio", read[0] / read[1]) | spread("columns s", read[0])
    figures |= spread("fit ratio", fits[0] / fits[1]) | spread("fit s", fits[0])
    yield Record("wide n=70 d=8000", "columns 2 s, fit 10 s", figures)


PROCESSES = {
    **{"bare": ["-c", "pass"], "sklearn": ["-c", "import sklearn.svm"]},
    "package": ["-c", "import sklearn.svm, mercer"],
    "names": ["-c", "import sklearn.svm\nfrom mercer import *"],
    "command": ["-c", "from mercer_command import main; main()", "--help"],
}


def processor_time(arguments: list[str]) -> float:
    """Return the user and system time of an interpreter, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def rounds(names: list[str], repeats: int) -> dict[str, np.ndarray]:
    """Return the times of processes, less those of a bare interpreter, shape (repeats,) each."""
    times = [[processor_time(PROCESSES[name]) for name in names] for _ in range(repeats + 1)]
    found = np.array(times[1:]).T
    return dict(zip(names, found - found[names.index("bare")], strict=True))


def package(repeats: int) -> Iterator[Record]:
    """Compare the import of the package with that of scikit-learn's support vector machines."""
    times = rounds(["bare", "sklearn", "package", "names"], repeats)
    figures = spread("ratio", times["package"] / times["sklearn"] - 1.0)
    figures |= spread("ratio of all names", times["names"] / times["sklearn"] - 1.0)
    yield Record("import mercer", "under 0.5", figures | spread("sklearn.svm s", times["sklearn"]))


def command(repeats: int) -> Iterator[Record]:
    """Compare the command's help with the import of scikit-learn's support vector machines."""
    times = rounds(["bare", "sklearn", "command"], repeats)
    figures = spread("ratio", times["command"] / times["sklearn"])
    yield Record("mercer --help", "under 1 s", figures | spread("command s", times["command"]))


_BENCHMARKS = (ca1d, alignf, memory, gradient, norms, two_stage, cand, l1svm, explanations)
_BENCHMARKS += (predictions, wide, package, command)
BENCHMARKS = {benchmark.__name__: benchmark for benchmark in _BENCHMARKS}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--repeats", type=int, default=5, help="timings of each fast side")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures")


def main() -> None:
    """Run the benchmarks that the command line names, and print or write their figures."""
    names, options = command_line(__doc__, BENCHMARKS, add_options)
    records = []
    with threadpool_limits(THREADS):
        for name in names:
            for record in BENCHMARKS[name](options.repeats):
                print(record, flush=True)
                records.append(asdict(record))
    if options.json:
        options.json.write_text(json.dumps(records, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
