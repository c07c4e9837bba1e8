"""The package as a whole: public names, layers of modules, and what README and CONTRIBUTING say."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from learner_cases import ESTIMATORS

import mercer
import mercer.kernels

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SOURCE = Path(mercer.__file__).parent
MODULES = ["mercer", *(found.name for found in pkgutil.walk_packages(mercer.__path__, "mercer."))]


def documented(module: str) -> set[str]:
    """The names that the pages of the reference list for a module."""
    names = set()
    for page in (ROOT / "docs" / "reference").glob("*.rst"):
        current = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                current = line.split()[-1]
            elif current == module and (entry := re.fullmatch(r"   (\w+)", line)):
                names.add(entry[1])
    return names


ELSEWHERE = {
    "mercer": {
        *("alignment", "centered_alignment", "hsic"),
        *("AlignmentPathDisplay", "FeatureRelevanceDisplay"),
        *("GramMatrixDisplay", "KernelWeightsDisplay"),
    },
    "mercer.datasets": {"SINE_FREQUENCIES"},
    "mercer.probabilistic": {"BayesianMKLClassifier", "BayesianMKLRegressor"},
}
"""Public names that the reference describes in another module, or beside another name."""

SUBMODULES = (
    *("datasets", "inspection", "kernels", "losses", "metrics", "preprocessing"),
    "probabilistic",
)
PUBLIC_NAMES = {
    module: documented(module) | ELSEWHERE.get(module, set())
    for module in ("mercer", *(f"mercer.{name}" for name in SUBMODULES))
}
"""The names that users may import, by module; every other module starts with an underscore."""


def is_public(module: str) -> bool:
    return not any(part.startswith("_") for part in module.split("."))


class TestPublicNames:
    def test_public_modules_are_those_listed(self) -> None:
        assert sorted(filter(is_public, MODULES)) == sorted(PUBLIC_NAMES)

    @pytest.mark.parametrize("module", PUBLIC_NAMES)
    def test_public_names_are_those_listed(self, module: str) -> None:
        imported = importlib.import_module(module)
        assert sorted(imported.__all__) == sorted(PUBLIC_NAMES[module])
        assert [name for name in imported.__all__ if not hasattr(imported, name)] == []

    @pytest.mark.parametrize("module", PUBLIC_NAMES)
    def test_signatures_name_types_in_short(self, module: str) -> None:
        """Annotations that are evaluated show all members of a union, in help and in notebooks."""
        for name in PUBLIC_NAMES[module]:
            value = getattr(importlib.import_module(module), name)
            if inspect.isclass(value) or inspect.isfunction(value):
                parameters = inspect.signature(value).parameters.values()
                assert max((len(str(one)) for one in parameters), default=0) < 100, name


def layout() -> list[str]:
    """Modules and packages in the order of CONTRIBUTING's table of layers, the lowest first."""
    section = CONTRIBUTING.split("\n## Layers of the package\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE)
    entries = [entry for cell in cells for entry in re.findall(r"`([\w.]+/?)`", cell)]
    return [entry.removesuffix("/").removesuffix(".py") for entry in entries]


def layer_of(path: Path) -> str:
    """The module or package directly below `src/mercer` that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> set[str]:
    """Full names of what a file imports from the package, wherever in the file it does."""
    package = ".".join(path.relative_to(SOURCE.parent).parent.parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def imported_layers(path: Path) -> set[str]:
    """The modules and packages directly below `src/mercer` that a file imports from."""
    own = [name.split(".") for name in imports(path)]
    names = {parts[1] if len(parts) > 1 else "" for parts in own if parts[0] == "mercer"}
    # What is imported from `mercer` itself, such as an estimator, comes from its `__init__`.
    layers = {name if name in MODULE_LAYERS else "__init__" for name in names}
    return layers - {layer_of(path)}


FILES = sorted(SOURCE.rglob("*.py"))
MODULE_LAYERS = {layer_of(path) for path in FILES}


class TestLayers:
    def test_the_table_lists_every_module_once(self) -> None:
        assert sorted(layout()) == sorted(MODULE_LAYERS)

    def test_a_lower_layer_never_imports_a_higher_one(self) -> None:
        order = layout()
        upward = {
            f"{path.relative_to(SOURCE)} imports {other}"
            for path in FILES
            for other in imported_layers(path) - set(order[: order.index(layer_of(path))])
        }
        assert upward == set()

    def test_the_library_does_not_import_the_command(self) -> None:
        found = {name for path in FILES for name in imports(path) if name.startswith("mercer_")}
        assert found == set()

    def test_the_command_imports_public_names_only(self) -> None:
        """One function is shared: files are replaced alike by the library and the command."""
        shared = "mercer._files.replacing"
        command = SOURCE.parent / "mercer_command"
        found = {name for path in command.rglob("*.py") for name in imports(path)}
        own = {name for name in found if name.split(".")[0] == "mercer"}
        public = {f"{module}.{name}" for module, names in PUBLIC_NAMES.items() for name in names}
        assert "mercer.inspection.kernel_terms" in own
        assert [
            path
            for path in command.rglob("*.py")
            if "mercer._" in path.read_text().replace(shared, "")
        ] == []
        allowed = {*PUBLIC_NAMES, "mercer.__version__", f"{shared}.replacing"}
        assert own - public - allowed == set()

    def test_modules_import_in_one_direction(self) -> None:
        root = SOURCE.parent
        files = {
            ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
            for package in ("mercer", "mercer_command")
            for path in (root / package).rglob("*.py")
        }
        needed = {
            name: {one if one in files else one.rpartition(".")[0] for one in imports(path)}
            & files.keys() - {name}
            for name, path in files.items()
        }
        order = list(TopologicalSorter(needed).static_order())  # It raises an error for a circle.
        assert order.index("mercer._search.weights.mkl") < order.index("mercer")
        assert order.index("mercer_command.names") < order.index("mercer_command.problem")

    def test_named_source_files_exist(self) -> None:
        """Files that CONTRIBUTING names in its instructions are where it says."""
        text = CONTRIBUTING.split("\n## Layers of the package\n")[1]
        named = re.findall(r"`((?:tests/|src/mercer/|[a-z_]+/)[\w/]+\.py)`", text)
        folders = (ROOT, SOURCE, ROOT / "experiments")
        assert named
        assert [n for n in named if not any((folder / n).is_file() for folder in folders)] == []


@pytest.fixture(scope="module")
def readme() -> dict[str, Any]:
    """Everything that README's Python blocks define, run one after the other, and their output."""
    pytest.importorskip("matplotlib").use("Agg")
    namespace: dict[str, Any] = {}
    printed: list[str] = []
    for block in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL):
        with redirect_stdout(StringIO()) as output:
            exec(compile(block, "README.md", "exec"), namespace)
        printed.append(output.getvalue())
    return {**namespace, "printed": printed}


