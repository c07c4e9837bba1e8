"""The documentation: what the reference lists, and the form of public docstrings."""

import importlib
import re
from contextlib import redirect_stdout
from dataclasses import is_dataclass
from inspect import getdoc
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import center, gaussian, left_out_kernel_ridge
from test_package import PUBLIC_NAMES, documented

import mercer
from mercer._blocks.approximation import EXACT_ROWS, number_of_components
from mercer.inspection import shapley_values

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "docs" / "examples").rglob("plot_*.py"))

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


GUIDE_PAGES = (
    *("tables", "columns", "learning", "counts", "sources", "mkl", "bayesian", "features"),
    *("clustering", "large", "extending", "checks"),
)
"""Pages of the guide whose code runs from top to bottom; others have tests of their own."""


def executed(path: str) -> tuple[dict[str, Any], str]:
    """Run the code of a page, and return its names and what it prints.

    Blocks of text show what the code before them prints, up to numbers, which other versions of
    the packages may change.
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
            numbers = r"-?[\d.]+"
            assert re.sub(numbers, "#", printed[-1]) == re.sub(numbers, "#", block)
    return namespace, "".join(printed)


@pytest.mark.usefixtures("few_folds")
def test_the_code_of_the_first_page_runs() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    found, output = executed("start/five_minutes.md")
    coverage = ((found["low"] <= found["y_test"]) & (found["y_test"] <= found["high"])).mean()
    assert 0.8 < coverage < 1.0
    assert output


@pytest.mark.usefixtures("few_folds")
def test_scores_in_the_code_of_pages_are_as_they_say() -> None:
    scores = re.findall(r"R² ([\d.]+)", executed("start/coming_from.md")[1])
    assert len(scores) == 5
    assert all(float(score) > 0.7 for score in scores)
    trust, _ = executed("guide/trust.md")
    assert trust["alone"].loo_score_ > 0.9
    assert trust["mixed"].held_out[0].scores["r2"].value > 0.9
    assert trust["found"].held_out[0].scores["r2"].value < 0.7
    assert not np.isnan(trust["model"].loo_predictions_)[30:].any()
    wishes, output = executed("wishes.md")
    assert output
    assert wishes["alone"].loo_score_ > 0.9 > wishes["grouped"].loo_score_ + 0.5


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize("page", GUIDE_PAGES)
def test_the_code_of_guide_pages_prints_what_they_say(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    if page == "large":
        pytest.importorskip("dask.array")
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    assert executed(f"guide/{page}.md")[1]


@pytest.mark.usefixtures("few_folds")
def test_the_code_on_production_runs() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    found, output = executed("guide/production.md")
    assert found["small"].loss_ < 0.01
    assert found["large"].predict(found["X"][:3]).shape == (3,)
    assert "variable" in output
    assert "True" in output.splitlines()  # Inputs of a data frame's graph are as the page says.


def test_every_wish_has_its_example() -> None:
    text = (ROOT / "docs" / "wishes.md").read_text(encoding="utf-8")
    linked = re.findall(r"\[an example\]\(#([a-z-]+)\)", text)
    headings = re.findall(r"^### (.+)$", text, flags=re.MULTILINE)
    assert linked == [heading.lower().replace(" ", "-") for heading in headings]
    assert len(linked) >= 10


@pytest.mark.usefixtures("few_folds")
def test_the_code_on_reading_a_model_runs() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    namespace, _ = executed("guide/reading.md")
    found, many = namespace["found"], namespace["many"]
    assert_allclose(found.predictions, namespace["model"].predict(namespace["X"][300:]), atol=1e-5)
    assert many.importances.argmax() == many.feature_names.index("bmi")
    text = (ROOT / "docs" / "guide" / "reading.md").read_text(encoding="utf-8")
    without = shapley_values(namespace["model"], namespace["X"][302:303])
    alone = dict(zip(without.feature_names, without.values[0], strict=True))
    for name in ("s1", "s2"):
        [stated] = re.findall(rf"\(`{name}`\) lowers[\w\s]+? by (\d+)", text)
        assert stated == f"{-alone[name]:.0f}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_end_with_a_picture_whose_axes_are_labeled(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.rstrip().endswith("plt.show()")
    # The displays label their axes.
    displays = "from_estimator", "partial_dependence_display"
    assert any(word in text for word in ("xlabel", "set(xticks=[]", *displays))


def test_the_leave_one_out_formula_of_the_guide_agrees_with_refits() -> None:
    """Ridge regression with an intercept, refitted without each row; alpha as in the fit."""
    guide = (ROOT / "docs" / "guide" / "tables.md").read_text(encoding="utf-8")
    found = re.search(r"\\frac{y_i - f_\\alpha\(x_i\)}{(.+?)},\$\$", guide)
    assert found is not None
    rng, n, alpha = np.random.default_rng(0), 12, 0.3
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    K = gaussian(X, 1.0)
    S = center(K) @ np.linalg.inv(center(K) + alpha * np.eye(n))
    names = {"S": np.diag(S), "n": n}
    denominator = eval(found[1].replace("S_{ii}", "S"), {"__builtins__": {}}, names)
    errors = y - left_out_kernel_ridge(K, y, alpha)
    residuals = y - y.mean() - S @ (y - y.mean())
    assert_allclose(residuals / denominator, errors, rtol=1e-9)


def test_the_guide_says_from_how_many_rows_on_fits_are_approximate() -> None:
    page = (ROOT / "docs" / "guide" / "large.md").read_text(encoding="utf-8")
    assert f"| up to {EXACT_ROWS:,} |" in page
    for rows, name in ((50_000, "up to 50,000"), (50_001, "more than 50,000")):
        [line] = (line for line in page.splitlines() if line.startswith(f"| {name} |"))
        assert f"{number_of_components('auto', rows):,} Nyström features" in line
        assert f" {8 * number_of_components('auto', rows) ** 2 / 1e6:.0f} MB" in line
    assert f"from at most {EXACT_ROWS:,} rows" in page
    assert f"by default at most {mercer.KernelStackingRegressor().max_samples:,}." in page
