"""The documentation: what the reference lists, and the form of public docstrings."""

import importlib
import re
from contextlib import redirect_stdout
from dataclasses import is_dataclass
from inspect import getdoc
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_allclose
from test_package import PUBLIC_NAMES, documented

import mercer
from mercer._blocks.approximation import EXACT_ROWS, number_of_components
from mercer.inspection import shapley_values

ROOT = Path(__file__).parents[1]

CHECKS = {
    *("GL08", "SS01", "SS02", "SS03", "SS04", "SS06"),
    *("PR01", "PR02", "PR03", "PR04", "PR06", "PR07", "PR10"),
    *("RT01", "RT03", "EX01"),
}
"""The codes of numpydoc: a docstring; one-line summaries that begin and end like a sentence; all
parameters, by their names, in order, with types and descriptions; what functions return; an
example."""
FIELDS = {"PR01"}
"""Dataclasses describe their fields as attributes, and users do not construct them."""


DOCUMENTED = {module: documented(module) for module in PUBLIC_NAMES}
OBJECTS = {
    f"{module}.{name}": getattr(importlib.import_module(module), name)
    for module, names in DOCUMENTED.items()
    for name in sorted(names)
}
METHODS = [
    f"{name}.{method}"
    for name, owner in OBJECTS.items()
    if hasattr(owner, "get_params") and not name.startswith("mercer.kernels")
    for method in (
        *("fit", "predict", "predict_proba", "predict_interval", "predict_set"),
        *("transform", "score", "held_out_classifier"),
    )
    if getattr(getattr(owner, method, None), "__module__", "").startswith("mercer")
]
"""Methods that the package defines; those of scikit-learn have its own descriptions."""


@pytest.mark.parametrize("name", OBJECTS)
def test_public_docstrings_have_the_form_of_numpydoc(name: str) -> None:
    validate = pytest.importorskip("numpydoc.validate").validate
    attributes_only = is_dataclass(OBJECTS[name]) and "Parameters" not in getdoc(OBJECTS[name])
    codes = CHECKS - FIELDS if attributes_only else CHECKS
    assert [text for code, text in validate(name)["errors"] if code in codes] == []


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_estimators_describe_their_arguments(name: str) -> None:
    validate = pytest.importorskip("numpydoc.validate").validate
    codes = CHECKS - {"PR07", "RT03", "EX01"}
    assert [text for code, text in validate(name)["errors"] if code in codes] == []


PAGES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *("guide/tables", "guide/columns", "guide/learning", "guide/counts", "guide/sources"),
            *("guide/mkl", "guide/bayesian", "guide/features", "guide/clustering"),
            *("guide/extending", "guide/checks", "guide/large"),
        ),
        (),
    ),
    "start/five_minutes": ("0.8 < ((low <= y_test) & (y_test <= high)).mean() < 1.0",),
    "start/coming_from": (
        "output.count('R²') == 4",
        "min(float(line[3:7]) for line in output.splitlines() if 'R²' in line) > 0.7",
    ),
    "guide/trust": (
        "alone.loo_score_ > 0.9",
        "mixed.held_out[0].scores['r2'].value > 0.9",
        "found.held_out[0].scores['r2'].value < 0.7",
        "(model.loo_predictions_[30:] == model.loo_predictions_[30:]).all()",
    ),
    "wishes": ("alone.loo_score_ > 0.9 > grouped.loo_score_ + 0.5",),
    "guide/production": (
        "small[-1].loss_ < 0.01",
        "stack.needs_refit_ is False",
        "'variable' in output",
        "'True' in output.splitlines()",
    ),
}
"""Pages whose code runs from top to bottom, and what holds of the names and of the output then."""
NEEDED = {
    "guide/large": ("dask.array", "pyarrow"),
    "guide/production": ("onnxruntime", "skl2onnx"),
}


def executed(path: str) -> tuple[dict[str, Any], str]:
    """Run the code of a page, and return its names and what it prints.

    Blocks of text show what the code before them prints, up to digits, which other versions of the
    packages may change.
    """
    text = (ROOT / "docs" / path).read_text(encoding="utf-8")
    namespace: dict[str, Any] = {}
    printed = [""]
    for language, block in re.findall(r"```(python|text)\n(.*?)```", text, flags=re.DOTALL):
        if language == "python":
            with redirect_stdout(StringIO()) as output:
                exec(compile(block, path, "exec"), namespace)
            printed.append(output.getvalue())
        else:
            assert re.sub(r"[\d.]+", "#", printed[-1]) == re.sub(r"[\d.]+", "#", block)
    return namespace, "".join(printed)


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_pages_prints_what_they_say(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    for needed in NEEDED.get(page, ()):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    names, output = executed(f"{page}.md")
    assert output
    for claim in PAGES[page]:
        assert eval(claim, {**names, "output": output}), claim


@pytest.mark.usefixtures("few_folds")
def test_the_code_on_reading_a_model_runs() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("pandas")
    namespace, _ = executed("guide/reading.md")
    found, many = namespace["found"], namespace["many"]
    assert_allclose(found.predictions, namespace["model"].predict(namespace["X"][300:]), atol=1e-5)
    assert many.importances.argmax() == many.feature_names.index("s5")
    text = (ROOT / "docs" / "guide" / "reading.md").read_text(encoding="utf-8")
    without = shapley_values(namespace["model"], namespace["X"][302:303])
    alone = dict(zip(without.feature_names, without.values[0], strict=True))
    assert f"by {-alone['s1']:.0f}, and" in text
    assert f"`s2` by {-alone['s2']:.0f}. Group" in text


def test_the_guide_says_from_how_many_rows_on_fits_are_approximate() -> None:
    page = (ROOT / "docs" / "guide" / "large.md").read_text(encoding="utf-8")
    assert f"| up to {EXACT_ROWS:,} |" in page
    for rows, name in ((50_000, "up to 50,000"), (50_001, "more")):
        [line] = (line for line in page.splitlines() if line.startswith(f"| {name} |"))
        assert f"{number_of_components('auto', rows):,} Nyström features" in line
        assert f" {8 * number_of_components('auto', rows) ** 2 / 1e6:.0f} MB" in line
    assert f"from at most {mercer.TwoStageRegressor().max_samples:,} rows" in page
    assert f"on at most {mercer.KernelStackingRegressor().max_samples:,} and" in page
