"""Tables of several methods over several splits."""

import numpy as np
import pytest

pytest.importorskip("pandas")

from mercer_command.methods import comparison_table


@pytest.mark.parametrize(
    ("errors", "names", "ranks"),
    [
        ([[0.1, 0.2], [0.1, 0.1], [0.3, 0.3]], ["b", "a", "c"], [1.25, 1.75, 3.0]),
        # The first method is better on two splits of three, and much worse on the third.
        ([[0.2, 0.2, 0.2], [0.1, 0.1, 0.9]], ["b", "a"], [4 / 3, 5 / 3]),
    ],
)
def test_methods_are_ordered_by_ranks_which_equal_errors_share(
    errors: list[list[float]], names: list[str], ranks: list[float]
) -> None:
    values = np.array(errors)
    table = comparison_table(list("abc")[: len(values)], values, values, values)
    assert table["method"].tolist() == names
    np.testing.assert_allclose(table["rank"], ranks, rtol=1e-15)


@pytest.mark.parametrize(("n_splits", "deviation"), [(3, np.sqrt(0.07)), (1, 0.0)])
def test_deviations_are_those_of_a_sample_of_splits(n_splits: int, deviation: float) -> None:
    errors = np.array([[0.1, 0.2, 0.6]])[:, :n_splits]
    table = comparison_table(["a"], errors, errors, errors)
    np.testing.assert_allclose(table[["error_std", "test_alignment_std"]], [[deviation] * 2])
