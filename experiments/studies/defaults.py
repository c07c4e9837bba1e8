"""Both two-stage defaults beside a cross-validated grid search, on every data set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.base import clone, is_classifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import mercer
from experiments.c_search import MAX_ITER, error, seconds
from experiments.experiment import Experiment, Measures, Method, at_most
from experiments.halves import quietly
from experiments.problems import CLASSIFICATION_SETS, Part, whole
from experiments.reporting.ranking import gap
from experiments.reporting.results import Results, compare_methods, win_tie_loss
from experiments.reporting.section import mean_and_error, table
from mercer.datasets import make_ringnorm

# The problems of classification.
CLASSES = sorted((*CLASSIFICATION_SETS, "ringnorm", "sentiment_books"))
# The problems of regression.
RESPONSES = ("kin8nm", "sentiment_books, rating")

# Nine values of gamma, in units of one over the number of features.
GAMMAS = 4.0 ** np.arange(-4, 5)
# The values of C, and of 1 / alpha.
C_GRID = 10.0 ** np.arange(-2, 5)


@dataclass(frozen=True)
class Sample:
    """Training and test samples, standardized by the former, and whether targets are classes."""

    classes: bool
    train: Part
    test: Part


def draw(problem: str, sizes: tuple[int, int], repeat: int) -> Sample:
    """Return random samples of a set, at most half of it for training, without missing values."""
    name, _, rating = problem.partition(", ")
    X, y = make_ringnorm(sum(sizes), random_state=repeat) if name == "ringnorm" else whole(name)
    classes = problem not in RESPONSES
    if name == "sentiment_books" and not rating:
        y = np.where(y >= 4, 1, -1)
    order = np.random.default_rng(repeat).permutation(len(y))
    n_train = min(sizes[0], len(y) // 2)
    train, test = order[:n_train], order[n_train : n_train + sizes[1]]
    scale = make_pipeline(SimpleImputer(), StandardScaler()).fit(X[train])
    return Sample(classes, *((scale.transform(X[rows]), y[rows]) for rows in (train, test)))


def searched(n_features: int, *, classes: bool) -> GridSearchCV:
    """Return a grid search for gamma and C, or alpha, of scikit-learn's machine by five folds."""
    gammas = GAMMAS / n_features
    if classes:
        return GridSearchCV(SVC(max_iter=MAX_ITER), {"gamma": gammas, "C": C_GRID}, cv=5)
    return GridSearchCV(
        KernelRidge(kernel="rbf"), {"gamma": gammas, "alpha": 1.0 / C_GRID[::-1]}, cv=5
    )


def two_stage(learner: Any, *, classes: bool) -> Any:
    """Return a two-stage estimator with a given learner, or that of its choice."""
    return mercer.TwoStageClassifier(learner) if classes else mercer.TwoStageRegressor(learner)


def fitted(data: Sample, *, make: Any) -> Measures:
    """Return the error, as a fraction or relative to the mean response, and the time of the fit."""
    X, y = data.train
    model = clone(make(X.shape[1], classes=data.classes))
    offset = 0.0 if is_classifier(model) else float(np.mean(y))
    duration = seconds(lambda: quietly(lambda: model.fit(X, y if data.classes else y - offset)))
    predicted, truth = model.predict(data.test[0]), data.test[1]
    if data.classes:
        found = error("classification", truth, predicted)
    else:
        found = error("regression", truth, predicted + offset) / float(np.std(truth))
    return {"error": found, "seconds": duration}


def experiment(small: bool) -> Experiment:
    """Declare all sets, with at most 400 training samples."""
    sizes = (60, 100) if small else (400, 2000)
    names = ("heart", "zoo", "kin8nm") if small else (*CLASSES, *RESPONSES)
    methods: dict[str, Method] = {
        "grid search": partial(fitted, make=searched),
        "default": partial(fitted, make=lambda _, classes: two_stage(None, classes=classes)),
        "CA-1D": partial(
            fitted, make=lambda _, classes: two_stage(mercer.ContinuousAlignment(), classes=classes)
        ),
        "HSIC": partial(
            fitted, make=lambda _, classes: two_stage(mercer.KernelOptimization(), classes=classes)
        ),
    }
    return Experiment(
        title="Two-stage defaults beside a grid search",
        source="not in the papers",
        problems={name: partial(draw, name, sizes) for name in names},
        methods=methods,
        limits=at_most(3, names, ["grid search"]),
        timed=1,
        test_to_train=1.0,
    )


METHODS = ("grid search", "default", "CA-1D", "HSIC")
OURS = METHODS[1:]


def errors_and_times(results: Results) -> str:
    """Return a table with one row for each set."""
    marks = {-1: " +", 0: "", 1: " -"}
    timed = [method for method in METHODS if results.timed]
    rows = []
    for problem in results.problems:
        row = [problem]
        for method in METHODS:
            sign = compare_methods(results, "error", problem, method, "grid search").sign
            row.append(
                mean_and_error(results.values("error", problem, method), 100.0) + marks[sign]
            )
        row += [mean_and_error(results.values("seconds", problem, m), digits=2) for m in timed]
        rows.append(row)
    return table(["set", *METHODS, *(f"{method}, s" for method in timed)], rows)


def summary(results: Results) -> str:
    """Return wins, losses and ratios of times, as text."""
    said = []
    for method in OURS:
        wins, ties, losses = win_tie_loss(results, "error", method, "grid search")
        text = (
            f"* *{method}* is significantly better than the grid search on {wins} data sets, worse "
            f"on {losses}, and neither on {ties}. Its error minus that of the grid search is "
            f"{gap(results, method, 'grid search').description}."
        )
        ratios = list(results.ratios("seconds", "grid search", method).values())
        if ratios:
            text += (
                f" The grid search takes {np.median(ratios):.3g} times as long (median over sets)."
            )
        said.append(text)
    return "\n".join(said)


def figure(results: Results) -> Figure:
    """Draw errors against errors, and times against times."""
    drawn = Figure(figsize=(8.4, 3.8), layout="constrained")
    for position, (measure, scale, unit) in enumerate(
        (("error", 100.0, "error, %"), ("seconds", 1.0, "seconds"))
    ):
        axes = drawn.add_subplot(1, 2, position + 1)
        for method, color in zip(OURS, ("tab:green", "tab:blue", "tab:red"), strict=True):
            pairs = np.array(
                [
                    [results.mean(measure, p, "grid search"), results.mean(measure, p, method)]
                    for p in results.problems
                ]
            )
            known = np.isfinite(pairs).all(axis=1) & (pairs > 0.0).all(axis=1)
            x, y = scale * pairs[known].T
            axes.scatter(x, y, s=18, color=color, label=method)
        low, high = axes.get_xlim()
        axes.axline((low, low), (high, high), color="black", lw=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(f"grid search: {unit}")
        axes.set_ylabel(f"learned kernel: {unit}")
        axes.legend()
    return drawn


FIGURES = {"defaults": figure}
