"""The base of predictors that are functions of few centers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Tags, check_array, check_random_state, gen_batches, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._blocks import tables
from mercer._blocks.blocks import BlockSource
from mercer._deployment.few_centers import KernelPart, cluster_means
from mercer._expansion import KernelExpansion, Views, as_doubles
from mercer._gram.new_rows import fitting_rows
from mercer._records import KernelTerms, KernelTermsMixin
from mercer._tree_terms import without_training_rows
from mercer._typing import Array, Features, RandomState
from mercer._validation import check_number, check_positive, check_target_values, warn
from mercer.inspection._compression_loss import (
    CompressionLoss,
    compression_loss,
    has_probabilities,
)

MOST_HELD_OUT = 2000
"""Held-out predictions of at most this many rows are kept, and rounding is compared on as many."""

_MOST_ROWS = 20_000
"""A function is fitted to at most this many rows."""

_LEAST_ROWS = 4
"""Clusters of at least two rows are to be told apart."""


def refuse_grades(model: Any, what: str) -> None:
    """Refuse models that cut one value into grades.

    Parameters
    ----------
    model : estimator
    what : str
        Says in the message what cannot be done.
    """
    if hasattr(getattr(model, "predictor_", model), "thresholds_"):
        raise TypeError(
            f"{type(model).__name__} {what}: its grades lie between thresholds of one latent "
            "value, which are no part of the function of kernels."
        )


class Compressed(KernelTermsMixin, BaseEstimator):
    """Base class of compressed predictors."""

    _default: ClassVar[Any]

    loss_: CompressionLoss
    rows_per_center_: Array | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _function: KernelExpansion
    _terms: KernelTerms

    def __init__(
        self,
        model: Any = None,
        *,
        n_components: int | str = "auto",
        tol: float = 0.01,
        random_state: RandomState = 0,
    ) -> None:
        self.model = model
        self.n_components = n_components
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        given = get_tags(self._default() if self.model is None else self.model)
        tags.input_tags, tags.target_tags = given.input_tags, given.target_tags
        tags.classifier_tags, tags.regressor_tags = given.classifier_tags, given.regressor_tags
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model, and compress it on the rows that it was fitted to.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight, groups : array-like of shape (n_samples,), default=None
            As the model takes them. Weights do not count in the compression.

        Returns
        -------
        self : object
        """
        self._check_settings()
        model = self._default() if self.model is None else clone(self.model)
        given = {"sample_weight": sample_weight, "groups": groups}
        model.fit(X, y, **{name: value for name, value in given.items() if value is not None})
        return self._compress(model, X)

    def _check_settings(self) -> None:
        if not isinstance(self.n_components, str):
            check_number("n_components", self.n_components, whole=True, low=1)
        elif self.n_components not in ("auto", "all"):
            raise ValueError(
                f"n_components must be a number, 'auto' or 'all'; got {self.n_components!r}."
            )
        check_positive("tol", self.tol)

    def _compress(self, model: Any, X: Any, y: Any = None) -> Self:
        """Take over what a fitted model predicts with."""
        self._check_settings()
        expansion: KernelExpansion = model.kernel_expansion()
        if expansion.sources is not None:
            raise TypeError(
                f"This {type(model).__name__} was fitted to precomputed Gram matrices, which have "
                "no centers: fit it to the features, with kernels on the columns of each source "
                "(OnColumns), to compress it."
            )
        refuse_grades(model, "cannot be compressed")
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        if X is None or isinstance(X, BlockSource) or tables.is_dask(X):
            if y is not None:
                raise ValueError("y needs the rows that it belongs to, as an array or a table.")
            views = {name: as_doubles(view) for name, view in expansion.training.items()}
        else:
            views = expansion.views(validate_data(model, X, reset=False, **tables.checks_of(model)))
        n_rows = next(iter(views.values())).shape[0]
        if n_rows < _LEAST_ROWS:
            raise ValueError(
                f"Found {n_rows} row(s), while a minimum of {_LEAST_ROWS} is required."
            )
        truth = None if y is None else _truth_of(model, y, n_rows)
        self._find_function(model, KernelPart.of(expansion, views), views, truth)
        terms = model.kernel_terms()
        self._terms = replace(terms, kernels=[without_training_rows(k) for k in terms.kernels])
        self._keep_held_out(model)
        return self

    def _find_function(
        self, model: Any, part: KernelPart, views: Views, truth: Array | None
    ) -> None:
        """Set the function of few centers, fitted to most rows, with its loss."""
        rng = check_random_state(self.random_state)
        order = rng.permutation(next(iter(views.values())).shape[0])
        order = order[: MOST_HELD_OUT if self.n_components == "all" else _MOST_ROWS]
        views = {name: view[order] for name, view in views.items()}
        values, seed = part.values(views), rng.randint(2**31 - 1)
        others = part.predicted(views, np.zeros_like(values))

        def loss(theirs: Array) -> CompressionLoss:
            given = None if truth is None else truth[order]
            return compression_loss(part.expansion, values + others, theirs, model, given)

        if self.n_components == "all":
            self.rows_per_center_, self._function = None, part.on_all_centers(views)
            self.loss_ = loss(self._function.predicted(views))
            return
        least = np.inf
        for n_centers in self._numbers(part, len(order)):
            centers = cluster_means(views, part.relevance, n_centers, seed, part.codes)
            function, left_out = part.on_centers(centers, views, values)
            found = loss(left_out + others)
            if found.criterion < least:
                least, self.loss_, self._function = found.criterion, found, function
                self.rows_per_center_ = centers.n_rows
            if least <= self.tol:
                break
        if self.n_components == "auto" and least > self.tol:
            warn(
                f"No number of centers that was tried has a loss of at most tol={self.tol:g}: with "
                f"{len(centers.n_rows):,} centers, {self.loss_}. n_components='all' keeps the "
                "model's own."
            )

    def _numbers(self, part: KernelPart, n_rows: int, first: int = 50) -> Iterator[int]:
        """Numbers of centers to try, "auto" from the first on."""
        if not isinstance(self.n_components, str):
            yield min(self.n_components, n_rows // 2)
        else:
            most, n_centers = min(part.most_centers, n_rows // 2), first
            while n_centers < most:
                yield n_centers
                n_centers *= 2
            yield most

    def _keep_held_out(self, model: Any) -> None:
        """Keep what intervals or sets are read off."""
        raise NotImplementedError

    def _values(self, X: Any) -> Array:
        """Values of the function with its shrinkage, shape (n_rows, n_outputs)."""
        check_is_fitted(self)
        found: Array = tables.predict_rows(self, X, self._of_rows)
        return found

    def _of_rows(self, rows: Features) -> Array:
        size = fitting_rows(len(next(iter(self._function.training.values()))))
        blocks = gen_batches(rows.shape[0], size)
        found = [self._function.predicted(self._function.views(rows[some])) for some in blocks]
        return np.concatenate([np.empty((0, len(self._function.intercept))), *found])

    def _prepare(self) -> None:
        """Compute what predictions need of the centers alone, so that the first one is quick."""
        views = self._function.training.items()
        self._function.predicted({name: view[:1] for name, view in views})

    def _expansion(self) -> KernelExpansion:
        return self._function

    def kernel_terms(self) -> KernelTerms:
        """Return the kernels of the model, with their weights and shares.

        Returns
        -------
        mercer.inspection.KernelTerms
        """
        check_is_fitted(self)
        return self._terms

    def learned_gram(self, X: Features) -> Array:
        """Not known: the weights of the kernels are those of predictions, in coefficients."""
        raise TypeError(f"{type(self).__name__} has no learned Gram matrix: ask the model for it.")


def _truth_of(model: Any, y: Any, n_rows: int) -> Array:
    """Responses of shape (n_rows, n_outputs), or positions of classes, that were given for rows."""
    expansion: KernelExpansion = model.kernel_expansion()
    if expansion.scale != "response" and not has_probabilities(expansion):
        raise TypeError(
            f"y counts for responses and for probabilities of classes; {type(model).__name__} "
            f"predicts a {expansion.scale}: compress it without y."
        )
    check_target_values(y)
    given = np.asarray(y)
    if len(given) != n_rows:
        raise ValueError(f"X has {n_rows:,} rows, and y has {len(given):,}.")
    if is_classifier(model):
        unseen = np.setdiff1d(given, model.classes_)
        if unseen.size:
            raise ValueError(
                f"y contains previously unseen labels: {unseen.tolist()}. The model knows no such "
                "classes."
            )
        return np.asarray(np.searchsorted(model.classes_, given.ravel()))
    checked = check_array(given, dtype=float, ensure_2d=False, input_name="y")
    responses, n_outputs = np.asarray(checked).reshape(n_rows, -1), len(expansion.intercept)
    if responses.shape[1] != n_outputs:
        raise ValueError(f"y must have {n_outputs} column(s); got {responses.shape[1]}.")
    return responses
