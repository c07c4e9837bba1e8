"""Conversion of tables to numbers, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._blocks import block_source


class TestNumbers:
    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_columns_without_numbers_are_named(self, library) -> None:
        frames = pytest.importorskip(library)
        source = block_source(frames.DataFrame({"a": [1, 2], "city": ["x", "y"], "b": [0.5, 1.0]}))
        with pytest.raises(ValueError, match=r"not hold numbers: city\."):
            list(source)

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_truth_values_and_whole_numbers(self, library) -> None:
        frames = pytest.importorskip(library)
        frame = frames.DataFrame({"a": [True, False], "b": [3, 4]})
        assert next(iter(block_source(frame))).X.tolist() == [[1.0, 3.0], [0.0, 4.0]]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_single_precision_is_kept_where_all_columns_have_it(self, library) -> None:
        frames = pytest.importorskip(library)
        columns = {"a": np.float32([1.0, 2.0]), "b": np.float32([0.1, 0.2])}
        assert next(iter(block_source(frames.DataFrame(columns)))).X.dtype == np.float32
        columns["b"] = columns["b"].astype(float)
        assert next(iter(block_source(frames.DataFrame(columns)))).X.dtype == np.float64

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_missing_numbers_are_refused(self, library) -> None:
        frames = pytest.importorskip(library)
        dtype = {"dtype": "Int64"} if library == "pandas" else {}
        column = frames.Series([1, None, 3], **dtype)
        with pytest.raises(ValueError, match="X contains NaN"):
            list(block_source(frames.DataFrame({"a": column})))

    def test_many_columns_are_not_all_named(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({f"c{i}": ["x"] for i in range(15)})
        with pytest.raises(ValueError, match="c9 and 5 others"):
            list(block_source(frame))

    @pytest.mark.parametrize("dtype", ["U1", "M8[s]", complex])
    def test_arrays_of_other_types_are_refused(self, dtype) -> None:
        with pytest.raises(ValueError, match="X must hold numbers"):
            list(block_source(np.zeros((3, 2), dtype=dtype)))
