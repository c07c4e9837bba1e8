"""What cannot be a learner or a predictor is refused with what to write instead."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from mercer import (
    ContinuousAlignment,
    MKLClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.arange(20) % 2


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (SVC(), r"got SVC\(\), which predicts .* predictor=SVC\(kernel='precomputed'\)"),
        (MKLClassifier(), r"which predicts and learns no kernel.*predictor=SVC\("),
        (Gaussian(2.0), r"a kernel: pass KernelOptimization\(Gaussian\(bandwidth=2.0\)\)"),
        ([Gaussian(1.0)], r"AlignmentMaximization\(\[...\]\) learns weights"),
        (ContinuousAlignment, r"the class ContinuousAlignment: write ContinuousAlignment\(\)"),
        (3, "has no methods `fit` and `transform`"),
    ],
)
def test_what_learns_no_kernel_is_refused(learner: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        TwoStageClassifier(learner).fit(X, Y)


def test_the_regressors_message_names_a_regressor() -> None:
    with pytest.raises(TypeError, match=r"got Ridge\(\).*predictor=SVR\(kernel='precomputed'\)"):
        TwoStageRegressor(Ridge()).fit(X, X[:, 0])


def test_a_kernels_name_is_no_learner() -> None:
    with pytest.raises(ValueError, match=r"got 'rbf'. UniformCombination\(\['rbf'\]\)"):
        TwoStageClassifier("rbf").fit(X, Y)


@pytest.mark.parametrize("predictor", [SVC, "svc"])
def test_what_is_no_predictor_is_refused(predictor: Any) -> None:
    with pytest.raises(TypeError, match=r"must be an estimator, such as SVC\(kernel='precomp"):
        TwoStageClassifier(predictor=predictor).fit(X, Y)
    with pytest.raises(TypeError, match=r"must be an estimator, such as SVR\(kernel='precomp"):
        TwoStageRegressor(predictor=predictor).fit(X, Y)


@pytest.mark.parametrize("learner", [None, UniformCombination(), "auto"])
@pytest.mark.parametrize("kind", [TwoStageClassifier, TwoStageRegressor])
def test_messages_of_tables_name_the_estimator(kind: Any, learner: Any) -> None:
    with pytest.raises(ValueError, match=rf"X has 0 rows \(0 samples\): {kind.__name__} needs"):
        kind(learner).fit(X[:0], Y[:0])
    model = kind(UniformCombination()).fit(X, Y)
    with pytest.raises(ValueError, match=f"X has 1 features, but {kind.__name__} is expecting 2"):
        model.predict(X[:, :1])


@pytest.mark.parametrize("learner", [None, "auto"])
def test_missing_values_name_the_estimator_and_what_helps(learner: Any) -> None:
    table = X.copy()
    table[0, 0] = np.nan
    with pytest.raises(ValueError, match="TwoStageClassifier does not accept missing") as error:
        TwoStageClassifier(learner).fit(table, Y)
    assert "mercer.preprocessing.table_encoder()" in str(error.value)


def test_a_path_is_no_table() -> None:
    with pytest.raises(TypeError, match=r"got the path 't.parquet'. ParquetSource\('t.parquet',"):
        TwoStageClassifier().fit("t.parquet", Y)
