"""Quality of the probabilities and predictions of probabilistic kernel learning.

    MERCER_DATA=/path/to/sets python benchmarks/calibration.py [NAME ...] [--repeats R]

Data are heart, german, ionosphere, sonar and diabetes (Pima). Each repeat is another stratified
split into halves; features are standardized on the half that is trained on.

calibration
    Log-loss, error and Brier score on the other half, mean and standard error over the splits; the
    difference in log-loss from the first model, paired by split; and the ratio of median times to
    fit. Models are `BayesianMKLClassifier()`, over 20 Gaussian widths read off the data; the same
    with one Gaussian whose width is learned; `MKLClassifier(loss="logistic")`, whose C is not
    tuned; a support vector machine calibrated by Platt's method, `CalibratedClassifierCV` of five
    folds, after a grid search over 7 values of C and 7 widths; and scikit-learn's
    `GaussianProcessClassifier(1.0 * RBF(1.0))`. With many features its search does not leave the
    starting point, so that it is also started at a length scale of the root of their number.
jitter
    Joint MAP with several variances of jitter, on all sets but diabetes. The columns are the
    difference between its objective and that without any kernel (on all samples, and the least over
    the splits); the number of splits on which it has collapsed; kernels kept; error and log-loss.
    Then `BayesianMKLRegressor(objective="map")` in the
    same way on kin8nm, 400 random samples, with the root mean squared error on the others. The last
    row of each table is what the marginal likelihood, or its bound, learns.

`--repeats` is how many splits there are.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from common import (
    Array,
    Labels,
    Split,
    classification_set,
    load_data_set,
    mean_and_error,
    print_table,
    run_named,
    seconds,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import BayesianMKLClassifier, BayesianMKLRegressor, MKLClassifier
from mercer.kernels import Gaussian
from mercer.probabilistic import GaussianLikelihood, LogisticLikelihood, posterior

SETS = ("heart", "german", "ionosphere", "sonar", "diabetes_pima")
JITTERS = (0.1, 0.3, 1.0, 2.0, 5.0, 10.0)
N_RESPONSES = 400
GRID = {"C": 10.0 ** np.arange(-2, 5), "gamma": 10.0 ** np.arange(-4, 0.1, 2 / 3)}


class PlattSVC:
    """A support vector machine that is tuned by a grid search, then calibrated."""

    def fit(self, X: Array, y: Labels) -> PlattSVC:
        """Search C and width by five folds, then calibrate by five folds."""
        best = GridSearchCV(SVC(), GRID).fit(X, y).best_params_
        self.model_ = CalibratedClassifierCV(SVC(**best), method="sigmoid").fit(X, y)
        return self

    def predict_proba(self, X: Array) -> Array:
        """Return class probabilities."""
        return np.asarray(self.model_.predict_proba(X))


class WideProcess:
    """A Gaussian-process classifier whose search starts at a length scale that fits the data."""

    def fit(self, X: Array, y: Labels) -> WideProcess:
        """Start from a length scale of the root of the number of features."""
        self.model_ = GaussianProcessClassifier(1.0 * RBF(np.sqrt(X.shape[1]))).fit(X, y)
        return self

    def predict_proba(self, X: Array) -> Array:
        """Return class probabilities."""
        return np.asarray(self.model_.predict_proba(X))


MODELS: dict[str, Callable[[], Any]] = {
    "vb, 20 widths": BayesianMKLClassifier,
    "vb, learned width": partial(BayesianMKLClassifier, [Gaussian()], learn_parameters=True),
    "MKL logistic": partial(MKLClassifier, loss="logistic"),
    "SVC, Platt": PlattSVC,
    "scikit-learn GP": lambda: GaussianProcessClassifier(1.0 * RBF(1.0)),
    "scikit-learn GP, wide": WideProcess,
}


@dataclass(frozen=True)
class Score:
    """Scores of the probabilities of one fit, and its time."""

    log_loss: float
    error: float
    brier: float
    seconds: float


def halves(name: str, seed: int) -> Split:
    """Return a stratified split; the validation part is the training part."""
    X, y = classification_set(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X[train])
    part = scaler.transform(X[train]), y[train]
    return Split(part, part, (scaler.transform(X[test]), y[test]))


def scored(model: Any, split: Split) -> Score:
    """Fit a model and score its probabilities, without warnings of searches at their bounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        duration = seconds(partial(model.fit, *split.train))
    X, y = split.test
    positive = model.predict_proba(X)[:, 1]
    return Score(
        float(log_loss(y, positive)),
        float(np.mean((positive > 0.5) != y)),
        float(brier_score_loss(y, positive)),
        duration,
    )


