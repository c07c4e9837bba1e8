"""Attributes that an estimator has in some settings only: the error names the settings."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpydoc.docscrape import NumpyDocString
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import mercer
from mercer import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ContinuousAlignment,
    KernelOptimization,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer._files.deployment.compressed import CompressedClassifier
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=30)
CODES = (Y > 0.0).astype(int)
LABELS = np.column_stack([CODES, X[:, 1] > 0.0]).astype(int)
SVM = SVC(kernel="precomputed")
NEIGHBORS = KNeighborsClassifier(metric="precomputed")
RIDGE = KernelRidge(kernel="precomputed")

Made = Callable[[], Any]


def classifier(y: Any = CODES, **settings: Any) -> Any:
    return TwoStageClassifier(random_state=0, **settings).fit(X, y)


FEATURES: Any = {"approximation": "nystroem", "n_components": 10}


def regressor(**settings: Any) -> Any:
    return TwoStageRegressor(random_state=0, **settings).fit(X, Y)


def bayesian(kind: Any, objective: str, y: Any) -> Any:
    return kind([Gaussian(1.0)], objective=objective).fit(X, y)


def compressed(kind: Any) -> Any:
    model = kind().fit(X, CODES)
    return mercer.compress(model, X, n_components=5)


def named(model: Any) -> Any:
    return model.fit(pd.DataFrame(X, columns=["a", "b"]), Y)


CASES: dict[str, tuple[str, str, Made, Made]] = {
    "C": (
        "C_",
        "the fit is exact",
        lambda: classifier(approximation="nystroem", n_components=5),
        classifier,
    ),
    "penalty on features": (
        "alpha_",
        "approximation='nystroem'",
        classifier,
        lambda: classifier(approximation="nystroem", n_components=5),
    ),
    "given learner": (
        "candidates_",
        "learner=None",
        lambda: regressor(learner=ContinuousAlignment()),
        regressor,
    ),
    "C alone": ("cv_results_", "C is searched", lambda: classifier(C=1.0), classifier),
    "C with a scorer": (
        "cv_results_",
        "or a scorer",
        lambda: classifier(C=1.0),
        lambda: classifier(C=1.0, scoring="roc_auc"),
    ),
    "answers": ("cv_correct_", "C is searched", lambda: classifier(C=1.0), classifier),
    "temperature": (
        "temperature_",
        "the fit is exact",
        lambda: classifier(approximation="nystroem", n_components=5),
        classifier,
    ),
    "alpha alone": (
        "cv_results_",
        "alpha is searched",
        lambda: regressor(alpha=1.0),
        lambda: regressor(alpha=[1.0]),
    ),
    "residuals": (
        "cv_residuals_",
        "alpha is searched .* or a scorer",
        lambda: regressor(alpha=1.0),
        lambda: regressor(alpha=1.0, scoring="r2"),
    ),
    "lengths": (
        "scaler_",
        "scaling is a learner",
        lambda: ContinuousAlignment().fit(X, Y),
        lambda: ContinuousAlignment(scaling=KernelOptimization()).fit(X, Y),
    ),
    "evidence": (
        "log_marginal_likelihood_",
        "'vb', 'laplace' or 'marginal_likelihood'",
        lambda: bayesian(BayesianMKLRegressor, "map", Y),
        lambda: bayesian(BayesianMKLRegressor, "marginal_likelihood", Y),
    ),
    "gap": (
        "dual_gap_",
        "objective='mkl'",
        lambda: bayesian(BayesianMKLClassifier, "vb", CODES),
        lambda: bayesian(BayesianMKLClassifier, "mkl", CODES),
    ),
    "diagonal": (
        "diagonal_",
        "kernels='precomputed'",
        lambda: bayesian(BayesianMKLRegressor, "vb", Y),
        lambda: BayesianMKLRegressor("precomputed").fit((X @ X.T)[:, :, None], Y),
    ),
    "names": (
        "feature_names_in_",
        "column names",
        lambda: KernelStackingRegressor(["linear"]).fit(X, Y),
        lambda: named(KernelStackingRegressor(["linear"])),
    ),
    "compressed": (
        "predict_proba",
        "has probabilities",
        lambda: compressed(BayesianMKLClassifier),
        lambda: compressed(mercer.KernelLogisticRegression),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.ConvergenceWarning")
def test_the_error_names_the_setting(name: str) -> None:
    attribute, words, without, within = CASES[name]
    model, other = without(), within()
    assert not hasattr(model, attribute)
    called = type(model).__name__
    pattern = f"This {called} has no attribute '{attribute}', which it has only if .*{words}"
    with pytest.raises(AttributeError, match=pattern):
        getattr(model, attribute)
    assert hasattr(other, attribute)
    # Whatever else is documented is there, or an error names the setting as well.
    for documented in attributes_of(type(model)):
        if not hasattr(model, documented):
            with pytest.raises(AttributeError, match="which it has only if"):
                getattr(model, documented)


def attributes_of(kind: type) -> list[str]:
    """The names that a docstring lists."""
    found = NumpyDocString(inspect.getdoc(kind) or "")["Attributes"]
    return [name for entry in found for name in re.findall(r"\w+", entry.name)]


def test_every_sentence_is_tried() -> None:
    tried = {attribute for attribute, *_ in CASES.values()}
    kinds = [*filter(inspect.isclass, vars(mercer).values()), CompressedClassifier]
    bases = {base for kind in kinds for base in kind.__mro__}
    told = {name for base in bases for name in vars(base).get("_conditions", {})}
    assert told == tried
