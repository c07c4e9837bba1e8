"""The attributes that saved models may have are those that classes set, and no others."""

import ast
import importlib
import json
import pkgutil
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_file_cases import members_of, nodes, refusal, with_schema
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import mercer
import mercer_command
from mercer._files import fitted_attributes
from mercer._files.fitted_attributes import known_attributes
from mercer._files.model_types import _OF_SKRUB, _class_named, _sklearn_names, is_trusted
from mercer.datasets import make_sine

X, Y = make_sine(40, random_state=0)
TABLE = np.column_stack([np.abs(X), np.arange(40) % 3])
TAG = "<b>tag</b>"


def trusted_classes(package: Any) -> list[type]:
    """Classes of a package whose objects models may hold."""
    found = []
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for kind in vars(importlib.import_module(info.name)).values():
            if isinstance(kind, type) and kind.__module__ == info.name:
                found.append(kind)
    return [
        kind for kind in found if is_trusted("ObjectNode", f"{kind.__module__}.{kind.__name__}")
    ]


OWN = [*trusted_classes(mercer), *trusted_classes(mercer_command)]
OF_SKLEARN: list[Any] = [_class_named(name) for name in sorted(_sklearn_names())]


@cache
def sources(path: str) -> dict[str, ast.ClassDef]:
    """The classes of a file, by name."""
    found = ast.walk(ast.parse(Path(path).read_text(encoding="utf-8")))
    return {node.name: node for node in found if isinstance(node, ast.ClassDef)}


@cache
def assigned(kind: type) -> set[str]:
    """Names of the attributes that the source of a class assigns to its objects."""
    tree = sources(str(sys.modules[kind.__module__].__file__))[kind.__name__]
    stores = [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ]
    return {
        f"_{kind.__name__}{name}" if name[:2] == "__" and name[-2:] != "__" else name
        for name in stores
    }


@pytest.mark.parametrize("kinds", [OWN, OF_SKLEARN], ids=["mercer", "scikit-learn"])
def test_what_classes_assign_is_known(kinds: list[type]) -> None:
    of_callbacks = re.compile("_callback|_skl_|_lock|_metadata_request")
    assert len(kinds) > 50
    for kind in kinds:
        for base in kind.__mro__:
            if base.__module__.partition(".")[0] in ("mercer", "mercer_command", "sklearn"):
                others = assigned(base) - known_attributes(kind)
                assert not [name for name in others if not of_callbacks.match(name)], base


def test_what_functions_assign_is_known() -> None:
    """Results that are set from outside of a class."""
    known = {name for kind in OWN for name in known_attributes(kind)}
    for package in (mercer, mercer_command):
        for path in Path(package.__path__[0]).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    of_other = ast.unparse(node.value) != "self" and node.attr[0] != "_"
                    is_result = of_other and node.attr.endswith("_")
                    assert not is_result or node.attr in known, (path.name, node.attr)


@pytest.mark.parametrize("listed", ["_OF_MERCER", "_OF_SKLEARN", "_OF_SKRUB"])
def test_no_class_and_no_name_is_listed_in_vain(listed: str) -> None:
    names: dict[str, str] = getattr(fitted_attributes, listed)
    of_skrub = [_class_named(name) for name in sorted(_OF_SKRUB)]
    others = {"_OF_SKLEARN": [*OF_SKLEARN, StandardScaler], "_OF_SKRUB": of_skrub}
    kinds: list[Any] = [*OWN, *others.get(listed, [])]
    bases = {base.__name__: base for kind in kinds for base in kind.__mro__}
    scorer = {"_PassthroughScorer", "PredefinedSplit"}
    assert not names.keys() - bases.keys() - (scorer if listed == "_OF_SKLEARN" else set())
    if listed == "_OF_MERCER":
        for name, attributes in names.items():
            source = Path(str(sys.modules[bases[name].__module__].__file__)).read_text()
            for attribute in {*attributes.split()} - {"C_", "alpha_"}:
                assert re.search(rf"\b{attribute}\b", source), (name, attribute)


