"""Joint MAP by its variance of jitter: where it collapses, and its errors.

    MERCER_DATA=/path/to/sets python benchmarks/jitter.py [--repeats R]

Data are heart, german, ionosphere and sonar. Each repeat is another stratified split into halves;
features are standardized on the half that is trained on. The columns are the difference between the
objective of joint MAP and that without any kernel (on all samples, and the least over the splits);
the number of splits on which it has collapsed; kernels kept; error and log-loss. Then
`BayesianMKLRegressor(objective="map")` in the same way on kin8nm, 400 random samples, with the root
mean squared error on the others. The last row of each table is what the marginal likelihood, or its
bound, learns.

`--repeats` is how many splits there are.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
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
)
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import BayesianMKLClassifier, BayesianMKLRegressor
from mercer.kernels import Gaussian
from mercer.probabilistic import GaussianLikelihood, LogisticLikelihood, posterior

SETS = ("heart", "german", "ionosphere", "sonar")
JITTERS = (0.1, 0.3, 1.0, 2.0, 5.0, 10.0)
N_RESPONSES = 400


def halves(name: str, seed: int) -> Split:
    """Return a stratified split; the validation part is the training part."""
    X, y = classification_set(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X[train])
    part = scaler.transform(X[train]), y[train]
    return Split(part, part, (scaler.transform(X[test]), y[test]))


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
    for name in SETS:
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
    run_named(__doc__, {"jitter": jitter}, repeats=(10, "splits of each set"))
