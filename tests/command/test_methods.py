"""Every method by its name on the command line: fitted, saved, compared, or rejected."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import (
    Elements,
    Run,
    class_table,
    done,
    error_line,
    pd,
    read_table,
    response_table,
)
from sklearn.exceptions import FitFailedWarning

from mercer import GradientOuterProduct
from mercer._estimators.two_stage.kernel_choice import FORMS
from mercer._search.records import MixingStep, WeightStep
from mercer_command.comparison import comparison_table
from mercer_command.files import load_model
from mercer_command.importances import column_relevances
from mercer_command.messages import InputError
from mercer_command.methods import METHODS, check_size, feasible, is_installed
from mercer_command.names import COMPARED, DESCRIPTIONS, LEARNERS, OTHERS
from mercer_command.pipelines import make_model
from mercer_command.problem import as_problem

ONE_STAGE = ("mkl", "mkl-2", "cr")
SEARCHED = {"mkl": WeightStep, "cr": MixingStep}
"""Methods whose penalty is searched for, and the records of their steps."""


def learners(task: Any) -> list[str]:
    return [name for name in LEARNERS if task in METHODS[name].makers]


def half(task: Any, turn: int) -> list[str]:
    """Learners of a task: every second one, as the others are fitted to the other task."""
    chosen = {*LEARNERS[turn::2], *SEARCHED, "stacking", "bayes", "l1-svm", "l2-krr"}
    return [name for name in learners(task) if name in chosen]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command in an empty folder that holds two tables."""
    monkeypatch.chdir(tmp_path)
    class_table().to_csv("classes.csv", index=False)
    response_table().to_csv("responses.csv", index=False)
    return done


