"""Every learner, the measures of dependence and both second stages with output kernels."""

from itertools import cycle
from typing import Any

import numpy as np
import pytest
import reference
from learner_cases import FINITE, FOR_OUTPUT_KERNELS, problem, training_gram
from numpy.testing import assert_allclose
from output_cases import CASES, outputs, score
from reference import alignf
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import mercer.metrics
from mercer import ContinuousAlignment, KernelOptimization, TwoStageClassifier, TwoStageRegressor
from mercer.kernels import Gaussian, as_kernel

every_case = pytest.mark.parametrize("case", CASES)


# --- learners ---------------------------------------------------------------------------------


TURNS = list(zip(FOR_OUTPUT_KERNELS, cycle(CASES), strict=False))


@pytest.mark.parametrize(("name", "case"), TURNS)
def test_learners_learn_for_the_output_kernel(name: str, case: str) -> None:
    X = problem("regression")[0]
    y, kernel, L = outputs(case, score())
    fitted = clone(FOR_OUTPUT_KERNELS[name]).set_params(output_kernel=kernel).fit(X, y)
    K = training_gram(fitted, X)
    assert_allclose(fitted.alignment_, reference.centered_alignment(K, L), rtol=1e-5)
    assert fitted.alignment_ > 0.05
    if isinstance(fitted, KernelOptimization):
        names = {"hsic": "hsic", "cka": "centered_alignment", "ka": "alignment"}
        criterion = getattr(reference, names[fitted.criterion])
        assert_allclose(fitted.objective_, criterion(fitted.kernels_[0](X), L), rtol=1e-5)


@every_case
def test_weights_and_measures_against_the_dense_matrix(case: str) -> None:
    X = problem("regression")[0]
    y, kernel, L = outputs(case, score())
    found, criterion = (
        clone(FINITE[name]).set_params(output_kernel=kernel).fit(X, y)
        for name in ("alignf", "hsic-2")
    )
    grams = [as_kernel(source)(X) for source in found.kernels]
    assert_allclose(found.weights_, alignf(grams, L), atol=1e-5)
    assert_allclose(criterion.hsic_, [reference.hsic(K, L) for K in grams], rtol=1e-5)
    for name in ("hsic", "alignment", "centered_alignment"):
        value = getattr(mercer.metrics, name)(grams[1], y, output_kernel=kernel)
        assert_allclose(value, getattr(reference, name)(grams[1], L), rtol=1e-5)


def test_the_parameters_of_an_output_kernel_are_nested() -> None:
    learner = KernelOptimization(output_kernel=Gaussian(3.0))
    assert learner.get_params()["output_kernel__bandwidth"] == 3.0
    clone(learner).set_params(output_kernel__bandwidth=5.0)
    assert learner.output_kernel.bandwidth == 3.0


# --- measures of dependence -------------------------------------------------------------------


def test_as_many_labels_as_samples_are_no_gram_matrix() -> None:
    """A square indicator matrix, symmetric or not, is what its output kernel says."""
    Y = np.triu(np.ones((6, 6), dtype=int))
    K = Gaussian(1.0)(np.arange(6.0)[:, None])
    found = mercer.metrics.hsic(K, Y, output_kernel="multilabel")
    assert_allclose(found, reference.hsic(K, (Y @ Y.T).astype(float)), rtol=1e-9)


# --- second stages ----------------------------------------------------------------------------

edge = pytest.mark.filterwarnings("ignore:The best (C|alpha):UserWarning")


def held_out_scores(model: Any, X: Any, y: Any, split: Any) -> list[float]:
    """Scores of models whose kernels are learned in each fold."""
    scores = []
    for train, test in split.split(X, y):
        part = TwoStageClassifier(clone(model.learner), C=2.0)
        scores.append(part.fit(X[train], y[train]).score(X[test], y[test]))
    return scores


@edge
@pytest.mark.parametrize(
    "kernel", ["balanced", np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.1], [0.0, 0.1, 1.0]])], ids=str
)
def test_a_classifier_learns_in_folds_for_the_output_kernel(
    kernel: Any, learned_in_folds: None
) -> None:
    """Of the labels as they are: the numbers 1, 2 and 9 are no ranks."""
    X = problem("regression", 90)[0]
    y = np.array([1, 2, 9])[np.digitize(score(90), [0.0, 1.2])]
    split = StratifiedKFold(3)
    learner = KernelOptimization(Gaussian(ard=True), "cka", width_penalty=0.0, output_kernel=kernel)
    model = TwoStageClassifier(learner, C=[2.0, 64.0], cv=split).fit(X, y)
    found = [model.cv_results_[f"split{k}_test_score"][0] for k in range(3)]
    assert_allclose(found, held_out_scores(model, X, y, split), atol=1e-12)


@edge
def test_sets_of_labels_by_ridge_regression(learned_in_folds: None) -> None:
    X = problem("regression", 90)[0]
    y, kernel, L = outputs("multilabel", score(90))
    learner = ContinuousAlignment(output_kernel=kernel)
    model = TwoStageRegressor(learner, cv=3).fit(X, y)
    assert_allclose(model.alignment_, reference.centered_alignment(model.kernel_(X), L), rtol=1e-6)
    assert ((model.predict(X) > 0.5) == y).mean() > 0.85


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TwoStageClassifier(KernelOptimization(output_kernel="lab")), "output_kernel must be None"),
        (TwoStageClassifier(KernelOptimization(output_kernel="precomputed")), "output Gram mat"),
        (TwoStageRegressor(KernelOptimization(output_kernel="delta")), "it is for classes"),
    ],
)
def test_output_kernels_that_no_second_stage_can_use(model: Any, message: str) -> None:
    X, y = problem("three classes")
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
