"""The section on many rows says what the estimators do."""

from __future__ import annotations

from experiments.reporting.many_rows import many_rows
from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer._nystroem.approximation import EXACT_ROWS, is_exact, number_of_components
from mercer._two_stage.two_stage_regressor import _EIGENDECOMPOSED


def test_limits_are_those_of_the_package() -> None:
    page = many_rows()
    assert f"| up to {EXACT_ROWS:,} |" in page
    assert is_exact("auto", EXACT_ROWS, 4)
    assert not is_exact("auto", EXACT_ROWS + 1, 4)
    for rows, name in ((50_000, "3,001 to 50,000"), (50_001, "more")):
        line = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
        assert f"{number_of_components('auto', rows):,} Nyström features" in line
        assert f" {8 * number_of_components('auto', rows) ** 2 / 1e6:.0f} MB" in line
    assert f"Above {_EIGENDECOMPOSED:,} rows" in page


def test_samples_are_those_of_the_estimators() -> None:
    for two_stage in (TwoStageClassifier(), TwoStageRegressor()):
        assert f"at most\n`max_samples={two_stage.max_samples}` rows" in many_rows()
    for stacking in (KernelStackingClassifier(), KernelStackingRegressor()):
        assert f"at most `max_samples={stacking.max_samples}`" in many_rows()
