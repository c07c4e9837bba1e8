"""Compressed models as estimators, files, and what is refused; one row, and several threads."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pandas as pd
import pytest
from deployment_cases import (
    N,
    fitted,
    responses,
    rows,
    tree_stack,
)
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
    compress,
)
from mercer._data.folds import sample_rows
from mercer._files.deployment import compressed
from mercer._files.deployment.compressed import (
    CompressedClassifier,
    CompressedRegressor,
)
from mercer.kernels import Gaussian

pytestmark = [
    pytest.mark.filterwarnings("ignore:With .* centers, the error grows"),
    pytest.mark.usefixtures("few_folds_throughout"),
]

X, NEW = rows()[:N], rows()[N:]
MANY = rows(800, seed=5)
LEARNER = UniformCombination([Gaussian(2.0)])


class TestNumberOfCenters:
    def test_one_center_is_a_constant_and_its_loss_says_so(self) -> None:
        small = compress(fitted("regression", "two-stage"), NEW, n_components=1)
        assert np.ptp(small.predict(X)) < 1e-12
        assert small.loss_ > 0.5

    def test_auto_takes_as_few_centers_as_are_enough(self) -> None:
        smooth, rough = (fitted("regression", name) for name in ("two-stage", "two-stage, scans"))
        assert len(compress(smooth, MANY).rows_per_center_) <= 100
        small = compress(rough, MANY)
        n_centers = len(small.rows_per_center_)
        assert n_centers > 100
        fewer = compress(rough, MANY, n_components=100)
        assert fewer.loss_ + fewer.loss_std_ > 0.01
        assert small.loss_ < fewer.loss_

    @pytest.mark.parametrize(("n_kernels", "most"), [(1, 3200), (2, 1600), (3, 800), (6, 400)])
    def test_several_kernels_share_the_largest_number_of_centers(
        self, n_kernels: int, most: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """At most 4096 centers are tried for all kernels together, here without a fit to them."""
        tried: list[int] = []

        def counted(function: Any, views: Any, values: Any, number: int) -> Any:
            tried.append(number)
            return replace(function, terms=function.terms * n_kernels), values, np.ones(number)

        monkeypatch.setattr(compressed, "with_few_centers", counted)
        monkeypatch.setattr(compressed, "relative_growth", lambda *_: (1.0, 0.0))
        compress(fitted("regression", "two-stage"), rows(6400, seed=5))
        assert tried[-1] == most

    def test_a_large_growth_is_said(self, recwarn: pytest.WarningsRecorder) -> None:
        model = fitted("regression", "two-stage, scans")
        compress(model, NEW, n_components=10)
        assert not recwarn.list
        with pytest.warns(UserWarning, match=r"With \d+ centers, the error grows by \d+"):
            compress(model, NEW)

    def test_the_least_loss_with_its_standard_error_is_kept(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = fitted("regression", "two-stage")
        expected = compress(model, NEW, n_components=5).predict(X)
        monkeypatch.setattr(compressed, "_NUMBERS", (5, 10, 15))
        stated = iter([(0.3, 0.0), (0.1, 0.3), (0.35, 0.0)])
        monkeypatch.setattr(compressed, "relative_growth", lambda *_: next(stated))
        small = compress(model, NEW)
        assert (small.loss_, small.loss_std_) == (0.3, 0.0)
        assert_array_equal(small.predict(X), expected)

    def test_a_sample_is_used_of_many_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model, y = fitted("regression", "two-stage"), responses(NEW)
        some = sample_rows(N, 40, None, 0)
        expected = compress(model, NEW[some], y[some], 10)
        monkeypatch.setattr(compressed, "_MOST_ROWS", 40)
        found = compress(model, NEW, y, 10)
        assert found.loss_ == expected.loss_ != compress(model, NEW[:40], y[:40], 10).loss_
        assert_array_equal(found.predict(X), expected.predict(X))

    def test_noise_is_compressed_to_almost_nothing(self) -> None:
        y = np.random.default_rng(3).normal(size=N)
        model = TwoStageRegressor(LEARNER, alpha=[1e3]).fit(X, y)
        assert compress(model, X).loss_ < 0.01


EXPECTED = {
    "check_classifiers_one_label_sample_weights": "Weights are a parameter of the model's fit.",
}


class TestEstimators:
    @parametrize_with_checks(
        [
            CompressedRegressor(TwoStageRegressor(LEARNER, alpha=0.1), n_components=50),
            CompressedClassifier(TwoStageClassifier(LEARNER, C=1.0), n_components=50),
        ],
        expected_failed_checks=lambda _: EXPECTED,
    )
    def test_checks_of_scikit_learn(self, estimator: Any, check: Any) -> None:
        check(estimator)

    def test_fit_is_a_fit_of_the_model_that_is_compressed(self) -> None:
        y = responses(X)
        small = CompressedRegressor(TwoStageRegressor(LEARNER, alpha=0.1), n_components=20)
        weights = np.random.default_rng(0).uniform(1.0, 2.0, N)
        model = TwoStageRegressor(LEARNER, alpha=0.1).fit(X, y, sample_weight=weights)
        expected = compress(model, X, n_components=20)
        found = small.fit(X, y, sample_weight=weights)
        assert_array_equal(found.predict(NEW), expected.predict(NEW))
        assert found.loss_ == expected.loss_
        assert expected.get_params(deep=False)["n_components"] == 20

    def test_the_number_of_centers_can_be_searched(self) -> None:
        small = compress(fitted("regression", "two-stage"), X, n_components=5)
        search = GridSearchCV(small, {"n_components": [1, 15]}, cv=2).fit(X, responses(X))
        assert search.best_params_ == {"n_components": 15}
        assert compress(search, X, n_components=10).predict(X).shape == (N,)

    def test_pipelines_keep_their_steps(self) -> None:
        model = make_pipeline(StandardScaler(), TwoStageRegressor(alpha=0.1))
        model.fit(10.0 * X, responses(X))
        small = compress(model, 10.0 * NEW, responses(NEW), n_components=20)
        assert small[0] is model[0]
        assert type(small[-1]) is CompressedRegressor
        assert np.corrcoef(small.predict(10.0 * X), model.predict(10.0 * X))[0, 1] > 0.95

    def test_columns_are_checked_as_by_the_model(self) -> None:
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = TwoStageRegressor(LEARNER, alpha=0.1)
        small = compress(model.fit(frame, responses(X)), frame, n_components=20)
        assert small.feature_names_in_.tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="feature names should match"):
            small.predict(frame[["b", "a", "c"]])

    @pytest.mark.parametrize("name", ["regressor", "classifier", "trees"])
    def test_saved_models_predict_the_same(self, name: str, tmp_path: Path) -> None:
        model = {
            "regressor": partial(fitted, "regression", "two-stage, every kernel"),
            "classifier": partial(fitted, "three classes", "one-stage"),
            "trees": tree_stack,
        }[name]()
        small = compress(model, MANY, n_components=20)
        mercer.save(small, tmp_path / "model.skops")
        loaded = mercer.load(tmp_path / "model.skops")
        assert_array_equal(loaded.predict(NEW), small.predict(NEW))
        assert loaded.loss_ == small.loss_
        assert (tmp_path / "model.skops").stat().st_size < 1_000_000

    def test_classes_are_those_of_the_largest_score(self) -> None:
        for task in ("two classes", "three classes"):
            small = compress(fitted(task, "two-stage"), X, n_components=20)
            scores, chosen = small.decision_function(NEW), small.predict(NEW)
            assert small.predict_proba(NEW).shape == (N, len(small.classes_))
            assert_array_equal(small.classes_[small.predict_proba(NEW).argmax(axis=1)], chosen)
            codes = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
            assert_array_equal(small.classes_[codes], chosen)
        assert not hasattr(compress(fitted("two classes", "Bayesian"), X), "predict_proba")


class TestRefusals:
    def test_models_that_cannot_be_compressed(self) -> None:
        with pytest.raises(NotFittedError):
            compress(TwoStageRegressor(), X)
        with pytest.raises(NotFittedError):
            CompressedRegressor(TwoStageRegressor()).predict(X)
        with pytest.raises(TypeError, match="predicts nothing"):
            compress(UniformCombination().fit(X, responses(X)), X)
        with pytest.raises(TypeError, match="Ridge cannot be compressed: it is not an estimator"):
            compress(Ridge().fit(X, responses(X)), X)
        stack = np.stack([X @ X.T], axis=2)
        model = TwoStageRegressor(UniformCombination("precomputed"), alpha=0.1)
        with pytest.raises(TypeError, match="precomputed Gram matrices"):
            compress(model.fit(stack, responses(X)), stack)

    @pytest.mark.parametrize("n_components", [0, 1.5, "few"])
    def test_numbers_of_centers(self, n_components: Any) -> None:
        with pytest.raises((ValueError, TypeError), match="n_components must be"):
            compress(fitted("regression", "two-stage"), X, n_components=n_components)

    def test_too_few_rows(self) -> None:
        with pytest.raises(ValueError, match="minimum of 4"):
            compress(fitted("regression", "two-stage"), X[:3])


MODELS: dict[str, Any] = {
    "two-stage": partial(fitted, "regression", "two-stage, projections"),
    "Nyström": partial(fitted, "regression", "two-stage, Nyström"),
    "one-stage": partial(fitted, "regression", "one-stage"),
    "Bayesian": partial(fitted, "two classes", "Bayesian"),
    "stack": partial(fitted, "two classes", "stacking"),
    "trees": tree_stack,
    "compressed": lambda: compress(tree_stack(), rows(400, seed=5), n_components=20),
}
every_model = pytest.mark.parametrize("name", MODELS)


def validations(model: Any) -> int:
    """How often a prediction validates its row; machines of scikit-learn validate kernel values."""
    found = []

    def record(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is check_array.__code__:
            found.extend([frame] * (np.shape(frame.f_locals["array"]) == (1, NEW.shape[1])))

    model.predict(NEW[:1])  # What is computed once is not counted.
    before = sys.getprofile()
    sys.setprofile(record)
    try:
        model.predict(NEW[:1])
    finally:
        sys.setprofile(before)
    return len(found)


@every_model
def test_rows_are_validated_once(name: str) -> None:
    assert validations(MODELS[name]()) == 1


@every_model
def test_threads_predict_what_one_does(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    mercer.save(model, tmp_path / "model.skops")
    expected = model.predict(NEW)
    # No thread has used it before, so that what is computed once is computed by several.
    fresh, together = mercer.load(tmp_path / "model.skops"), Barrier(8)

    def predict(_: int) -> list[np.ndarray]:
        together.wait()
        return [fresh.predict(NEW) for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        for each in pool.map(predict, range(8)):
            assert_array_equal(each, [expected] * 5)
