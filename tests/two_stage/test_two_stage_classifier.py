"""The two-stage classifier, and what passes through the learner."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits
from two_stage_cases import centered, gaussian_stack, shuffled

from mercer._estimators.learners import (
    AlignmentMaximization,
    ContinuousAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer._estimators.two_stage import (
    C_GRID,
    NESTED_ABOVE,
    TwoStageClassifier,
    TwoStageRegressor,
    learned_gram,
)
from mercer.kernels import Gaussian


@pytest.mark.parametrize(("problem", "n_threads"), [("binary", 1), ("three_classes", 2)])
def test_search_agrees_with_scikit_learn(request, problem, n_threads):
    X, y = request.getfixturevalue(problem)
    learner = UniformCombination([Gaussian(2.0), Gaussian(4.0)])
    with threadpool_limits(n_threads):
        model = TwoStageClassifier(learner).fit(X, y)
    gram = centered(model.kernel_(X))
    grid = model.cv_results_["param_C"]
    machine = SVC(kernel="precomputed", break_ties=True, tol=1e-9)
    search = GridSearchCV(machine, {"C": grid}, cv=shuffled(5, X, y)).fit(gram, y)
    np.testing.assert_allclose(
        model.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )
    assert set(C_GRID[2:7]) <= set(grid)
    assert model.cv_results_["split4_test_score"].shape == grid.shape
    assert search.best_params_["C"] == model.C_
    np.testing.assert_allclose(
        model.decision_function(X), search.decision_function(gram), atol=1e-6
    )


def test_scale_of_the_kernels_does_not_matter(binary):
    (X, y), factor = binary, 1e9
    stack = gaussian_stack(X, X)
    learner = UniformCombination("precomputed")
    plain = TwoStageClassifier(learner).fit(stack, y)
    scaled = TwoStageClassifier(learner).fit(stack * factor, y)
    assert scaled.C_ == plain.C_
    np.testing.assert_allclose(
        scaled.decision_function(stack * factor), plain.decision_function(stack), atol=1e-3
    )


def test_ties_go_to_the_smallest_c():
    X, y = make_blobs(60, centers=[[-9, 0], [9, 0]], cluster_std=0.5, random_state=0)
    model = TwoStageClassifier(C=[0.5, 8.0, 64.0]).fit(X, y)
    assert model.C_ == 0.5
    np.testing.assert_array_equal(model.cv_results_["mean_test_score"], 1.0)


def test_a_fixed_c_is_not_scored(binary):
    X, y = binary
    model = TwoStageClassifier(C=2.0).fit(X, y)
    assert model.C_ == 2.0
    assert not hasattr(model, "cv_results_")
    assert not hasattr(model, "cv_correct_")


def test_edge_of_the_grid_is_reported():
    X, y = make_blobs([70, 30], centers=[[-1, 0], [1, 0]], cluster_std=0.8, random_state=0)
    with pytest.warns(UserWarning, match="The best C, 0.3, lies on the edge of the values tried"):
        TwoStageClassifier(C=[1e-4, 0.3]).fit(X, y)


def test_folds_that_train_on_one_class_are_left_out():
    X, y = make_blobs([12, 1], centers=[[-3, 0], [3, 0]], random_state=0)
    model = TwoStageClassifier(cv=LeaveOneOut()).fit(X, y)
    assert sum(name.startswith("split") for name in model.cv_results_) == 12
    with pytest.warns(UserWarning, match="only 1 member.*, which is less than n_splits=5"):
        TwoStageClassifier().fit(X, y)
    with pytest.raises(ValueError, match="no fold trains on more than one class"):
        TwoStageClassifier(cv=[(np.arange(6), np.arange(6, 12))]).fit(X, y)


@pytest.mark.filterwarnings("ignore:The best")
def test_kernels_of_many_parameters_are_learned_in_folds(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, NESTED_ABOVE + 1))
    y = (X[:, 0] > 0).astype(int)
    many = KernelOptimization(Gaussian(ard=True), width_penalty=0.0)
    one = KernelOptimization(Gaussian())
    cv, C = StratifiedKFold(3), [0.5, 4.0, 32.0]

    def scores(learner, limit=NESTED_ABOVE):
        monkeypatch.setattr(learned_gram, "NESTED_ABOVE", limit)
        model = TwoStageClassifier(learner, cv=cv, C=C).fit(X, y)
        return model.cv_results_["mean_test_score"]

    np.testing.assert_array_equal(scores(many), scores(many, -1))
    assert np.any(scores(many) != scores(many, np.inf))
    np.testing.assert_array_equal(scores(one), scores(one, np.inf))


@pytest.mark.filterwarnings("ignore:The best")
def test_nested_scores_are_those_of_learning_in_each_fold(binary, learned_in_folds):
    X, y = binary
    cv = StratifiedKFold(3)
    model = TwoStageClassifier(ContinuousAlignment(), cv=cv, C=[0.5, 4.0]).fit(X, y)
    for i, C in enumerate([0.5, 4.0]):
        outer = cross_val_score(TwoStageClassifier(ContinuousAlignment(), C=C), X, y, cv=cv)
        inner = [model.cv_results_[f"split{fold}_test_score"][i] for fold in range(3)]
        np.testing.assert_allclose(inner, outer)


@pytest.mark.parametrize("C", ["auto", 1.0])
def test_probabilities_are_calibrated_on_held_out_samples(C):
    """They are close to the true ones, and less sure than those of training samples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    true = 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))
    y = (rng.uniform(size=600) < true).astype(int)
    model = TwoStageClassifier(UniformCombination([Gaussian(3.0)]), C=C).fit(X[:300], y[:300])
    found = model.predict_proba(X[300:])[:, 1]
    assert np.abs(found - true[300:]).mean() < 0.08
    decisions = model.decision_function(X[:300])
    optimistic = LogisticRegression(fit_intercept=False).fit(decisions[:, None], y[:300])
    assert 2.0 * model.temperature_.factor < optimistic.coef_[0, 0]


