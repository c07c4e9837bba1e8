"""Estimators of other packages in the stack: --with NAMES."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Elements, class_table, done, error_line, pd, response_table, write_folder
from sklearn.neighbors import KNeighborsClassifier

from mercer_command.members import named_members

NEIGHBORS = "sklearn.neighbors:KNeighborsClassifier"


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    class_table().to_csv("classes.csv", index=False)
    response_table().to_csv("responses.csv", index=False)


def test_the_report_names_members_and_their_weights() -> None:
    others = f"{NEIGHBORS}, sklearn.naive_bayes:GaussianNB"
    found = done("fit classes.csv --target kind --report r.html --with", others)
    assert "note: weights in the stack, whose sum is 1: KNeighborsClassifier 0." in found.noted
    weights = [float(word) for word in found.noted.replace(",", "").split() if word[:2] == "0."]
    assert len(weights) == 2
    assert 0.0 < sum(weights) < 1.0
    page = " ".join(Elements("r.html").text.split())
    assert "KNeighborsClassifier" in page
    assert "GaussianNB" in page
    assert f"--with '{others}'" in page
    assert "The model holds KNeighborsClassifier and GaussianNB: files of models hold" in page
    assert "mercer.load" not in page


def test_members_that_files_may_hold_are_saved() -> None:
    name = "sklearn.linear_model:Ridge"
    done("fit responses.csv --target y --out m.skops --report r.html --with", name)
    assert "mercer.load" in Elements("r.html").text
    done("predict m.skops responses.csv --out p.csv --interval 0.9")
    predicted = pd.read_csv("p.csv")
    assert ((predicted["prediction"] - response_table()["y"]) ** 2).mean() < 0.02
    assert "Ridge" in done("explain m.skops responses.csv --details").said


def test_members_of_tables_that_are_read_in_parts() -> None:
    frame = pd.concat(
        [class_table().assign(height=lambda t, k=k: t["height"] + k / 9) for k in range(5)],
        ignore_index=True,
    )
    write_folder(frame, Path("folder"))
    found = done("fit folder --target kind --with", NEIGHBORS)
    assert "whose sum is 1: KNeighborsClassifier 0." in found.noted


def test_a_member_that_fails_is_named() -> None:
    found = done("fit classes.csv --target kind --with sklearn.naive_bayes:MultinomialNB")
    assert "The candidate 'MultinomialNB' is left out: Negative values" in found.noted
    assert "MultinomialNB none" in found.noted


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no_such_package:One", "the package 'no_such_package' is missing; install what holds it"),
        ("sklearn.svmm:SVC", "there is no module 'sklearn.svmm'"),
        ("sklearn.svm:svc", "sklearn.svm has no 'svc' (did you mean 'SVC'?)"),
        ("catbost", "no estimator 'catbost' (did you mean 'catboost'?); choose from catboost, "),
        ("math:sin", "sin is no class of estimators"),
        ("pathlib:Path", "Path is no class of estimators"),
        ("sklearn.cluster:KMeans", "KMeans is neither a classifier nor a regressor"),
        ("sklearn.preprocessing:StandardScaler", "is neither a classifier nor a regressor"),
        ("sklearn.ensemble:VotingClassifier", "VotingClassifier cannot be made without arguments"),
        (",", "--with names no estimator; choose from catboost, lightgbm, or name a class"),
        (f"{NEIGHBORS} --learner ca", "adds members to the stack, and ca is none"),
        (f"{NEIGHBORS} --task ordinal", "adds members to the stack, and ordinal is none"),
        (f"{NEIGHBORS} --out m.skops", "--out cannot save KNeighborsClassifier: files of models"),
        (f"{NEIGHBORS} --out m.skops", 'candidates=["default", KNeighborsClassifier()]'),
    ],
)
def test_refusals_come_before_the_table_is_read(name: str, told: str) -> None:
    assert told in error_line(f"fit none.csv --target kind --with {name}")


def test_members_of_the_other_task_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer_command.models.fit", lambda *_, **__: pytest.fail("it was fitted"))
    line = error_line("fit responses.csv --target y --with", NEIGHBORS)
    assert "KNeighborsClassifier predicts classes, and the target is one of regression" in line
    line = error_line("fit classes.csv --target kind --with sklearn.svm:SVR")
    assert "name an estimator that predicts classes" in line


def test_members_are_made_with_the_seed() -> None:
    forest, neighbors = named_members(f"sklearn.ensemble:RandomForestClassifier,{NEIGHBORS}")
    made: Any = forest.estimator("classification", 7)
    assert made.random_state == 7
    assert isinstance(neighbors.estimator("classification", 7), KNeighborsClassifier)


@pytest.mark.parametrize("package", ["catboost", "lightgbm"])
def test_packages_with_a_name(package: str) -> None:
    try:
        __import__(package)
    except ImportError:
        line = error_line(f"fit none.csv --target kind --with {package}")
        assert f"'{package}' is missing; install it with pip install {package}" in line
        pytest.skip(f"{package} is not installed")
    before = {path.name for path in Path().iterdir()}
    for table, target in (("classes.csv", "kind"), ("responses.csv", "y")):
        found = done(f"fit {table} --target {target} --seed 3 --with {package}")
        assert "weights in the stack" in found.noted
        assert found.stdout.startswith(f"{target}: ")
    assert {path.name for path in Path().iterdir()} == before
    [member] = named_members(package)
    [again] = named_members(f"{package}:{type(member.makers['regression']).__name__}")
    made: Any = member.estimator("regression", 3)
    assert made.get_params() == again.estimator("regression", 3).get_params()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    assert made.get_params()["random_state"] == 3
    np.testing.assert_array_equal(made.fit(X, y).predict(X), made.fit(X, y).predict(X))
    line = error_line(f"fit none.csv --target y --out m.skops --with {package}")
    assert "--out cannot save" in line
