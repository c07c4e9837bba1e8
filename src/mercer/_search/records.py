"""Records of fits: steps, and learned kernels for display."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._blocks.own_encoders import encoded, on_numbers
from mercer._data.notebook import FrameResult, data_frames
from mercer._data.types import Array, Features
from mercer._gram.expansion import KernelExpansion
from mercer.kernels import Kernel, WeightedSum

if TYPE_CHECKING:
    import pandas as pd


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


@dataclass(frozen=True, repr=False)
class KernelTerms(FrameResult):
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

    def to_frame(self) -> "pd.DataFrame":
        """Return the kernels as a data frame, those with the largest shares first.

        Returns
        -------
        pandas.DataFrame
            The columns are "kernel", "weight" and "share".

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        columns = {"kernel": self.labels, "weight": self.weights, "share": self.shares}
        order = np.argsort(-np.abs(self.shares), kind="stable")
        return data_frames().DataFrame(columns).iloc[order].reset_index(drop=True)


class KernelTermsMixin:
    """Methods of every estimator that learns a kernel, for displays and reports."""

    n_features_in_: int

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
        relevance = WeightedSum(kernels, weights).relevance(on_numbers(self).n_features_in_)
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
        return np.asarray(self.kernel_(encoded(self, X)))  # type: ignore[attr-defined]
