"""Records of fits: steps, learned kernels for display, and a card for notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from mercer._data.notebook import Bar, NotebookResult, Number, card, sentence, table
from mercer._data.types import Array, Features
from mercer._gram.expansion import KernelExpansion
from mercer.kernels import Kernel, WeightedSum
from mercer.kernels._structure import PrecomputedGram


@dataclass(frozen=True)
class Step:
    """One step of a learner that adds kernels one at a time.

    Attributes
    ----------
    kernel : Kernel
        The kernel found in this step.
    n_kernels : int
        Number of kernels of nonzero weight after the step.
    objective : float
        Value of the objective that the step maximized, minus the penalty.
    alignment : float
        Centered alignment of the learned kernel after the step.
    gap : float or None
        Certified bound on the distance to the maximum of the objective; None if not certified.
    step_size : float or None
        The coefficient eta that a stagewise step gives its kernel; None for other steps.
    """

    kernel: Kernel
    n_kernels: int
    objective: float
    alignment: float
    gap: float | None
    step_size: float | None = None


@dataclass(frozen=True)
class MixingStep:
    """One step of continuous one-stage learning.

    Attributes
    ----------
    kernel : Kernel
        The kernel found in this step.
    n_kernels : int
        Number of kernels of nonzero weight after the step.
    objective : float
        Regularized risk of the predictors after the step.
    excess : float
        Relative difference of c'Kc, with the dual variables c, between this kernel K and the kernel
        learned before the step. It is not positive at the optimum.
    gap : float or None
        Certified bound on the distance to the maximum of c'Kc; None if not certified.
    """

    kernel: Kernel
    n_kernels: int
    objective: float
    excess: float
    gap: float | None


@dataclass(frozen=True)
class WeightStep:
    """One step of one-stage learning over a finite dictionary.

    Attributes
    ----------
    objective : float
        Regularized risk of the predictors for the weights of this step.
    gap : float
        Certified bound on the relative distance to the minimum of the objective.
    n_kernels : int
        Number of kernels of nonzero weight.
    """

    objective: float
    gap: float
    n_kernels: int


@dataclass(frozen=True)
class AlternationStep:
    """One step of multiple-kernel clustering: new weights, then a new partition.

    Attributes
    ----------
    objective : float
        Value after the step of the objective, which the weights and the partition both maximize.
    alignment : float
        Centered alignment of the learned kernel with the clusters.
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels, which sum to one.
    n_moved : int
        Number of samples that moved to another cluster in this step.
    """

    objective: float
    alignment: float
    weights: Array
    n_moved: int


@dataclass(frozen=True)
class ObjectiveStep:
    """One step of probabilistic kernel learning.

    Attributes
    ----------
    objective : float
        Value of the objective after the step, on the -2 log scale.
    barrier : float
        Coefficient of the logarithmic barrier that keeps the weights positive.
    residual : float
        Violation of the optimality conditions: the largest w_m |d objective / d w_m| over the
        weights w.
    """

    objective: float
    barrier: float
    residual: float


@dataclass(frozen=True)
class LearnedKernel:
    """A weighted sum of kernels, and its statistics on the training set.

    Attributes
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
        Coefficients of the unscaled kernels.
    traces : ndarray of shape (n_kernels,)
        Traces of the kernels' centered training Gram matrices.
    alignment : float
        Centered alignment of the learned training Gram matrix with the target.
    history : list of Step
    n_iter : int, default=None
        Number of iterations; the length of the history if None.
    converged : bool, default=True
        Whether the search reached its tolerance, rather than its maximum number of steps.
    """

    kernels: list[Kernel]
    weights: Array
    traces: Array
    alignment: float
    history: list[Step]
    n_iter: int | None = None
    converged: bool = True


_MOST = 8
"""Largest number of kernels, and of features, that a card lists."""


@dataclass(frozen=True, repr=False)
class KernelTerms(NotebookResult):
    """Kernels that a fitted estimator combines, with their weights and shares.

    Attributes
    ----------
    kernels : sequence of Kernel or None of shape (n_kernels,)
        None for an estimator on the table itself.
    labels : list of str of shape (n_kernels,)
        A short description of each kernel.
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels, or of the predictions.
    shares : ndarray of shape (n_kernels,)
        Shares of the kernels in the trace of the learned kernel on the training set, or in the sum
        of the weights of the predictions. They have the signs of the weights, and their magnitudes
        sum to one.
    relevance : ndarray of shape (n_features,)
        Weighted sum of the kernels' relevances, 1 / width^2. For combined predictions, the
        relevances of each kernel sum to one, and so does their weighted mean. NaN if a kernel of
        nonzero weight has no known formula.
    combines : {"kernels", "predictions"}
        Whether a sum of kernels was learned, or the predictions on each kernel are combined.
    feature_names : list of str of shape (n_features,), default=None
        Names of the features; None if they are not known.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import UniformCombination
    >>> learner = UniformCombination(["rbf", "linear"]).fit(*load_iris(return_X_y=True))
    >>> terms = learner.kernel_terms()
    >>> terms.labels, terms.weights, terms.combines
    (['Gaussian, width 2.36', 'Linear'], array([0.5, 0.5]), 'kernels')
    """

    kernels: Sequence[Kernel | None]
    labels: list[str]
    weights: Array
    shares: Array
    relevance: Array
    combines: Literal["kernels", "predictions"] = "kernels"
    feature_names: list[str] | None = None

    def _shown(self) -> list[str]:
        order = np.argsort(-np.abs(self.shares), kind="stable")[:_MOST]
        title = "Predictions on" if self.combines == "predictions" else "Kernel"
        rows = [(self.labels[k], float(self.shares[k])) for k in order]
        found = [_bars(title, rows, len(self.shares))]
        has_features = not any(k and isinstance(k.structure, PrecomputedGram) for k in self.kernels)
        if has_features and len(self.relevance) > 1:
            found.append(_relevance(self.relevance, self.feature_names))
        return found


class KernelTermsMixin:
    """Methods of every estimator that learns a kernel, for displays and reports."""

    n_features_in_: int

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, followed by a card that summarizes the fit."""
        summary = model_card(self)
        return str(estimator_html_repr(self)).replace(summary, "") + summary

    def _get_params_html(self, *args: Any, **kwargs: Any) -> Any:
        """Return the parameters as scikit-learn's diagrams show them, followed by the card.

        Diagrams of pipelines and searches thereby show the card of the step that is opened.
        """
        found = super()._get_params_html(*args, **kwargs)  # type: ignore[misc]
        shown = found._html_repr
        found._html_repr = lambda: shown() + model_card(cast(BaseEstimator, self))
        return found

    def kernel_terms(self) -> KernelTerms:
        """Return the kernels of the fitted estimator, with their weights and shares.

        Returns
        -------
        mercer.inspection.KernelTerms
        """
        check_is_fitted(self, "kernel_")
        kernel: Any = self.kernel_  # type: ignore[attr-defined]
        if hasattr(self, "weights_"):
            kernels, weights = list(kernel.kernels), np.asarray(self.weights_, dtype=float)
        else:
            kernels, weights = [kernel], np.ones(1)
        relevance = WeightedSum(kernels, weights).relevance(self.n_features_in_)
        shares = np.sign(weights) * getattr(getattr(self, "learner_", self), "shares_", np.ones(1))
        return KernelTerms(kernels, [k.describe() for k in kernels], weights, shares, relevance)

    def kernel_expansion(self) -> KernelExpansion:
        """Return the function that predicts, as a sum of kernels times coefficients.

        Returns
        -------
        mercer.inspection.KernelExpansion
            The sum, from which :func:`mercer.inspection.shapley_values` and other explanations are
            computed.

        Raises
        ------
        TypeError
            If the estimator makes no predictions.
        """
        check_is_fitted(self)
        return self._expansion()

    def _expansion(self) -> KernelExpansion:
        """Return the expansion of the fitted estimator."""
        raise TypeError(
            f"{type(self).__name__} predicts nothing. Explain an estimator that predicts with its "
            "kernel, such as TwoStageRegressor(learner)."
        )

    def _left_out_residuals(self) -> Array | None:
        """Return responses minus held-out predictions, or None if the fit did not keep them."""
        return getattr(self, "cv_residuals_", None)

    def learned_gram(self, X: Features) -> Array:
        """Return the learned kernel between all pairs of the given samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A stack of shape (n_samples, n_samples, n_kernels) if kernels are precomputed.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
        """
        check_is_fitted(self, "kernel_")
        return np.asarray(self.kernel_(X))  # type: ignore[attr-defined]


