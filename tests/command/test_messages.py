"""Errors and warnings in one line."""

import warnings
import zlib

from mercer_command.messages import InputError, collected_warnings, one_line


def test_an_error_of_the_user_is_one_line() -> None:
    assert one_line(InputError("first\nsecond")) == "first second"
    assert one_line(FileNotFoundError("no file")) == "no file"
    assert one_line(ValueError("first\nsecond")) == "first"
    assert one_line(ValueError()) == "ValueError"
    assert one_line(zlib.error("bad")) == "a compressed file is damaged (bad)"
    assert one_line(MemoryError("298 GiB")) == "out of memory (298 GiB)"
    assert one_line(MemoryError()) == "out of memory (tables in Parquet files are read in parts)"
    assert 'pip install "mercer[dask]"' in str(one_line(ImportError(name="distributed")))


def test_a_defect_of_the_program_keeps_its_traceback() -> None:
    assert one_line(AttributeError("no attribute")) is None
    assert one_line(ImportError("cannot import", name="mercer.kernels.absent")) is None


def test_warnings_that_differ_in_numbers_alone_are_one_note() -> None:
    notes = ["first"]
    with collected_warnings(notes):
        for gap in ("0.0013", "2e-05"):
            warnings.warn(f"Stopped at a gap of {gap}.\nmore", UserWarning, stacklevel=1)
        warnings.warn("Another message.", UserWarning, stacklevel=1)
    assert notes == ["first", "Stopped at a gap of 0.0013.", "Another message."]
