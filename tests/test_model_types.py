"""Types that a saved model may hold: derived from the package, and loaded as they were saved."""

import importlib
import pkgutil
from dataclasses import is_dataclass
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from model_file_cases import saved_and_loaded
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from test_common import ESTIMATORS

import mercer
from mercer import (
    EvidenceMaximization,
    ForestKernel,
    HSICClustering,
    KernelStackingRegressor,
    TwoStageClassifier,
    UniformCombination,
)
from mercer._files.model_types import UntrustedTypesError, class_named
from mercer.datasets import make_sine
from mercer.kernels import Gaussian, Linear, Missing
from mercer.preprocessing import table_encoder

pytestmark = pytest.mark.usefixtures("few_folds")

X, Y = make_sine(40, random_state=0)
X = np.column_stack([X, np.random.default_rng(0).normal(size=40)])
WITH_HOLES = np.where(np.arange(80).reshape(40, 2) % 13 == 0, np.nan, X)
MISSING = [Missing(Gaussian()), Missing(Linear())]
CASES: list[tuple[Any, Any]] = [
    *((estimator, X) for estimator in ESTIMATORS),
    (EvidenceMaximization(Missing(Gaussian()), max_iter=9), WITH_HOLES),
    (ForestKernel("forest", n_trees=3, min_samples_leaf=5), X),
    (KernelStackingRegressor(MISSING), WITH_HOLES),
    (TwoStageClassifier(UniformCombination(MISSING)), WITH_HOLES),
    (HSICClustering(kernel=Missing(Gaussian())), WITH_HOLES),
]


@pytest.mark.parametrize(
    ("estimator", "table"), CASES, ids=[type(estimator).__name__ for estimator, _ in CASES]
)
@pytest.mark.filterwarnings("ignore:No number of centers")
def test_every_estimator_is_loaded_as_it_was_saved(estimator: Any, table: np.ndarray) -> None:
    responses = np.exp(X[:, 1]).round() if is_regressor(estimator) else Y
    model = clone(estimator).fit(table, responses)
    loaded = saved_and_loaded(model)
    assert type(loaded) is type(model)
    for method in ("predict", "predict_proba", "transform"):
        if hasattr(model, method):
            found = getattr(loaded, method)(table)
            np.testing.assert_array_equal(found, getattr(model, method)(table))


def test_classes_of_the_package_are_trusted() -> None:
    """All that are estimators or dataclasses, where models may hold them."""
    for info in pkgutil.walk_packages(mercer.__path__, "mercer."):
        for kind in vars(importlib.import_module(info.name)).values():
            if not isinstance(kind, type) or kind.__module__ != info.name:
                continue
            name = f"{info.name}.{kind.__qualname__}"
            held = issubclass(kind, BaseEstimator) or is_dataclass(kind)
            reads = name.startswith(("mercer._blocks.", "mercer._files.deployment.onnx"))
            listed = name.endswith((".SampleWeights", ".UnitWeights", ".TableViews", ".Deferred"))
            assert (class_named(name) is not None) is (listed or (held and not reads)), name


def test_the_command_and_scikit_learn_have_few_trusted_classes() -> None:
    for name in (
        *("sklearn.svm._classes.SVC", "sklearn.pipeline.Pipeline"),
        *("sklearn.preprocessing._data.StandardScaler", "sklearn.model_selection._split.KFold"),
        *("mercer_command.table_model.TableModel", "mercer_command.table_reader.TableReader"),
    ):
        assert class_named(name)
    for name in ("RBF", "Sum", "Exponentiation", "PairwiseKernel"):
        assert class_named(f"sklearn.gaussian_process.kernels.{name}")
    for name in (
        *("sklearn.gaussian_process.kernels.clone", "sklearn.gaussian_process.kernels.Such"),
        *("skrub._text_encoder.TextEncoder", "skrub._data_ops._data_ops.Call", "skrub.core.Such"),
        *("sklearn.svm.tests.test_svm.Such", "sklearn.neighbors._classification.Such"),
        *("sklearn.ensemble._forest.RandomForestClassifier", "sklearn.base.clone"),
        *("mercer_command.options.Options", "mercer_command.models.Trial"),
        *("mercer.Gaussian", "mercer.kernels.Gaussian", "mercer.kernels._forest.Kernel"),
    ):
        assert not class_named(name)


def test_boosted_trees_of_scikit_learn_are_not_trusted(tmp_path: Any) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    with pytest.raises(UntrustedTypesError, match="HistGradientBoostingClassifier"):
        mercer.save(HistGradientBoostingClassifier(), tmp_path / "model.skops")


def test_encoders_of_skrub_are_loaded_as_they_were_saved() -> None:
    skrub, pandas = pytest.importorskip("skrub"), pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "size": X[:, 0],
            "kind": np.array(["a", "b", None], dtype=object)[np.arange(40) % 3],
            "place": [f"street {number} in {number % 7}" for number in range(40)],
            "here": pandas.date_range("2024-01-01", periods=40, tz=ZoneInfo("Europe/Berlin")),
            "there": pandas.date_range("2024-01-01", periods=40, tz=UTC),
            "day": [f"2024-02-{1 + number % 28:02d}" for number in range(40)],
        }
    )
    encoder = table_encoder().set_params(
        numeric=skrub.SquashingScaler(),
        datetime=skrub.DatetimeEncoder(periodic_encoding="circular"),
        high_cardinality=skrub.StringEncoder(n_components=4),
        cardinality_threshold=10,
    )
    imputer = SimpleImputer(add_indicator=True)
    model = make_pipeline(encoder, imputer, TwoStageClassifier(C=1.0)).fit(table, Y)
    loaded = saved_and_loaded(model)
    np.testing.assert_array_equal(loaded[:-1].transform(table), model[:-1].transform(table))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))


def test_a_table_vectorizer_of_skrub_is_not_trusted(tmp_path: Any) -> None:
    skrub = pytest.importorskip("skrub")
    with pytest.raises(UntrustedTypesError, match="TableVectorizer"):
        mercer.save(skrub.TableVectorizer(), tmp_path / "model.skops")
