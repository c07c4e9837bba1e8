"""Grids of a penalty: what they hold, how they grow, and the best of their values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer._estimators.two_stage import C_GRID
from mercer._solvers.grids import as_grid, extension, first_best, warn_at_edge
from mercer._solvers.left_out import vertex


def test_grids():
    np.testing.assert_array_equal(as_grid("C", "auto", C_GRID), C_GRID)
    np.testing.assert_array_equal(as_grid("C", 3, C_GRID), [3.0])
    np.testing.assert_array_equal(as_grid("C", (4.0, 1.0, 4.0), C_GRID), [1.0, 4.0])


@pytest.mark.parametrize("value", ["best", None, 0.0, np.inf, [], [1.0, np.nan], {1.0}])
def test_grids_are_positive_numbers(value):
    with pytest.raises(ValueError, match="C must be 'auto', a positive number or a sequence"):
        as_grid("C", value, C_GRID)


def test_the_first_of_equal_scores_is_best():
    assert first_best(np.array([0.1, 0.7, 0.7 + 1e-14, 0.7])) == 1
    assert first_best(np.array([np.nan, 0.6, np.nan, 0.7])) == 3
    assert first_best(np.array([0.4, 0.7, 0.7 + 5e-10, 0.5])) == 2
    assert first_best(1e-12 * np.array([-0.3, -0.1, -0.1 + 1e-14])) == 1


@pytest.mark.parametrize(("scores", "settled", "warns"), [
    ([0.9, 0.8, 0.7], False, True),
    ([0.7, 0.8, 0.9], False, True),
    ([0.7, 0.8, 0.9], True, False),    # a larger C gives the same machine
    ([0.7, 0.9, 0.8], False, False),
    ([0.9, 0.9, 0.9], False, False),   # plateau: the smallest is taken for the tie alone
    ([0.9, 0.9, 0.8], False, False),
    ([0.7, 0.8, 0.8 + 1e-5], False, False),
    ([0.9], False, False),
    ([0.9, np.nan, np.nan], False, True),    # given up, being far behind
    ([0.8, 0.9, np.nan], False, False),
])  # fmt: skip
def test_warning_at_the_edge(recwarn, scores, settled, warns):
    warn_at_edge("C", np.array([1.0, 2.0, 4.0])[: len(scores)], np.array(scores), unbounded=settled)
    messages = [str(warning.message) for warning in recwarn]
    assert len(messages) == warns
    assert all("lies on the edge of the values tried, 1 to 4" in message for message in messages)


@pytest.mark.parametrize(("grid", "scores", "settings", "expected"), [
    ([1, 4, 16], [0.7, 0.9, 0.8], {}, []),
    ([1, 4, 16], [0.9, 0.9, 0.8], {}, [0.25]),                      # the full grid has it
    ([1, 4, 16], [0.7, 0.8, 0.9], {}, [64]),
    ([1, 4, 16], [0.7, 0.8, 0.9], {"unbounded": True}, []),
    ([1, 4, 16], [0.7, 0.8, 0.9], {"expensive": True}, []),
    ([1, 4, 16], [0.9, 0.8, 0.7], {"expensive": True}, [0.25]),
    ([0.25, 1], [0.9, 0.9], {}, []),                                # a plateau beyond the full grid
    ([0.25, 1], [0.9, 0.8], {}, [0.0625]),
    ([0.25, 1, 4, 16, 64], [0.5, 0.6, 0.7, 0.8, 0.8 + 1e-4], {}, []),
    ([2.0**-10, 2.0**-8], [0.9, 0.8], {}, []),                      # too far from the full grid
])  # fmt: skip
def test_a_grid_is_extended_where_its_end_is_best(grid, scores, settings, expected):
    full = np.array([0.25, 1.0, 4.0, 16.0, 64.0])
    found = extension(np.array(grid, dtype=float), np.array(scores), full, **settings)
    np.testing.assert_allclose(found, expected)


def test_the_vertex_of_a_parabola() -> None:
    for at in (-0.5, -0.2, 0.0, 0.4):
        assert_allclose(vertex([3.0 * (x - at) ** 2 + 1.0 for x in (-1, 0, 1)]), at, atol=1e-12)
    assert vertex([1.0, 1.0, 1.0]) == 0.0
