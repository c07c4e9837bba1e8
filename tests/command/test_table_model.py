"""Models of the command in Python: intervals within limits, and sets."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_cases import Elements, Run, class_table, error_line, pd
from numpy.testing import assert_allclose, assert_array_equal
from onnx_cases import compared
from sklearn.datasets import make_friedman1

import mercer
from mercer import KernelStackingRegressor
from mercer.inspection import default_metric, shapley_values
from mercer_command.logarithms import LogarithmicStack
from mercer_command.pipelines import make_model
from mercer_command.problem import as_problem
from mercer_command.table_model import TableModel, limits_of
from mercer_command.values import as_dates, format_dates


def bounded(
    limits: tuple[float, float, bool] | None, *ends: tuple[float, float]
) -> list[list[float]]:
    model = TableModel([("model", None)])
    model.limits_ = limits
    found: list[list[float]] = model.within_limits(ends).tolist()
    return found


def test_intervals_stay_within_their_limits() -> None:
    ends = (-1.5, 2.4), (0.2, 7.9), (-3.0, -1.0)
    assert bounded(None, *ends) == [[-1.5, 2.4], [0.2, 7.9], [-3.0, -1.0]]
    assert bounded((0.0, np.inf, False), *ends) == [[0.0, 2.4], [0.2, 7.9], [0.0, 0.0]]
    assert bounded((0.0, 1.0, False), *ends) == [[0.0, 1.0], [0.2, 1.0], [0.0, 0.0]]
    assert bounded((0.0, np.inf, True), *ends) == [[0.0, 2.0], [1.0, 7.0], [0.0, 0.0]]
    # No whole number is inside: the nearest one.
    assert bounded((0.0, np.inf, True), (2.6, 2.9)) == [[3.0, 3.0]]


def test_limits_are_those_of_the_kind_of_response() -> None:
    for y, limits in (
        ([-1.0, 2.5], (-np.inf, np.inf, False)),
        ([0.0, 2.5], (0.0, np.inf, False)),
        ([-3.0, -0.5], (-np.inf, 0.0, False)),
        ([0.25, 1.0], (0.0, 1.0, False)),
        ([0.0, 30.0], (0.0, np.inf, True)),
    ):
        assert limits_of(np.array(y)) == limits


def test_counts_have_no_negative_intervals(run: Run) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=160)
    frame = pd.DataFrame({"x": x, "visits": rng.poisson(np.exp(0.5 + x))})
    run("fit t.csv --target visits --task regression --learner uniform --out m.skops", table=frame)
    run("predict m.skops t.csv --out p.csv --interval 0.9")
    found = pd.read_csv("p.csv")[["lower", "upper"]].to_numpy()
    line = error_line("predict m.skops t.csv --out q.csv --interval 90")
    assert "coverage must be between 0 and 1, such as 0.9; got 90" in line
    assert found.min() == 0.0
    assert_array_equal(found, np.round(found))
    model = mercer.load("m.skops")
    assert_array_equal(model.predict_interval(pd.read_csv("t.csv", dtype=str)), found)
    assert not hasattr(model, "predict_set")


@pytest.mark.filterwarnings("ignore:.* of 80 sets are empty")
def test_sets_of_classes(run: Run) -> None:
    frame = class_table()
    run("fit t.csv --target kind --learner uniform --out m.skops", table=frame)
    model = mercer.load(Path("m.skops"))
    table = pd.read_csv("t.csv", dtype=str, keep_default_na=False)
    sets = model.predict_set(table, 0.9)
    assert sets.shape == (80, 2)
    columns = np.searchsorted(model.classes_, frame["kind"])
    assert sets[np.arange(80), columns].mean() > 0.8
    assert not hasattr(model, "predict_interval")


def test_predicted_days_become_the_nearest_date_as_it_was_read() -> None:
    days = np.array([19734.4, 19734.6, -0.6, -1.4, np.nan])
    nearest = ["2024-01-12", "2024-01-13", "1969-12-31", "1969-12-31", "NaT"]
    assert_array_equal(as_dates(days, "%d.%m.%Y"), np.array(nearest, "datetime64[D]"))
    assert format_dates(days[[0, 1, 4]], "%d.%m.%Y") == ["12.01.2024", "13.01.2024", ""]
    assert format_dates(np.array([19734.5]), "ISO8601") == ["2024-01-12T12:00:00"]


def test_times_are_those_that_were_read_to_the_second() -> None:
    """Days since 1970 are not exact, and are a little less than the time for some seconds."""
    times = np.datetime64("2024-01-12T00:00:00") + np.arange(86_400).astype("timedelta64[s]")
    days = (times - np.datetime64(0, "s")) / np.timedelta64(1, "D")
    assert (np.floor(days * 86_400e6) < np.round(days * 86_400e6)).any()
    assert_array_equal(as_dates(days, "ISO8601"), times)


def heavy(n: int = 200, seed: int = 0) -> pd.DataFrame:
    """Prices with a heavy tail."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": np.exp(8.0 + 1.2 * x + 0.3 * rng.normal(size=n)).round(2)})


