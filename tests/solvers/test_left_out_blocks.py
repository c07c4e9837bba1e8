"""Blocks of a matrix among parts of its rows are those of the whole matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer._solvers import left_out_blocks
from mercer._solvers.left_out_blocks import left_out_blocks as blocks_of


@pytest.mark.parametrize("n_factors", [1, 2, 5])
@pytest.mark.parametrize("cached", [1, 100, 2**16])
def test_blocks_are_those_of_the_whole_matrix(
    n_factors: int, cached: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_out_blocks, "CACHED_VALUES", cached)
    rng = np.random.default_rng(n_factors)
    vectors = np.asfortranarray(rng.normal(size=(30, 20)))
    factors = 10.0 ** rng.uniform(-4.0, 2.0, (n_factors, 20))
    order = rng.permutation(30)
    # Of one, three, four and eleven rows, more and fewer than twice the factors.
    batches = [
        order[:2, None],
        order[2:11].reshape(3, 3),
        order[11:19].reshape(2, 4),
        order[None, 19:],
    ]
    found = list(blocks_of(vectors, factors, batches))
    assert len(found) == len(batches)
    for batch, blocks in zip(batches, found, strict=True):
        assert blocks.shape == (n_factors, *batch.shape, batch.shape[1])
        for d, of_parts in zip(factors, blocks, strict=True):
            whole = vectors @ np.diag(d) @ vectors.T
            for part, block in zip(batch, of_parts, strict=True):
                assert_allclose(block, whole[np.ix_(part, part)], rtol=1e-12, atol=1e-10)
