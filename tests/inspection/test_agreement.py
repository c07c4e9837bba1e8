"""What a model states of itself is compared with what held-out rows show."""

from typing import Any

import numpy as np
import pytest

from mercer import KernelStackingRegressor
from mercer.inspection import report
from mercer.inspection._checks import CoverageGap, LeftOutGap
from mercer.inspection._coverage import coverage_of
from mercer.inspection._held_out import Predictions, PredictorScores, Truth, scores
from mercer.kernels import Gaussian, Laplacian


def coverage(n_rows: int, width: float, seed: int = 0) -> Any:
    """Coverage of intervals for a normal response, of which 1.645 covers nine in ten."""
    y = np.random.default_rng(seed).normal(size=n_rows)
    ends = np.tile([-width, width], (n_rows, 1))
    return coverage_of(Truth("regression", y, np.empty(0)), ends, 0.9)


def test_coverage_far_from_its_target_is_told() -> None:
    [text] = CoverageGap.of(coverage(400, 1.2), "regression").warnings
    assert text.startswith("90% intervals hold 7")
    assert "the model is too sure" in text
    [text] = CoverageGap.of(coverage(400, 2.5), "regression").warnings
    assert "wider than they need to be" in text
    assert not CoverageGap.of(coverage(400, 2.5), "classification").warnings
    assert not CoverageGap.of(coverage(100_000, 1.55), "regression").warnings
    assert not CoverageGap.of(None, "regression").warnings
    alike = [CoverageGap.of(coverage(200, 1.645, k), "regression") for k in range(100)]
    assert sum(bool(one.warnings) for one in alike) <= 5


def own_scores(n_rows: int, size: float, seed: int) -> PredictorScores:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    predicted = Predictions(y + size * rng.normal(size=n_rows))
    return PredictorScores("model", scores(Truth("regression", y, np.empty(0)), predicted))


def test_scores_far_apart_are_told() -> None:
    new, old = own_scores(200, 2.0, 0), own_scores(600, 1.0, 1)
    [text] = LeftOutGap.of(new, old).warnings
    assert "held-out rows differ" in text
    [text] = LeftOutGap.of(old, new).warnings
    assert "too similar to the rows of the fit" in text
    assert not LeftOutGap.of(new, None).warnings
    assert not LeftOutGap.of(own_scores(99_999, 1.1, 0), own_scores(99_999, 1.0, 1)).warnings
    alike = [
        LeftOutGap.of(own_scores(50, 1.0, k), own_scores(150, 1.0, 999 + k)) for k in range(100)
    ]
    assert sum(bool(one.warnings) for one in alike) <= 5


def ranked(n_rows: int, distance: float, seed: int) -> PredictorScores:
    """Scores of a model that predicts no row of the class of one in ten rows."""
    rng, y = np.random.default_rng(seed), (np.arange(n_rows) % 10 == 0).astype(int)
    p = 1.0 / (1.0 + np.exp(4.0 - rng.normal(size=n_rows) - distance * y))
    own = Predictions(np.zeros(n_rows, int), np.column_stack([1.0 - p, p]), p)
    return PredictorScores("model", scores(Truth("classification", y, np.arange(2)), own))


def test_the_first_score_is_compared_if_classes_are_unequal() -> None:
    """The shares of errors are equal, as all rows are taken for the larger class."""
    new, old = ranked(300, 2.0, 0), ranked(600, 0.0, 1)
    assert not LeftOutGap.of(new, old).warnings
    [text] = LeftOutGap.of(new, old, "roc_auc").warnings
    assert text.startswith("the area under the ROC curve is 0.9")
    assert "held-out rows are easier" in text
    [text] = LeftOutGap.of(old, new, "roc_auc").warnings
    assert "held-out rows differ from the rows of the fit" in text
    assert LeftOutGap.of(ranked(300, 9.0, 0), old, "roc_auc").warnings
    assert not LeftOutGap.of(ranked(20, 2.0, 0), old, "roc_auc").warnings
    alike = [
        LeftOutGap.of(ranked(100, 1.0, k), ranked(300, 1.0, 999 + k), "roc_auc") for k in range(100)
    ]
    assert sum(bool(one.warnings) for one in alike) <= 5


@pytest.mark.parametrize("moved", [False, True])
def test_the_report_tells_of_rows_unlike_those_of_the_fit(moved: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=300)
    y[150:] += moved * X[150:, 1]
    kernels = [Gaussian("median"), Laplacian("median")]
    model = KernelStackingRegressor(kernels).fit(X[:150], y[:150])
    found = report(model, X[150:], y[150:], train=(X[:150], y[:150]))
    told = " ".join(found.warnings)
    assert ("the model is too sure" in told) == moved
    assert ("held-out rows differ from the rows of the fit" in told) == moved