def test_the_score_of_the_fit_is_that_of_explain(run: Run) -> None:
    heavy().to_csv("t.csv", index=False)
    narrow = heavy(60, 1).sort_values("y")[:20]  # These rows alone have no heavy tail.
    narrow.to_csv("narrow.csv", index=False)
    for options, score, title in (
        ((), "log_rmse", "Error (RMSE of the logarithms) of 20"),
        (("--metric", "mae"), "mae", "Error (mean absolute) of 20"),
        (("--metric", "r2"), "r2", "R² of 20"),
    ):
        run("fit t.csv --target y --learner uniform --out m.skops", *options)
        assert mercer.load("m.skops").metric_ == score
        assert title in run("explain m.skops narrow.csv").stdout


def test_the_fit_and_explain_agree_on_the_error_of_the_same_rows(run: Run) -> None:
    heavy().to_csv("t.csv", index=False)
    said = [
        run("fit t.csv --target y --no-refit --out m.skops").stdout,
        run("explain", "m.skops", "t.csv").stdout,
    ]
    errors = [re.search(r"model +(\d\.\d+) ", text[text.index("log-RMSE  ") :]) for text in said]
    assert errors[0] is not None
    assert errors[1] is not None
    assert errors[0][1] == errors[1][1]


def test_scores_that_are_not_defined_on_the_given_rows_are_replaced(run: Run) -> None:
    run("fit t.csv --target y --learner uniform --out m.skops", table=heavy())
    other = heavy(60, 1)
    other.loc[3, "y"] = -5.0
    other.to_csv("other.csv", index=False)
    result = run("explain m.skops other.csv --report r.html")
    assert "Error (RMSE) of 60 held-out rows" in result.stdout
    told = "The score of the fit is left out: log_rmse is for positive responses"
    assert told in Elements("r.html").text


def test_stacks_are_fitted_for_the_score_that_is_shown_first() -> None:
    """Responses with a heavy tail are learned as logarithms."""
    frame = heavy(120)
    problem = as_problem(frame, "y")
    rows = np.arange(len(frame))
    for metric, kind in (
        (None, LogarithmicStack),
        ("log_rmse", LogarithmicStack),
        ("mae", LogarithmicStack),
        ("rmse", KernelStackingRegressor),
    ):
        assert type(make_model("stacking", problem, rows, metric=metric)[-1]) is kind
    even = as_problem(frame.assign(y=np.log(frame["y"])), "y")
    for metric, shown, scoring in (
        (None, "rmse", None),
        ("mae", "mae", "neg_mean_absolute_error"),
    ):
        model = make_model("stacking", even, rows, metric=metric)
        assert (model.metric_, model[-1].scoring) == (shown, scoring)
        assert type(model[-1]) is KernelStackingRegressor
    assert type(make_model("stacking", even, rows, metric="log_rmse")[-1]) is LogarithmicStack
    # The responses of a table that is read in parts are not in memory.
    in_parts = make_model("stacking", replace(problem, n_rows=10**6), rows)
    assert type(in_parts[-1]) is KernelStackingRegressor


@pytest.mark.parametrize(
    ("method", "n_rows", "steps"),
    [
        ("stacking", None, ["reader", "model"]),
        ("auto", None, ["reader", "model"]),
        ("linear", None, ["reader", "columns", "model"]),
        # Rows of a source are encoded before the estimator sees them.
        ("auto", 10**6, ["reader", "columns", "model"]),
    ],
)
def test_estimators_encode_columns_themselves_if_they_can(
    method: str, n_rows: int | None, steps: list[str]
) -> None:
    table = class_table()
    problem = replace(as_problem(table, table.columns[-1]), n_rows=n_rows)
    rows = np.arange(len(problem.target))
    model = make_model(method, problem, rows)
    assert list(model.named_steps) == steps
    model.fit(problem.features, problem.target)
    encoded = model.encoder.transform(model["reader"].transform(problem.features))
    assert_array_equal(model.predictor.predict(encoded), model.predict(problem.features))