def made(kind: Any) -> Any:
    """An estimator of scikit-learn."""
    steps = [("scaler", MinMaxScaler())]
    arguments: dict[str, Any] = {
        "ColumnTransformer": {"transformers": [(*steps[0], [0])]},
        "FeatureUnion": {"transformer_list": steps},
        "Pipeline": {"steps": steps},
        "FixedThresholdClassifier": {"estimator": LogisticRegression()},
        "TunedThresholdClassifierCV": {"estimator": LogisticRegression()},
        "GridSearchCV": {"estimator": LogisticRegression(), "param_grid": {"C": [1.0]}},
        "RandomizedSearchCV": {
            **{"estimator": LogisticRegression(), "param_distributions": {"C": [1.0]}},
            "n_iter": 1,
        },
        "HalvingGridSearchCV": {"estimator": LogisticRegression(), "param_grid": {"C": [1.0]}},
        "HalvingRandomSearchCV": {
            **{"estimator": LogisticRegression(), "param_distributions": {"C": [1.0]}},
            "n_candidates": 1,
        },
    }
    return kind(**arguments.get(kind.__name__, {}))


@pytest.mark.parametrize(
    "kind", [kind for kind in OF_SKLEARN if kind.__name__[0] not in "_B"], ids=lambda k: k.__name__
)
@pytest.mark.filterwarnings("ignore")
def test_estimators_of_scikit_learn_have_known_attributes(kind: Any) -> None:
    classes = np.asarray(Y > 0, dtype=int) + 1
    rows: dict[str, tuple[Any, ...]] = {
        "KernelCenterer": (TABLE @ TABLE.T,),
        "LabelBinarizer": (classes,),
        "LabelEncoder": (classes,),
        "MultiLabelBinarizer": ([[1, 2], [3]],),
    }
    several = np.column_stack([classes, classes]).astype(float)
    usual = TABLE, several if kind.__name__.startswith("MultiTask") else classes
    model = made(kind).fit(*rows.get(kind.__name__, usual))
    assert not vars(model).keys() - known_attributes(kind)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a search in a pipeline."""
    path = tmp_path_factory.mktemp("models") / "model.skops"
    search = GridSearchCV(mercer.TwoStageClassifier(C=1.0), {"C": [1.0]}, cv=2)
    scaled = ColumnTransformer([("scaled", FeatureUnion([("a", StandardScaler())]), [0, 1])])
    mercer.save(make_pipeline(scaled, search).fit(TABLE, Y), path)
    return path


@pytest.mark.parametrize(
    "name",
    [
        *("__doc_link_template", "_doc_link_template", "_doc_link_module", "_repr_html_"),
        *("_doc_link_url_param_generator", "_estimator_type", "_parameter_constraints", "note"),
        *("_repr_mimebundle_", "_html_repr", "note_", "_note", "", "__dict__", "__class__"),
    ],
)
@pytest.mark.parametrize(
    "kind", ["Pipeline", "StandardScaler", "GridSearchCV", "TwoStageClassifier", "WeightedSum"]
)
def test_other_attributes_are_refused(pipeline: Path, changed: Path, kind: str, name: str) -> None:
    def add(schema: Any) -> None:
        node = next(node for node in nodes(schema) if node["__class__"] == kind)
        state = node["content"]
        keys = state["key_types"]["content"]
        keys.append({**keys[0]})
        text = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
        state["content"][name] = {**text, "__id__": 2, "content": json.dumps(TAG), "is_json": True}

    with_schema(pipeline, changed, add)
    told = refusal(changed)
    assert "holds other attributes than those of '" in told
    assert told.endswith(f".{kind}': {name!r}")


@pytest.mark.parametrize("estimator", [StandardScaler(), mercer.TwoStageClassifier(C=1.0)])
def test_a_model_with_an_attribute_of_its_owner_is_not_saved(
    tmp_path: Path, estimator: BaseEstimator
) -> None:
    model = clone(estimator)
    model.note = "of its owner"
    with pytest.raises(ValueError, match=r"other attributes than those of .*: 'note'"):
        mercer.save(model, tmp_path / "model.skops")


def test_displays_of_forged_models_escape_text(saved: Path, changed: Path) -> None:
    """Each text or number of a model, replaced by a tag, is refused or shown as text."""

    def forge(schema: Any, place: int) -> int:
        texts = [node for node in nodes(schema) if node["__loader__"] == "JsonNode"]
        texts[place]["content"] = json.dumps(TAG)
        return len(texts)

    n_texts = forge(json.loads(members_of(saved)["schema.json"]), 0)
    n_shown = 0
    for place in range(n_texts):
        with_schema(saved, changed, lambda schema, place=place: forge(schema, place) and schema)
        try:
            shown = mercer.load(changed)._repr_html_()
        except (TypeError, ValueError):
            continue
        n_shown += 1
        assert TAG not in shown
    assert n_shown > 3
