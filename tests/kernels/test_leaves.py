"""Groups of indicators that trees read as one column."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor

from mercer._estimators.learners.forest_kernel import grow
from mercer.kernels import Forest
from mercer.kernels._leaves import indicator_groups, with_numbers

RNG = np.random.default_rng(0)
N = 300
LEVELS = RNG.integers(4, size=N)
ONE_HOT = np.eye(4)[LEVELS]
OTHER = RNG.integers(2, size=N)
NUMBERS = RNG.normal(size=(N, 2))
X = np.column_stack([NUMBERS[:, 0], ONE_HOT, OTHER, NUMBERS[:, 1]])
CODED = np.column_stack([NUMBERS[:, 0], OTHER, NUMBERS[:, 1], LEVELS + 1.0])
Y = np.array([0.0, 3.0, -2.0, 1.0])[LEVELS] + 0.5 * NUMBERS[:, 0] + OTHER
GROUP = np.arange(1, 5)


def test_columns_that_exclude_each_other_are_a_group() -> None:
    [found] = indicator_groups(X)
    assert_array_equal(found, GROUP)
    assert_array_equal(with_numbers(X, [found]), CODED)


def test_columns_are_no_group_that_share_a_row_or_have_others_between_them() -> None:
    both = X.copy()
    both[7, GROUP] = 1.0
    assert indicator_groups(both) == []
    assert indicator_groups(np.insert(ONE_HOT, [1, 2, 3], NUMBERS[:, [0]], axis=1)) == []
    assert indicator_groups(np.where(ONE_HOT > 0.0, np.nan, ONE_HOT)) == []
    assert indicator_groups(2.0 * ONE_HOT) == []


def test_trees_tell_all_numbers_of_a_group_apart() -> None:
    levels = np.eye(600)
    groups = indicator_groups(levels)
    assert [len(group) for group in groups] == [254, 254, 92]
    assert_array_equal(np.unique(with_numbers(levels, groups), axis=0).shape, (600, 3))


def test_a_row_without_any_indicator_has_the_number_zero() -> None:
    assert_array_equal(with_numbers(np.zeros((1, 4)), [np.arange(4)]), [[0.0]])


def test_kernels_are_those_of_the_numbers() -> None:
    trees = HistGradientBoostingRegressor(max_iter=8, early_stopping=False, random_state=0)
    trees.fit(CODED, Y)
    kernel, leaves = grow(X, Y, classification=False, n_trees=8, random_state=0, indicators=[GROUP])
    expected, expected_leaves = Forest(trees).read(CODED)
    assert_array_equal(leaves, expected_leaves)
    assert_array_equal(kernel(X[:20], X), expected(CODED[:20], CODED))
    assert_array_equal(kernel.apply(X[::3]), expected.apply(CODED[::3]))
    assert (kernel.features(X) != expected.features(CODED)).nnz == 0
    assert Forest(trees) != Forest(trees, indicators=[np.array([0, 1])])


def test_indicators_of_a_group_share_its_relevance() -> None:
    kernel, _ = grow(X, Y, classification=False, n_trees=30, random_state=0, indicators=[GROUP])
    found = kernel.relevance(7)
    expected = Forest(kernel.ensemble).with_leaves_of(CODED).relevance(4)
    own = X[np.linspace(0, N - 1, 256).astype(int)][:, GROUP].var(axis=0)
    assert_allclose(found[GROUP], expected[3] * own / own.sum())
    assert_allclose(found[[0, 5, 6]], expected[:3])
