"""Every method by its name on the command line: fitted, saved, compared, or rejected."""

from pathlib import Path

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
from mercer_command.files import load_model
from mercer_command.methods import COMPARED, LEARNERS, METHODS, unsuitable
from mercer_command.pipelines import make_model
from mercer_command.problem import as_problem

ONE_STAGE = ("mkl", "mkl-2", "cr")
SEARCHED = {"mkl": WeightStep, "cr": MixingStep}
"""Methods whose penalty is searched for, and the records of their steps."""


def half(turn: int) -> list[str]:
    """Learners of a task: every second one, as the others are fitted to the other task."""
    return [
        name for name in LEARNERS if name in {*LEARNERS[turn::2], *SEARCHED, "stacking", "bayes"}
    ]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command in an empty folder that holds two tables."""
    monkeypatch.chdir(tmp_path)
    class_table().to_csv("classes.csv", index=False)
    response_table().to_csv("responses.csv", index=False)
    return done


class TestFit:
    @pytest.mark.parametrize("learner", half(0))
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

    @pytest.mark.parametrize("learner", half(1))
    def test_responses_are_predicted(self, run: Run, learner: str) -> None:
        arguments = ("--target", "y", "--learner", learner, "--out", "m.skops")
        report = ("--report", "r.html") if learner in SEARCHED else ()
        run("fit responses.csv", *arguments, *report)
        if report:
            assert METHODS[learner].description in Path("r.html").read_text(encoding="utf-8")
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
        assert "Its 90% intervals hold " in result.said
        model = load_model(Path("m.skops"))
        page = " ".join(Elements("r.html").text.split())
        assert all(candidate.description in page for candidate in model[-1].candidates_)
        arguments = ("predict", "m.skops", "t.csv", "--out", "p.csv")
        run(*arguments, "--interval", 0.9)
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
        assert isinstance(model[-1].learner_, GradientOuterProduct)

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
        options = "--repeats 1 --csv c.csv --report r.html"
        result = run(f"compare half.csv --target kind {options}")
        assert max(map(len, result.stdout.splitlines())) <= 80
        figures = pd.read_csv("c.csv")
        assert sorted(figures["method"]) == sorted(COMPARED)
        assert {*ONE_STAGE, "grid", "boosting", "linear"} <= set(figures["method"])
        learns = figures["method"].isin(LEARNERS)
        assert figures["test_alignment"][learns].between(0, 1).all()
        assert figures["test_alignment"][~learns].isna().all()
        assert "one-stage" in Path("r.html").read_text(encoding="utf-8")


def test_methods_of_the_other_task_are_refused(run: Run) -> None:
    line = error_line("compare classes.csv --target kind --methods ca,count")
    assert "count is not for classification; choose from stacking, linear, " in line
    assert "there is no learner 'count'" in error_line(
        "fit classes.csv --target kind --learner count"
    )


def test_a_method_rejects_too_many_rows() -> None:
    problem = as_problem(class_table(), "kind")
    assert not unsuitable("ca", problem, 10**6)
    for name, most in (("bayes", 2000), ("mkl", 10_000), ("ordinal", 5000)):
        assert not unsuitable(name, problem, most)
        reason = unsuitable(name, problem, most + 1)
        assert f"learn from {most + 1:,} rows; it is for at most {most:,}" in reason
        assert ("; --task classification learns from more" in reason) == (name == "ordinal")