class TestFit:
    @pytest.mark.parametrize("learner", half("classification", 0))
    def test_classes_are_predicted(self, run: Run, learner: str) -> None:
        arguments = ("--target", "kind", "--learner", learner, "--out", "m.skops", "--details")
        result = run("fit classes.csv", *arguments)
        assert f"Kernels found by {learner} " in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 80
        run("predict m.skops classes.csv --out p.csv")
        predicted, table = pd.read_csv("p.csv"), read_table(Path("classes.csv"))
        probabilities = predicted.filter(regex="^probability_")
        assert len(probabilities.columns) == 2
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
        # The classes overlap: the best possible rule is right on 87 of 100 rows.
        assert (predicted["prediction"] == table["kind"]).mean() > 0.8
        model = load_model(Path("m.skops"))
        np.testing.assert_allclose(probabilities, model.predict_proba(table), atol=5.1e-5)
        if learner in SEARCHED:
            tried = np.asarray(model[-1].cv_results_["param_C"], dtype=float)
            np.testing.assert_allclose(tried, [0.1, 1.0, 10.0, 100.0])
            assert model[-1].best_params_["C"] in tried
            steps = model[-1].best_estimator_.history_
            assert all(type(step) is SEARCHED[learner] for step in steps)

    @pytest.mark.parametrize("learner", half("regression", 1))
    def test_responses_are_predicted(self, run: Run, learner: str) -> None:
        arguments = ("--target", "y", "--learner", learner, "--out", "m.skops")
        report = ("--report", "r.html") if learner in SEARCHED else ()
        run("fit responses.csv", *arguments, *report)
        if report:
            page = Path("r.html").read_text(encoding="utf-8")
            assert page.count("<svg") >= 7
            assert DESCRIPTIONS[learner] in page
            assert "Progress of the search after each step" in page
        run("predict m.skops responses.csv --out p.csv")
        errors = pd.read_csv("p.csv")["prediction"] - pd.read_csv("responses.csv")["y"]
        if learner == "bayes":
            std = pd.read_csv("p.csv")["std"]
            assert (std > 0.0).all()
            assert (errors.abs() < 3.0 * std).mean() > 0.9
        # A response without noise, of variance 0.45.
        assert (errors**2).mean() < 0.02

    def test_a_stack_reports_its_candidates_and_predicts_intervals(self, run: Run) -> None:
        response_table().assign(noise=np.tile([0.0, 1.0, 3.0, 2.0, 7.0], 14)).to_csv("t.csv")
        result = run("fit t.csv --target y --out m.skops --report r.html --details")
        assert max(map(len, result.stdout.splitlines())) <= 80
        assert "responses in 90% intervals" in result.stdout
        model = load_model(Path("m.skops"))
        page = " ".join(Elements("r.html").text.split())
        assert "Coverage of 90% intervals by width" in page
        assert all(candidate.description in page for candidate in model[-1].candidates_)
        arguments = ("predict", "m.skops", "t.csv", "--out", "p.csv")
        run(*arguments, "--intervals")
        wide = pd.read_csv("p.csv")
        run(*arguments, "--interval", 0.8)
        predicted, y = pd.read_csv("p.csv"), response_table()["y"]
        assert list(predicted) == list(wide) == ["prediction", "lower", "upper"]
        assert (wide["lower"] < predicted["lower"]).all()
        assert predicted["prediction"].between(predicted["lower"], predicted["upper"]).all()
        assert y.between(predicted["lower"], predicted["upper"]).mean() >= 0.8
        expected = model[-1].predict_interval(model[:-1].transform(pd.read_csv("t.csv")), 0.8)
        np.testing.assert_allclose(predicted[["lower", "upper"]], expected)

    def test_an_automatic_choice_is_saved_and_reported(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        choice = "mercer._estimators.two_stage.two_stage.choose_form"
        monkeypatch.setattr(choice, lambda *_: FORMS[-1])
        run("fit responses.csv --target y --learner auto --out m.skops --report r.html")
        model = load_model(Path("m.skops"))
        learner = model[-1].learner_
        assert isinstance(learner, GradientOuterProduct)
        # Columns have relevances unless the kernel has one width.
        differs = bool(np.ptp(learner.kernel_.relevance(learner.n_features_in_)) > 0.0)
        assert np.isnan(list(column_relevances(model).values())).any() != differs

    @pytest.mark.parametrize("name", [*ONE_STAGE, "grid"])
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
    @pytest.mark.filterwarnings("ignore:The least populated class")
    @pytest.mark.filterwarnings("ignore:The least populated class")
    def test_a_fold_with_one_class_does_not_influence_the_choice(self, name: str) -> None:
        problem = as_problem(class_table(), "kind")
        # The second class has one row only: the fold that holds it out has one class to learn from.
        rows = np.array([*range(25), 60])
        model = make_model(name, problem, rows)
        with pytest.warns(FitFailedWarning):
            model.fit(problem.features.iloc[rows], problem.target[rows])
        scores = model[-1].cv_results_["mean_test_score"]
        assert np.isfinite(scores).all()
        assert scores.max() > 0.7
        assert model[-1].best_score_ == scores.max()


class TestCompare:
    def test_suitable_methods_are_compared_by_default(self, run: Run) -> None:
        class_table()[::2].to_csv("half.csv", index=False)
        options = "--repeats 1 --csv c.csv --report r.html --minutes 60"
        result = run(f"compare half.csv --target kind {options}")
        assert max(map(len, result.stdout.splitlines())) <= 80
        figures = pd.read_csv("c.csv")
        assert sorted(figures["method"]) == sorted(filter(is_installed, COMPARED))
        assert {*ONE_STAGE, "grid", "boosting", "linear"} <= set(figures["method"])
        learns = ~figures["method"].isin(set(OTHERS) - {"grid"})
        assert figures["test_alignment"][learns].between(0, 1).all()
        assert figures["test_alignment"][~learns].isna().all()
        assert "one-stage" in Path("r.html").read_text(encoding="utf-8")


def test_learners_of_the_other_task_are_refused(run: Run) -> None:
    line = error_line("fit classes.csv --target kind --learner l2-krr")
    assert "not for classification: 'l2-krr'; choose from stacking, " in line
    offered = line.split("choose from ")[1].strip().split(", ")
    assert offered == learners("classification")
    line = error_line("compare classes.csv --target kind --methods ca,l2-krr")
    assert "not for classification: 'l2-krr'" in line


def test_packages_that_are_absent_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer_command.methods.find_spec", lambda name: None)
    line = error_line("compare responses.csv --target y --methods lightgbm")
    assert "lightgbm is not installed; install it with pip install lightgbm" in line


def test_a_method_rejects_too_many_rows() -> None:
    check_size(["bayes", "ca"], 2000)
    assert feasible(["bayes", "ca"], 2001) == ["ca"]
    with pytest.raises(InputError, match=r"bayes .* 2,001 rows; it is for at most 2,000"):
        check_size(["ca", "bayes"], 2001)
    check_size(["ordinal", "count"], 5000)
    with pytest.raises(InputError, match="at most 5,000; --task regression learns from more"):
        check_size(["count"], 5001)


def test_methods_are_ordered_by_ranks_which_equal_errors_share() -> None:
    # The first method is the second on one split of two; deviations are those of a sample.
    errors = np.array([[0.1, 0.2], [0.1, 0.1], [0.3, 0.3]])
    table = comparison_table(list("abc"), errors, errors, errors)
    assert table["method"].tolist() == ["b", "a", "c"]
    np.testing.assert_allclose(table["rank"], [1.25, 1.75, 3.0], rtol=1e-15)
    np.testing.assert_allclose(table["error_std"], [0.0, 0.1 / np.sqrt(2.0), 0.0])
