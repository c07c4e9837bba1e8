"""The attributes that saved models may have are those that classes set, and no others."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_file_cases import members_of, nodes, refusal, with_schema
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._stochastic_gradient import BaseSGD
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils import all_estimators

import mercer
from mercer._files.model_types import class_named, unfit_attribute
from mercer.datasets import make_sine

X, Y = make_sine(40, random_state=0)
TABLE = np.column_stack([np.abs(X), np.arange(40) % 3])
TAG = "<b>tag</b>"


def estimators_of_sklearn() -> list[Any]:
    """Trusted estimators of scikit-learn but those with losses, which are not saved."""
    names = [f"{kind.__module__}.{kind.__name__}" for _, kind in all_estimators()]
    found = [kind for name in names if name[:8] == "sklearn." and (kind := class_named(name))]
    return [kind for kind in found if not issubclass(kind, BaseSGD)]


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


@pytest.mark.parametrize("kind", estimators_of_sklearn(), ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore")
def test_estimators_of_scikit_learn_have_known_attributes(kind: Any) -> None:
    classes = np.asarray(Y > 0, dtype=int) + 1
    rows: dict[str, tuple[Any, ...]] = {
        "KernelCenterer": (TABLE @ TABLE.T,),
        "LabelBinarizer": (classes,),
        "LabelEncoder": (classes,),
        "MultiLabelBinarizer": ([[1, 2], [3]],),
        "TfidfVectorizer": (["some words", "more words"],),
    }
    several = np.column_stack([classes, classes]).astype(float)
    usual = TABLE, several if kind.__name__.startswith("MultiTask") else classes
    model = made(kind).fit(*rows.get(kind.__name__, usual))
    assert unfit_attribute(f"{kind.__module__}.{kind.__name__}", vars(model)) is None


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
        "__array_interface__",
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
        keys.append({"__id__": keys[0]["__id__"]})
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
        except (IndexError, TypeError, ValueError):
            continue
        n_shown += 1
        assert TAG not in shown
    assert n_shown > 3