class TestReadme:
    def test_its_examples_print_what_it_says(self, readme: dict[str, Any]) -> None:
        """Numbers may differ, as other versions of the packages may change them."""
        number = r"-?\d[\d.]*"
        shown = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
        assert [re.sub(number, "#", text) for text in readme["printed"]] == [
            re.sub(number, "#", text) for text in shown
        ]

    def test_its_model_is_the_one_to_take(self, readme: dict[str, Any]) -> None:
        scores = [float(number) for number in re.findall(r"0\.\d+", readme["printed"][0])]
        model, estimated, trees = scores
        assert trees < model
        assert abs(estimated - model) < 0.1
        accuracy = re.search(r"accuracy (\d\.\d+)", readme["printed"][-1])
        assert accuracy is not None
        assert float(accuracy[1]) > 0.93

    def test_one_command_sets_up_and_ends_with(self) -> None:
        """The check of the project runs these lines."""
        for end in ("mercer demo", "pytest -n auto"):
            [line] = (line for line in README.splitlines() if line.endswith(f"/{end}"))
            assert line.startswith("python3 -m venv .venv && .venv/bin/pip install ")


class TestWhichEstimator:
    PAGE = (ROOT / "docs" / "start" / "which_estimator.md").read_text(encoding="utf-8")

    def taken(self) -> list[str]:
        """The code in the last cells of the page's tables."""
        cells = [row.rsplit(" | ", 1)[1] for row in self.PAGE.splitlines() if row.startswith("| ")]
        return [snippet for cell in cells for snippet in re.findall(r"`([^`]+)`", cell)]

    def test_what_it_recommends_can_be_pasted(self) -> None:
        names: dict[str, Any] = {"n_clusters": 3, "kernels": ["gaussian", "linear"]}
        for module in (mercer, mercer.kernels):
            names |= {name: getattr(module, name) for name in module.__all__}
        calls = [code for code in self.taken() if not code.startswith(("inspection.", "python "))]
        assert len(calls) > 30
        for code in calls:
            eval(code, names)

    def test_it_names_every_estimator(self) -> None:
        assert len(ESTIMATORS) > 20
        assert [name for name in ESTIMATORS if f"`{name}" not in self.PAGE] == []


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "docs/glossary.md"]
)
def test_links_lead_to_files_and_headings(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8"))
    assert links
    for file, anchor in links:
        target = page.parent / file if file else page
        assert target.is_file(), file
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [heading.lower().replace(" ", "-") for heading in headings]


def test_the_composed_pipelines_are_as_good(readme: dict[str, Any]) -> None:
    """A learned kernel in a support vector machine with its default C, as README composes them."""
    X, y = readme["X_test"], readme["y_test"]
    two_stage = readme["model"].score(X, y)
    assert readme["by_gram_matrix"].score(X, y) > two_stage - 0.01
    assert readme["by_kernel"].score(X, y) > two_stage - 0.01


def test_the_core_needs_no_optional_package() -> None:
    """With the optional packages out of reach, all but the command can be imported and used."""
    script = """
import sys
import tomllib

class Absent:
    def find_spec(self, name, path=None, target=None):
        optional = (
            "dask", "distributed", "matplotlib", "pandas", "polars", "pyarrow", "rich", "skops",
            "skrub", "typer",
        )
        if name.split(".")[0] in optional:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import mercer, mercer.datasets, mercer.inspection, mercer.kernels, mercer.metrics
from mercer.preprocessing import table_encoder
from mercer.inspection import report
X, y = mercer.datasets.make_sine(40, random_state=0)
model = mercer.TwoStageClassifier(C=1.0).fit(X, y)
print(report(model, X, y, train=(X, y))._repr_html_()[:5])
try:
    mercer.KernelWeightsDisplay.from_estimator(model)
except ImportError as error:
    print(error)
try:
    table_encoder()
except ImportError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.stderr == ""
    assert run.stdout.startswith("<div>")
    assert 'pip install "mercer[plot]"' in run.stdout
    assert 'pip install "mercer[tables]"' in run.stdout


def test_the_package_alone_imports_nothing_that_takes_long() -> None:
    script = """
import sys
import tomllib
import mercer
heavy = {"dask", "matplotlib", "numpy", "pandas", "rich", "scipy", "sklearn", "skops", "typer"}
print(sorted(heavy & set(sys.modules)))
print(sorted(set(mercer.__all__) - set(dir(mercer))))
print(mercer.kernels.__name__, mercer.alignment.__name__)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "[]", "mercer.kernels alignment"]


def test_names_that_the_package_lacks_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'Kernel'"):
        _ = mercer.Kernel  # type: ignore[attr-defined]


def test_classifiers_are_the_systems_and_versions_that_workflows_test() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    versions = re.findall(r'"(3\.\d+)"', workflow)
    named = [c.split(" :: ") for c in project["classifiers"]]
    assert {c[-1] for c in named if re.fullmatch(r"3\.\d+", c[-1])} == set(versions)
    systems = {"Linux": "ubuntu", "MacOS": "macos", "Windows": "windows"}
    found = {systems[c[-1]] for c in named if c[0] == "Operating System"}
    assert found == set(re.findall(r"(\w+)-latest", workflow))


def test_the_citation_and_the_security_policy_name_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {mercer.__version__}\n" in citation
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    supported = re.findall(r"^\| ([\d.]+) \| yes \|$", policy, re.MULTILINE)
    assert supported == [mercer.__version__.rpartition(".")[0]]
