"""Ridge regression on the kernel between all rows against dense fits, and errors as rows grow."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import TimeSeriesSplit

from mercer._blocks.listed_folds import ListedFolds
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import TargetEncoding, encode_target
from mercer._data.types import Array
from mercer._data.weights import as_weights
from mercer._model_selection.calibration import calibrate
from mercer._nystroem.all_pairs import AllRows, ridge_on_all_rows
from mercer._nystroem.width_factors import suitable_width, with_width_factor
from mercer.kernels import CallableKernel, Gaussian, Kernel, Laplacian, Linear

N = 300
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(N, 2))
Y = 10.0 + 5.0 * np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.5 * RNG.normal(size=N)
LABELS = np.array(["blue", "green", "red"])[np.digitize(Y, [8.0, 12.0])]
WEIGHTS = RNG.uniform(0.2, 3.0, size=N)
KERNEL = Gaussian(1.5)
ALPHAS = np.array([0.03, 0.3])


def drawn(
    y: Array, weights: Array | None = None, listed: ListedFolds | None = None
) -> tuple[DrawnSample, TargetEncoding]:
    given, source = as_weights(weights, N), block_source(X, y)
    encoding = encode_target(y, classification=y.dtype.kind == "U").encoding
    everywhere = np.arange(N)
    data = DrawnSample(
        X, y, given, source=source, positions=everywhere, all_weights=given, listed=listed
    )
    return data, encoding


def dense_fit(Z: Array, rows: Array, targets: Array, weights: Array, alpha: float) -> Array:
    """Predictions at Z by weighted kernel ridge regression with an intercept on some rows.

    The kernel is centered, and scaled, by the weighted means of all rows.
    """
    shares = weights / weights.sum()
    K, cross = KERNEL(X), KERNEL(Z, X)
    means = K @ shares
    scale = shares @ np.diag(K) - shares @ means
    gram = (K - means - means[:, None] + shares @ means) / scale
    cross = (cross - means - (cross @ shares)[:, None] + shares @ means) / scale
    n = len(rows)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = gram[np.ix_(rows, rows)] + alpha * np.diag(1.0 / weights[rows])
    system[:n, n] = system[n, :n] = 1.0
    solved = np.linalg.solve(system, np.vstack([targets[rows], np.zeros(targets.shape[1])]))
    return np.asarray(cross[:, rows] @ solved[:n] + solved[n])


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unit", "weights"])
@pytest.mark.parametrize("y", [Y, LABELS], ids=["responses", "labels"])
def test_the_fit_is_ridge_regression_with_an_intercept(y: Array, weights: Array | None) -> None:
    data, encoding = drawn(y, weights)
    columns, choice, _ = ridge_on_all_rows(KERNEL, data, encoding, ALPHAS, random_state=0)
    Z = RNG.uniform(-2.0, 2.0, size=(50, 2))
    w = np.ones(N) if weights is None else weights
    expected = dense_fit(Z, np.arange(N), encoding.encode(y), w, choice.alpha)
    assert_allclose(choice.fit.predict(columns(Z)), expected, atol=5e-3)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unit", "weights"])
@pytest.mark.parametrize("y", [Y, LABELS], ids=["responses", "labels"])
def test_rows_are_predicted_without_their_folds(y: Array, weights: Array | None) -> None:
    data, encoding = drawn(y, weights)
    _, choice, held_out = ridge_on_all_rows(KERNEL, data, encoding, ALPHAS, random_state=0)
    w = np.ones(N) if weights is None else weights
    targets = encoding.encode(y)
    errors = baseline = 0.0
    for inside in data.held_out(5):
        rows = np.flatnonzero(~inside)
        expected = dense_fit(X[inside], rows, targets, w, choice.alpha)
        assert_allclose(held_out[inside], expected, atol=0.01)
        mean = np.average(targets[rows], axis=0, weights=w[rows])
        assert choice.held_out_means is not None
        assert_allclose(choice.held_out_means[inside], np.tile(mean, (inside.sum(), 1)))
        errors += w[inside] @ (targets[inside] - expected) ** 2
        baseline += w[inside] @ (targets[inside] - mean) ** 2
    assert_allclose(choice.losses.min(), np.mean(errors / baseline), rtol=0.01)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unit", "weights"])
def test_mean_residuals_are_zero_after_few_iterations(weights: Array | None) -> None:
    """A narrow kernel takes many iterations, which end before the intercept is exact."""
    data, encoding = drawn(Y, weights)
    kernel = 0.3 * Gaussian(0.1) + 0.8 * Gaussian(1.64)
    columns, choice, held_out = ridge_on_all_rows(
        kernel, data, encoding, np.array([1e-4]), random_state=0, cost=1.0
    )
    w = np.ones(N) if weights is None else weights
    residuals = encoding.encode(Y) - choice.fit.predict(columns(X))
    assert abs(np.average(residuals[:, 0], weights=w)) < 1e-4
    assert abs(np.average(encoding.encode(Y) - held_out, axis=0, weights=w)[0]) < 0.02


def test_folds_of_the_past_do_not_see_what_comes_later() -> None:
    splits = list(TimeSeriesSplit(3).split(X))
    later = Y.copy()
    later[splits[1][1]] += 100.0
    first = splits[0][1]
    found = []
    for y in (Y, later):
        data, encoding = drawn(y, listed=ListedFolds.of(splits, N))
        _, _, held_out = ridge_on_all_rows(KERNEL, data, encoding, ALPHAS[:1], random_state=0)
        assert np.isnan(held_out[: first[0]]).all()
        found.append(encoding.decode(held_out[first]))
    assert_allclose(found[1], found[0], rtol=1e-3)


def test_noise_is_hardly_predicted() -> None:
    noise = np.random.default_rng(1).normal(size=N)
    data, encoding = drawn(noise)
    _, choice, _ = ridge_on_all_rows(Gaussian(0.05), data, encoding, None, random_state=0)
    assert choice.alpha >= 1.0
    assert choice.losses.min() > 0.95


def test_costs_of_classes_do_not_read_labels_off_frequencies_without_the_fold() -> None:
    y = np.where(np.random.default_rng(2).permutation(N) < N // 2, "one", "other")
    data, encoding = drawn(y)
    _, cost = AllRows(KERNEL, data, encoding, 0).best_alpha(np.array([1e6]))
    assert_allclose(cost, np.log(2.0), atol=1e-4)


def steps_from(kernel: Kernel) -> Callable[[int], Kernel]:
    return lambda step: with_width_factor(kernel, step * np.log(2.0) / 2.0)


@pytest.mark.parametrize("y", [Y, LABELS], ids=["responses", "labels"])
def test_widths_are_divided_as_long_as_predictions_improve(y: Array) -> None:
    data, encoding = drawn(y)
    step, alpha, cost, _ = suitable_width(steps_from(Gaussian(12.0)), data, encoding, 0)
    width = 12.0 * 2.0 ** (-step / 2.0)
    assert abs(np.log(width / 1.5)) < abs(np.log(12.0 / 1.5)) - np.log(2.0)
    assert alpha > 0.0
    narrower = AllRows(Gaussian(width / 2.0**0.5), data, encoding, 0).best_alpha()
    assert cost <= 1.001 * narrower[1]


def test_widths_of_another_kernel_are_divided_by_the_same_factor() -> None:
    data, encoding = drawn(Y)
    first = suitable_width(steps_from(Gaussian(12.0)), data, encoding, 0)
    widened = steps_from(Laplacian(24.0))
    other = suitable_width(widened, data, encoding, 0, first)
    assert other.step == first.step > 0
    alone = AllRows(widened(-first.step), data, encoding, 0).best_alpha()
    assert other.cost <= 1.01 * alone[1]


def test_kernels_without_a_width_keep_their_penalty() -> None:
    data, encoding = drawn(Y)
    kernel = Linear()
    step, *found = suitable_width(lambda step: kernel, data, encoding, 0)
    assert step == 0
    assert tuple(found[:2]) == AllRows(kernel, data, encoding, 0).best_alpha()


def test_penalties_of_another_kernel_change_by_the_same_factor() -> None:
    """Its penalty on fewer rows is known, so that no fit is compared."""
    data, encoding = drawn(Y)
    first = suitable_width(steps_from(Gaussian(12.0)), data, encoding, 0, alpha=0.1)
    assert_allclose(first.change, first.alpha / 0.1)
    other = suitable_width(steps_from(Laplacian(24.0)), data, encoding, 0, first, alpha=0.3)
    assert (other.step, other.change) == (first.step, first.change)
    assert_allclose(other.alpha, 3.0 * first.alpha)


@pytest.mark.parametrize("y", [Y, LABELS], ids=["responses", "labels"])
def test_widths_of_responses_with_much_noise_are_those_of_fewer_rows(y: Array) -> None:
    data, encoding = drawn(y)
    widened = steps_from(Gaussian(12.0))
    found = suitable_width(widened, data, encoding, 0, alpha=0.1, error=0.3)
    compared = suitable_width(widened, data, encoding, 0, alpha=0.1, error=0.05)
    assert compared.step > 0
    assert found == (compared if y.dtype.kind == "U" else (0, 0.1, 0.3, 1.0))


def test_fits_of_noisy_responses_are_less_precise() -> None:
    data, encoding = drawn(Y)
    rows = AllRows(Gaussian(0.3), data, encoding, 0)
    precise, *others = (rows.choose(ALPHAS[:1], cost=cost)[1] for cost in (0.0, 0.04, 0.25))
    for values, cost in zip(others, (0.04, 0.25), strict=True):
        difference = float(np.sqrt(np.mean((values - precise) ** 2)))
        assert 0.0 < difference < 0.02 * np.sqrt(cost)


def test_penalties_are_compared_precisely_where_there_is_hardly_any_noise() -> None:
    smooth = np.sin(2.0 * X[:, 0]) * X[:, 1]
    data, encoding = drawn(smooth)
    alphas = np.array([0.003, 0.01])
    rows = AllRows(KERNEL, data, encoding, 0)
    alpha, cost = rows.best_alpha(alphas)
    choice, _ = rows.choose(np.array([alpha]))
    assert cost < 1e-3
    assert_allclose(cost, choice.losses.min(), rtol=0.05)


def test_penalties_of_classes_have_the_least_logarithmic_loss() -> None:
    data, encoding = drawn(LABELS)
    alphas = np.array([0.001, 0.1, 10.0])
    alpha, cost = AllRows(KERNEL, data, encoding, 0).best_alpha(alphas)
    targets, codes = encoding.encode(LABELS), encoding.codes_of(LABELS)
    losses = []
    for penalty in alphas:
        values = np.empty_like(targets)
        for inside in data.held_out(5):
            rows = np.flatnonzero(~inside)
            values[inside] = dense_fit(X[inside], rows, targets, np.ones(N), penalty)
        found = calibrate(values, codes, targets.sum(axis=0)).probabilities(values)
        losses.append(-np.log(found[np.arange(N), codes]).mean())
    assert alpha == alphas[np.argmin(losses)]
    assert_allclose(cost, min(losses), rtol=0.01)


def test_constant_kernels_predict_the_mean() -> None:
    data, encoding = drawn(Y)
    kernel = CallableKernel(lambda A, B: np.ones((len(A), len(B))))
    columns, choice, _ = ridge_on_all_rows(kernel, data, encoding, ALPHAS, random_state=0)
    rounding = len(X) * np.finfo(np.float32).eps
    assert_allclose(choice.fit.predict(columns(X)), encoding.encode(Y).mean(), atol=rounding)


def test_values_that_are_not_finite_are_refused() -> None:
    class Broken(Gaussian):
        def _from_scaled(self, u: Array) -> Array:
            return np.full_like(u, np.nan)

    data, encoding = drawn(Y)
    with pytest.raises(ValueError, match="NaN or infinity"):
        ridge_on_all_rows(Broken(1.0), data, encoding, ALPHAS, random_state=0)


@pytest.mark.parametrize(("noise", "smallest"), [(0.0, 1e-3), (3.0, 0.03)])
def test_small_penalties_are_compared_as_long_as_costs_fall(
    noise: float, smallest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take the most iterations, and are rarely the best for responses with noise."""
    tried = list[float]()
    solved = AllRows._solved

    def recorded(self: AllRows, alphas: Array, *others: Any, **limits: Any) -> tuple[Array, Array]:
        tried.extend(alphas)
        return solved(self, alphas, *others, **limits)

    monkeypatch.setattr(AllRows, "_solved", recorded)
    monkeypatch.setattr("mercer._nystroem.all_pairs._COMPARED_TOLERANCE", 1e-5)
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + noise * np.random.default_rng(1).normal(size=N)
    data, encoding = drawn(y)
    rows = AllRows(KERNEL, data, encoding, 0)
    alpha, cost = rows.best_alpha()
    assert min(tried) < 1.1 * smallest if noise == 0.0 else min(tried) > smallest
    everything = rows.best_alpha(10.0 ** np.arange(-3.0, 3.0))
    assert cost <= (1.0 + 1e-4) * everything[1]
    assert 0.25 < alpha / everything[0] < 4.0