def test_the_model_of_all_rows_is_like_the_one_that_was_tested(run: Run) -> None:
    """The training rows alone have no heavy tail."""
    frame = heavy(60, 1)
    assert default_metric(frame["y"], "regression") == "log_rmse"
    assert "Error (RMSE) of" in run("fit t.csv --target y --out m.skops", table=frame).stdout
    model = mercer.load("m.skops")
    assert model.metric_ == "rmse"
    assert type(model[-1]) is KernelStackingRegressor


def test_intervals_of_heavy_tails_cover_small_and_large_predictions(run: Run) -> None:
    heavy(300).to_csv("t.csv", index=False)
    new = heavy(600, 1)
    new.to_csv("new.csv", index=False)
    run("fit t.csv --target y --out m.skops")
    assert isinstance(mercer.load("m.skops")[-1], LogarithmicStack)
    run("predict m.skops new.csv --out p.csv --interval 0.9")
    found = pd.read_csv("p.csv")
    inside = new["y"].between(found["lower"], found["upper"])
    thirds = np.array_split(inside.to_numpy()[np.argsort(found["prediction"])], 3)
    assert min(third.mean() for third in thirds) > 0.8
    width = np.log(found["upper"] / found["lower"])
    # The true interval of the noise has a width of 2 * 1.645 * 0.3 in logarithms.
    assert width.median() < 1.3


@pytest.fixture(scope="module")
def logarithmic() -> tuple[LogarithmicStack, np.ndarray, np.ndarray]:
    X, f = make_friedman1(200, n_features=5, random_state=0)
    y = np.exp(0.2 * f + 0.8 * np.random.default_rng(0).normal(size=200))
    return LogarithmicStack().fit(X, y), X, y


def test_a_stack_of_logarithms_predicts_responses(
    logarithmic: tuple[LogarithmicStack, np.ndarray, np.ndarray],
) -> None:
    model, X, y = logarithmic
    plain = KernelStackingRegressor().fit(X, np.log(y))
    assert_allclose(model.predict(X), np.exp(plain.predict(X)))
    assert_allclose(model.predict_interval(X, 0.8), np.exp(plain.predict_interval(X, 0.8)))
    assert_allclose(model.loo_predictions_, np.exp(plain.loo_predictions_))
    assert model.loo_score_ == plain.loo_score_
    far = np.full((1, 5), 1e6)
    assert_allclose(model.predict(far), np.exp(np.log(y).mean()))


def test_explanations_are_of_the_logarithm(
    logarithmic: tuple[LogarithmicStack, np.ndarray, np.ndarray],
) -> None:
    model, X, _ = logarithmic
    found = shapley_values(model, X[:4], background=X[:20])
    assert found.scale == "log response"
    assert_allclose(
        np.exp(found.values.sum(axis=1) + found.base_value), model.predict(X[:4]), rtol=1e-6
    )
    assert "multiplies the prediction by" in found.in_words(0)[0]
    told = re.fullmatch(
        r"Prediction ([\d.,]+) EUR, average row ([\d.,]+) EUR", found.headline(0, unit="EUR")
    )
    assert told is not None
    numbers = [float(number.replace(",", "")) for number in told.groups()]
    expected = [model.predict(X[:1])[0], np.exp(found.base_value)]
    assert_allclose(numbers, expected, rtol=5e-3)


def test_files_onnx_and_compression_predict_responses(
    logarithmic: tuple[LogarithmicStack, np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    model, X, _ = logarithmic
    new = make_friedman1(50, n_features=5, random_state=2)[0]
    mercer.save(model, tmp_path / "model.skops")
    loaded = mercer.load(tmp_path / "model.skops")
    assert_array_equal(loaded.predict(new), model.predict(new))
    assert_array_equal(loaded.predict_interval(new), model.predict_interval(new))
    compared(model, mercer.to_onnx(model, X), new, 1e-9)
    small = mercer.compress(model, X)
    differences = np.log(small.predict(new) / model.predict(new))
    assert np.sqrt(np.mean(differences**2)) < 0.2