def calibration(options: argparse.Namespace) -> None:
    """Compare probabilities with those of other classifiers."""
    for name in SETS:
        splits = [halves(name, seed) for seed in range(options.repeats)]
        scores: dict[str, list[Score]] = {model: [] for model in MODELS}
        for split in splits:
            for model, make in MODELS.items():
                scores[model].append(scored(make(), split))
        first = next(iter(scores.values()))
        rows = []
        for model, values in scores.items():
            pairs = [s.log_loss - own.log_loss for s, own in zip(values, first, strict=True)]
            time, unit = (float(np.median([s.seconds for s in some])) for some in (values, first))
            rows.append(
                [
                    model,
                    mean_and_error([s.log_loss for s in values], digits=4),
                    mean_and_error(pairs, digits=4),
                    mean_and_error([s.error for s in values], 100.0),
                    mean_and_error([s.brier for s in values], digits=4),
                    f"{time:.2f}",
                    f"{time / unit:.2f}",
                ]
            )
        header = ["model", "log-loss", "less the first", "error %", "Brier", "s", "ratio"]
        print_table(f"calibration: {name}, n = {len(splits[0].train[1])}", header, rows)


@dataclass(frozen=True)
class Mode:
    """The result of one fit of joint MAP."""

    gain: float
    collapsed: bool
    n_kernels: int
    losses: tuple[float, ...]


def quietly(model: Any, X: Array, y: Array | Labels) -> bool:
    """Fit a model, and return whether it warns that it has collapsed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return any("collapsed" in str(warning.message) for warning in caught)


def without_kernels(X: Array, y: Array, likelihood: Any, jitter: float) -> float:
    """Return the objective of joint MAP with all weights zero."""
    weights = [0.0]
    empty = posterior(
        X, y, [Gaussian()], weights, likelihood=likelihood, objective="map", jitter=jitter
    )
    return empty.objective


def class_mode(split: Split, jitter: float | None) -> Mode:
    """Fit joint MAP for classes, or the bound for no jitter; losses are error and log-loss."""
    X, y = split.train
    model: Any = BayesianMKLClassifier()
    if jitter is not None:
        model.set_params(objective="map", jitter=jitter)
    collapsed = quietly(model, X, y)
    gain = np.nan
    if jitter is not None:
        empty = without_kernels(X, 2.0 * y - 1.0, LogisticLikelihood(), jitter)
        gain = empty - model.objective_
    positive = model.predict_proba(split.test[0])[:, 1]
    labels = split.test[1]
    losses = 100.0 * np.mean((positive > 0.5) != labels), log_loss(labels, positive)
    return Mode(gain, collapsed, int(np.count_nonzero(model.weights_)), losses)


def response_mode(seed: int, jitter: float | None) -> Mode:
    """Fit joint MAP for responses, or the marginal likelihood; the loss is the RMSE."""
    bunch = load_data_set("kin8nm")
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    X, y = bunch.data[order].astype(np.float64), bunch.target[order].astype(np.float64)
    train, test = slice(N_RESPONSES), slice(N_RESPONSES, None)
    X = StandardScaler().fit(X[train]).transform(X)
    model: Any = BayesianMKLRegressor()
    if jitter is not None:
        model.set_params(objective="map", jitter=jitter)
    collapsed = quietly(model, X[train], y[train])
    gain = np.nan
    if jitter is not None:
        targets = (y[train] - model.y_mean_) / model.y_scale_
        noise = GaussianLikelihood(model.noise_variance_ / float(model.y_scale_[0]) ** 2)
        empty = without_kernels(X[train], targets, noise, jitter)
        gain = empty - model.objective_
    error = float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))
    return Mode(gain, collapsed, int(np.count_nonzero(model.weights_)), (error,))


def print_modes(
    title: str, modes: dict[float | None, list[Mode]], losses: list[str], n_whole: int = 0
) -> None:
    """Print a row for each jitter; the first modes are those of whole sets."""
    rows = []
    for jitter, fits in modes.items():
        whole, values = fits[:n_whole], fits[n_whole:]
        cells = zip(*(mode.losses for mode in values), strict=True)
        rows.append(
            [
                "no MAP" if jitter is None else f"{jitter:g}",
                *(f"{mode.gain:.2f}" for mode in whole),
                f"{min(mode.gain for mode in values):.2f}",
                f"{sum(mode.collapsed for mode in values)}",
                mean_and_error([mode.n_kernels for mode in values]),
                *(mean_and_error(cell, digits=4) for cell in cells),
            ]
        )
    header = ["jitter", *["gain"] * n_whole, "least", "collapsed", "kernels", *losses]
    print_table(title, header, rows)


def jitter(options: argparse.Namespace) -> None:
    """Fit joint MAP with several variances of white noise."""
    values = (*JITTERS, None)
    for name in SETS[:-1]:
        splits = [halves(name, seed) for seed in range(options.repeats)]
        X, y = classification_set(name)
        part = StandardScaler().fit_transform(X), y
        splits.insert(0, Split(part, part, part))
        modes = {value: [class_mode(split, value) for split in splits] for value in values}
        print_modes(
            f"jitter: {name}, {options.repeats} splits", modes, ["error %", "log-loss"], n_whole=1
        )
    modes = {
        value: [response_mode(seed, value) for seed in range(options.repeats)] for value in values
    }
    print_modes(f"jitter: kin8nm, {options.repeats} samples of {N_RESPONSES}", modes, ["RMSE"])


if __name__ == "__main__":
    benchmarks = {"calibration": calibration, "jitter": jitter}
    run_named(__doc__, benchmarks, repeats=(10, "splits of each set"))
