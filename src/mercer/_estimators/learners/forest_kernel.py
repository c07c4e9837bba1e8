"""The learner of a kernel of trees, and the growth of its trees."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Literal, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import Tags, get_tags

from mercer._data.encoded_targets import encode_target
from mercer._data.sample import content_ranks
from mercer._data.validation import check_choice, check_number, check_positive
from mercer._estimators.fits import reported_steps
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import KernelLearner, weighted_kernels
from mercer._gram.moments import moments
from mercer._search.records import LearnedKernel
from mercer._search.targets import Target, Task
from mercer.kernels import Forest
from mercer.kernels._leaves import check_leaves_are_read, openmp_threads

EnsembleName: TypeAlias = Literal["boosting", "forest", "extra-trees"]

_ENSEMBLES: dict[str, tuple[type[RegressorMixin], type[ClassifierMixin]]] = {
    "boosting": (HistGradientBoostingRegressor, HistGradientBoostingClassifier),
    "forest": (RandomForestRegressor, RandomForestClassifier),
    "extra-trees": (ExtraTreesRegressor, ExtraTreesClassifier),
}
"""The regressor and the classifier for each name of an ensemble."""


_LEAST_IN_FORESTS = 3
"""Default minimum number of samples in a leaf of a forest."""


@dataclass(eq=False, repr=False)
class ForestKernel(KernelLearner):
    """Learn a kernel from trees: the fraction of trees in which two samples share a leaf.

    The trees are grown on the labels or responses. The kernel is k(x, z) = (1/T) sum_t [leaf_t(x) =
    leaf_t(z)]. Unlike a kernel of distances, it needs no scaling of the features, may be smooth in
    some regions and rough in others, and ignores irrelevant features.

    Parameters
    ----------
    ensemble : {"boosting", "forest", "extra-trees"} or estimator, default="boosting"
        Boosted trees, a random forest or extremely randomized trees of scikit-learn, or an unfitted
        estimator whose leaves can be read, such as one of LightGBM; see
        :class:`mercer.kernels.Forest`. The estimator has to be a classifier for classes, and a
        regressor for responses.
    n_trees : int, default=100
        Number of trees. For boosted trees, it is the number of iterations; each grows one tree per
        class if there are more than two classes, or one tree per response.
    max_leaf_nodes : int or None, default=31
        Maximum number of leaves of a tree; None for no limit.
    min_samples_leaf : int, default=None
        Minimum number of samples in a leaf, regardless of their weights. None stands for 20 in
        boosted trees, and for 3 in other trees.
    learning_rate : float, default=0.1
        Factor by which the leaf values of boosted trees are multiplied.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds classes or responses. `"auto"` treats numbers that are not whole, and
        whole numbers with more than 20 distinct values, as responses.
    random_state : int, RandomState instance or None, default=0
        Seed of the trees.
    n_jobs : int, default=None
        Number of threads that grow trees; None for one thread, -1 for all processors.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables. It is at unit scale: ``kernels_[0]``
        divided by `scale_`.
    kernels_ : list of Kernel
        A :class:`mercer.kernels.Forest` as the only entry.
    weights_, shares_ : ndarray of shape (1,)
        One.
    n_leaves_ : int
        Total number of leaves of all trees.
    scale_ : float
        Mean diagonal of the centered training Gram matrix of the kernel.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
        It is optimistic, because the trees were fitted to the labels.
    history_ : list of Step
        One step, whose `objective` is the alignment.
    n_iter_ : int
        One.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    mercer.kernels.Forest : The kernel of trees that are already fitted.

    Notes
    -----
    Held-out errors on the learned kernel are too small unless the trees are grown without the
    held-out samples. When its own label is used, a training row falls into a leaf with rows of
    similar labels. Two-stage estimators therefore grow the trees again in each fold. Stacking
    selects the penalty and estimates the error with trees that are grown on one half of the samples
    and evaluated on the other half. With Nyström features, trees are grown only once, on a part of
    the rows (`max_samples` rows in stacking). Penalties and errors are then too small, in
    proportion to the share of all rows that this part holds.

    Trees have no split if features are constant, or if there are fewer samples than twice
    `min_samples_leaf`. The kernel is then one everywhere, and its alignment is zero.

    The kernel counts all trees, including those that were grown on the two samples. The proximity
    of R's randomForest counts by default only trees for which both samples are out of bag.

    :func:`mercer.save` saves trees of scikit-learn as arrays. It refuses trees that split by sets
    of categories, and trees of other libraries.

    Responses are standardized before trees are grown. Boosting ends after `n_trees` iterations,
    without early stopping. Growing boosted trees takes O(n d n_trees) time for a fixed number of
    leaves per tree.

    References
    ----------
    Breiman (2000), Some infinity theory for predictor ensembles, section 3. Davies & Ghahramani
    (2014), The random forest kernel and other kernels for big data from random partitions. Geurts,
    Ernst & Wehenkel (2006), Extremely randomized trees, section 4.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import ForestKernel
    >>> X, y = make_friedman1(300, n_features=8, random_state=0)
    >>> learner = ForestKernel().fit(X, y)
    >>> learner.kernels_[0].describe()
    'Forest of 100 trees'
    >>> sorted(learner.kernel_.relevance(8).argsort()[-5:].tolist())
    [0, 1, 2, 3, 4]
    """

    _kernels_parameter = None
    _memorizes_labels = True

    ensemble: EnsembleName | BaseEstimator = "boosting"
    _: KW_ONLY
    n_trees: int = 100
    max_leaf_nodes: int | None = 31
    min_samples_leaf: int | None = None
    learning_rate: float = 0.1
    task: Task = "auto"
    random_state: int | np.random.RandomState | None = 0
    n_jobs: int | None = None

    def _learn(self, data: TrainingData, target: Target) -> LearnedKernel:
        # Rows are sorted by content, so that random draws of trees do not depend on their order.
        order = np.argsort(content_ranks(data.X, data.y))
        weights = data.weights.take(order).relative()
        if target.codes is None:
            labels = encode_target(data.y[order], classification=False, weights=weights).values
        else:
            labels = target.codes[order]
        labels = np.ravel(labels) if np.size(labels) == len(labels) else labels
        trees, X = self._trees(classification=target.codes is not None), data.X[order]
        if labels.ndim == 2 and not get_tags(trees).target_tags.multi_output:
            trees = MultiOutputRegressor(trees)
        with reported_steps(self, 1) as report:
            with openmp_threads(effective_n_jobs(self.n_jobs)):
                kernel = Forest(trees.fit(X, labels, **weights.fit_params)).with_leaves_of(X)
            report()
        self.n_leaves_ = sum(len(cuts) + 1 for cuts in kernel.cuts or [])
        found = moments(data.samples(), [kernel], target.centered)
        return weighted_kernels([kernel], np.ones(1), found)

    def _trees(self, *, classification: bool) -> BaseEstimator:
        """Return the unfitted ensemble, a classifier or a regressor."""
        if not isinstance(self.ensemble, str):
            if (is_regressor if classification else is_classifier)(self.ensemble):
                kind = "classifier" if classification else "regressor"
                given = repr(self.ensemble)
                raise ValueError(f"ensemble must be a {kind} for this target; got {given}.")
            return clone(self.ensemble)
        boosted = self.ensemble == "boosting"
        trees = _ENSEMBLES[self.ensemble][classification]()
        trees.set_params(
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf or (20 if boosted else _LEAST_IN_FORESTS),
            random_state=self.random_state,
        )
        if boosted:
            return trees.set_params(
                max_iter=self.n_trees, learning_rate=self.learning_rate, early_stopping=False
            )
        return trees.set_params(n_estimators=self.n_trees, n_jobs=self.n_jobs)

    def _check_settings(self) -> None:
        super()._check_settings()
        if not isinstance(self.ensemble, str):
            check_leaves_are_read(self.ensemble)
            for field in fields(self):
                if field.name in _OF_NAMED and getattr(self, field.name) != field.default:
                    raise ValueError(
                        f"{field.name} has no effect if ensemble is an estimator: set it there."
                    )
            return
        check_choice("ensemble", self.ensemble, tuple(_ENSEMBLES))
        check_number("n_trees", self.n_trees, whole=True, low=1)
        if self.max_leaf_nodes is not None:
            check_number("max_leaf_nodes", self.max_leaf_nodes, whole=True, low=2)
        if self.min_samples_leaf is not None:
            check_number("min_samples_leaf", self.min_samples_leaf, whole=True, low=1)
        check_positive("learning_rate", self.learning_rate)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.ensemble, "__sklearn_tags__"):
            tags.input_tags.sparse = get_tags(self.ensemble).input_tags.sparse
        else:
            tags.input_tags.sparse = self.ensemble != "boosting"
        return tags


_OF_NAMED = ("n_trees", "max_leaf_nodes", "min_samples_leaf", "learning_rate")
"""Parameters that have an effect only on ensembles that are given by name."""