def test_a_class_that_folds_do_not_train_on_has_a_probability():
    X, y = make_blobs([30, 30, 1], centers=[[-4, 0], [4, 0], [0, 9]], random_state=0)
    with pytest.warns(UserWarning, match="only 1 member"):
        model = TwoStageClassifier().fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (61, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba > 0.0).all()
    np.testing.assert_array_equal(proba.argmax(axis=1), model.predict(X))


@pytest.mark.filterwarnings("ignore:Some weights are negative")
@pytest.mark.parametrize("estimator", [TwoStageClassifier, TwoStageRegressor])
def test_an_indefinite_kernel_is_refused_unless_clipped(estimator):
    """Labels that a difference of two kernels explains best."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    kernels = [Gaussian(0.5), Gaussian(1.0), Gaussian(8.0)]
    with pytest.raises(ValueError, match=r"not positive semi-definite.*clip_spectrum=True"):
        estimator(AlignmentMaximization(kernels, signs="free")).fit(X, y)
    clipped = AlignmentMaximization(kernels, signs="free", clip_spectrum=True)
    assert estimator(clipped).fit(X, y).score(X, y) > 0.5


def test_constant_features_give_constant_predictions():
    X, y = np.ones((30, 2)), np.array([0] * 20 + [1] * 10)
    learner = UniformCombination([Gaussian(1.0), Gaussian(2.0)])
    with pytest.warns(UserWarning, match="learned kernel is constant"):
        model = TwoStageClassifier(learner).fit(X, y)
    assert model.learner_.scale_ == 1.0
    np.testing.assert_array_equal(model.predict(X), 0)
    with pytest.warns(UserWarning, match="The learned kernel is constant"):
        model = TwoStageRegressor().fit(X, np.arange(30.0))
    np.testing.assert_allclose(model.predict(X), 14.5)


def test_stacks_pass_through_cross_validation(binary):
    X, y = binary
    stack = gaussian_stack(X, X)
    model = TwoStageClassifier(AlignmentMaximization("precomputed"))
    assert sklearn.utils.get_tags(model).input_tags.pairwise
    assert not sklearn.utils.get_tags(TwoStageClassifier()).input_tags.pairwise
    cv = StratifiedKFold(3)
    scores = cross_val_score(model, stack, y, cv=cv)
    for (train, test), score in zip(cv.split(X, y), scores, strict=True):
        fitted = clone(model).fit(gaussian_stack(X[train], X[train]), y[train])
        assert fitted.score(gaussian_stack(X[test], X[train]), y[test]) == score


def test_stacks_are_sliced_in_folds(binary, regression, learned_in_folds):
    learner = AlignmentMaximization("precomputed")
    for estimator, (X, y) in ((TwoStageClassifier, binary), (TwoStageRegressor, regression)):
        model = estimator(learner).fit(gaussian_stack(X, X), y)
        assert model.predict(gaussian_stack(X[:4], X)).shape == (4,)


def test_two_samples_have_no_probabilities():
    model = TwoStageClassifier(UniformCombination([Gaussian(1.0)]), C=1.0).fit(
        [[0.0], [1.0]], [0, 1]
    )
    np.testing.assert_array_equal(model.predict([[0.0], [1.0]]), [0, 1])
    with pytest.raises(ValueError, match="no class had two training samples"):
        model.predict_proba([[0.0]])