def model_card(estimator: BaseEstimator) -> str:
    """Summarize a fitted estimator: its score, its kernels and the relevance of the features.

    Parameters
    ----------
    estimator : estimator
        Estimator with a method `kernel_terms`.

    Returns
    -------
    str
        HTML that inherits the colors of the page; empty if the estimator is not fitted.
    """
    try:
        check_is_fitted(estimator)
        terms = estimator.kernel_terms()
    except NotFittedError:
        return ""
    names = getattr(estimator, "feature_names_in_", None)
    if terms.feature_names is None and names is not None:
        terms = replace(terms, feature_names=[str(name) for name in names])
    return card([*map(sentence, _scores(estimator)), *terms._shown()])


def _relevance(relevance: Array, features: Sequence[str] | None) -> str:
    """Return bars of the features' shares, or a sentence on why they cannot be compared."""
    unknown = np.isnan(relevance)
    if unknown.any():
        whose = "the features" if unknown.all() else f"{unknown.sum()} of the features"
        return sentence(f"Relevance of {whose} is not known: a kernel has an unknown formula.")
    if np.ptp(relevance) == 0.0:
        why = "the kernels treat them alike" if relevance.any() else "predictions are constant"
        return sentence(f"Relevance is equal for all features: {why}.")
    order = np.argsort(-relevance, kind="stable")[:_MOST]
    names = [f"x{z}" if features is None else features[z] for z in order]
    shares = (relevance[order] / relevance.sum()).tolist()
    return _bars("Relevance", list(zip(names, shares, strict=True)), len(relevance))


def _scores(estimator: BaseEstimator) -> list[str]:
    """Return sentences on the leave-one-out or held-out score, and on the need to refit."""
    found = []
    metric = "accuracy" if is_classifier(estimator) else "R²"
    scoring = getattr(estimator, "scoring", None)
    if scoring is not None:
        metric = scoring if isinstance(scoring, str) else "its score"
    if "loo_score_" in dir(estimator):  # `hasattr` would compute it.
        found.append(f"Left-out rows: {metric} {estimator.loo_score_:.3f}")
    elif hasattr(estimator, "cv_results_"):
        best = float(np.nanmax(estimator.cv_results_["mean_test_score"]))
        found.append(f"Held-out rows, by which the penalty was chosen: {metric} {best:.3f}")
    return found


def _bars(title: str, rows: Sequence[tuple[str, float]], n_rows: int) -> str:
    """Return a table of shares with bars, whose lengths are the magnitudes of the shares."""
    cells = [(label, Number(f"{share:.1%}"), Bar(share)) for label, share in rows]
    return table(cells, title=title, n_rows=n_rows)
