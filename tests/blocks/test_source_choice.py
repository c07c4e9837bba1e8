"""One function for all kinds of input, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from block_cases import table

from mercer._blocks import block_source

X, Y = table(60)


class TestArguments:
    def test_wide_tables_have_smaller_blocks(self) -> None:
        assert block_source(np.zeros((1, 20))).block_rows == 4096
        assert block_source(np.zeros((1, 4096))).block_rows == 1024
        assert block_source(sp.csr_array((1, 10**6))).block_rows == 256

    def test_a_source_is_returned_as_it_is(self) -> None:
        source = block_source(X)
        assert block_source(source) is source

    def test_floats_are_not_copied(self) -> None:
        assert all(np.shares_memory(block.X, X) for block in block_source(X, block_rows=7))

    @pytest.mark.parametrize(
        ("Z", "y", "message"),
        [
            (X[0], None, r"rows and columns; its shape is \(3,\)"),
            (X, Y[:5], r"X has 60 rows, and y has the shape \(5,\)"),
            (X, np.zeros((60, 2, 2)), r"y has the shape \(60, 2, 2\)"),
        ],
    )
    def test_shapes_are_checked(self, Z, y, message) -> None:
        with pytest.raises(ValueError, match=message):
            block_source(Z, y)

    def test_block_rows_are_positive(self) -> None:
        with pytest.raises(ValueError, match="block_rows must be at least 1"):
            block_source(X, block_rows=0)
