"""Errors and warnings in one line."""

import sys
import unicodedata
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from command_cases import Run, error_line, pd

from mercer._data.notebook import visible as visible_in_library
from mercer_command import main
from mercer_command.messages import InputError, collected_warnings, one_line, shown, visible


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
    little = ImportError("a.so: failed to map segment from shared object", name="_pydantic_core")
    assert str(one_line(little)).startswith("out of memory (a.so: failed to map segment")


def test_warnings_that_differ_in_numbers_alone_are_one_note() -> None:
    notes = ["first"]
    with collected_warnings(notes):
        for gap in ("0.0013", "2e-05"):
            warnings.warn(f"Stopped at a gap of {gap}.\nmore", UserWarning, stacklevel=1)
        warnings.warn("It grew by tol=0.1: raise max_kernels.", UserWarning, stacklevel=1)
    assert notes == ["first", "Stopped at a gap of 0.0013.", "It grew by 0.1."]


def test_characters_that_control_terminals_or_directions_are_written_as_escapes() -> None:
    assert shown("a\x1b[31mb\u202ec\r\nd\te\u200d") == "a\\x1b[31mb\\u202ec↵↵d e\u200d"
    every = map(chr, [*range(0x3000), *range(0xD7F0, 0xE010), 0xFE0F, 0xFEFF, 0xE0041, 0x1F600])
    for character in every:
        written = visible(character)
        assert written == visible_in_library(character)
        hides = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        hides = hides and character not in "\t\n\u200c\u200d"
        # Signs of numbers and of verses of Arabic and Syriac have a shape of their own.
        hides = hides and not ("\u0600" <= character <= "\u08ff" and character != "\u061c")
        assert not hides or (written.isprintable() and written != character)
        assert written == character or not character.isprintable()


DANGEROUS = "\x1b[31m\u202e"


def test_text_of_a_table_is_harmless_wherever_it_is_shown(run: Run) -> None:
    rng = np.random.default_rng(0)
    size, kind = f"size {DANGEROUS}", rng.choice([f"a{DANGEROUS}", "b"], 60)
    frame = pd.DataFrame(
        {size: rng.normal(size=60), "kind": rng.choice(["u", f"v{DANGEROUS}"], 60)}
    )
    frame.assign(y=kind).to_csv("t.csv", index=False)
    results = [
        run("columns t.csv"),
        run("fit t.csv --target y --learner uniform --out m.skops --report r.html"),
        run("explain m.skops t.csv --report e.html"),
    ]
    frame.assign(kind=f"w{DANGEROUS}").to_csv("t.csv", index=False)
    results.append(run("predict m.skops t.csv --out p.csv"))
    pages = [Path(name).read_text(encoding="utf-8") for name in ("r.html", "e.html")]
    for text in (*pages, *(result.stdout + result.stderr for result in results)):
        assert "\\x1b[31m\\u202e" in text.replace("\n", "")
        assert not set(DANGEROUS[:1] + DANGEROUS[-1:]) & set(text)
    line = error_line("fit t.csv --target z --missing", f"{DANGEROUS}=3")
    assert visible(line) == line


def test_an_interruption_of_imports_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "mercer_command.app":
                raise KeyboardInterrupt

    monkeypatch.setattr(sys, "meta_path", [Interrupted, *sys.meta_path])
    monkeypatch.delitem(sys.modules, "mercer_command.app")
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 130
    assert capsys.readouterr().err == "mercer: interrupted\n"
