"""Kernel logistic regression."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._expansion import Scale
from mercer._fits import with_callbacks
from mercer._generalized.generalized_kernel_machine import GeneralizedKernelMachine
from mercer._model_selection.calibration import class_values, normalized_probabilities
from mercer._model_selection.logistic_problems import LogisticProblems
from mercer._model_selection.prediction_sets import PredictionSetMixin
from mercer._typing import Array, Features


@dataclass(eq=False, repr=False)
class KernelLogisticRegression(PredictionSetMixin, ClassifierMixin, GeneralizedKernelMachine):
    """Logistic regression on a kernel, with a penalty chosen by approximate leave-one-out.

    The log-odds of two classes are a function of the kernel plus an intercept. More than two
    classes have one machine each, against the rest, with one penalty for all.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        Kernels, names, callables or scikit-learn Gaussian-process kernels. The one of the lowest
        left-out deviance is taken. None compares a Gaussian and a product Laplacian kernel,
        each of the width that suits ridge regression of class indicators. With `"precomputed"`, X
        is a Gram matrix of shape (n_samples, n_samples), or a stack of shape (n_samples, n_samples,
        n_kernels).
    alpha : "auto", float or sequence of float, default="auto"
        Penalty: the machine minimizes the sum of log-losses plus alpha / 2 |f|^2, for a kernel of
        unit scale (see Notes). "auto" goes downhill in half decades; a sequence tries its values;
        of equal ones the largest is taken.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which those of their samples are multiplied. With `"balanced"`,
        the samples of all classes have the same total weight.
    verbose : bool, default=False
        Whether to print a line after each kernel.

    Attributes
    ----------
    kernel_ : WeightedSum
        The kernel that was taken, divided by the mean diagonal of its centered Gram matrix.
    weights_ : ndarray of shape (1,)
        One over that diagonal.
    shares_ : ndarray of shape (1,)
        One.
    candidates_ : list of EvaluatedKernel
        `description`, `kernel`, `alpha` and `loo_deviance` of the kernels that were compared, the
        lowest deviance first.
    alpha_ : float
        The penalty that was taken.
    alphas_, loo_deviances_ : ndarray of shape (n_alphas,)
        The penalties that were tried on the kernel, and their left-out deviances to first order.
    loo_deviance_ : float
        Mean deviance, twice the log-loss, of `loo_predictions_`.
    loo_predictions_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes for the training samples, by machines without the sample, or
        its group, on the same kernel and with the same penalty.
    dual_coef_ : ndarray of shape (n_samples, n_machines)
        Coefficients of the training samples for the centered kernel of unit scale.
    intercept_ : ndarray of shape (n_machines,)
        Log-odds where the centered kernel is zero.
    classes_ : ndarray of shape (n_classes,)
    rows_ : ndarray of int of shape (n_fitted,)
        Indices of the training samples of positive weight.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed kernels.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    KernelOrdinalClassifier : For classes that are ordered.
    KernelStackingClassifier : Combines several kernels; it takes less time for many samples.

    Notes
    -----
    Each kernel takes about six penalties, and each of these some four Newton steps and an inverse:
    O(n^3) time, for each of more than two classes, and memory for five n x n matrices. A fit that
    exceeds the memory that is there is refused. Some thousand samples take minutes.

    The kernel's centered Gram matrix is divided by its mean diagonal, so that one penalty suits
    every kernel. To first order, left-out values follow from the weighted ridge regression of the
    last Newton step [1]_; at the penalty that is taken, five more steps account for the curvatures
    of the other samples, which change as one is left out. On seven sets of 200 samples their
    deviance is that of refits to one in a thousand. Left-out probabilities are at least one in two
    more than the number of samples, by the rule of succession.

    Probabilities of more than two classes are those of each against the rest, divided by their sum.
    The softmax of one multinomial regression predicts as well, and takes longer. Classes that are
    apart do no harm, as the penalty bounds the function.

    References
    ----------
    .. [1] G. Cawley, N. Talbot (2008). Efficient approximate leave-one-out cross-validation for
       kernel logistic regression. Machine Learning 71.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mercer import KernelLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KernelLogisticRegression().fit(scale(X)[::2], y[::2])
    >>> model.score(scale(X)[1::2], y[1::2]) > 0.95
    True
    >>> bool(model.loo_deviance_ < 0.3)
    True
    """

    _isotropic_task = "classification"

    kernels: Any = None
    _: KW_ONLY
    alpha: Any = "auto"
    class_weight: Any = None
    verbose: bool = False

    @with_callbacks
    def fit(self, X: Features, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the kernel and the penalty, and fit the machines.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A Gram matrix, or a stack of them, where `kernels` is "precomputed".
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their losses are multiplied. A weight of zero leaves
            the sample out.
        groups : array-like of shape (n_samples,), default=None
            Names of what samples belong to, such as patients or days: numbers or strings. Samples
            of a group are left out together; copies of a row without groups.

        Returns
        -------
        KernelLogisticRegression
            The fitted estimator.

        Raises
        ------
        ValueError
            If X holds NaN or infinities, there is one sample, one class or one group only, a
            parameter is out of its range, a weight is negative, or a kernel is not positive
            semi-definite.
        MemoryError
            If the fit needs more memory than there is.
        """
        data, self.classes_, codes = self._encoded(X, y, sample_weight, groups)
        problems = LogisticProblems.of(codes, len(self.classes_), data.weights)
        return self._fit_classes(
            X,
            data,
            codes,
            problems.likelihoods,
            lambda values, rows: problems.probabilities(np.hstack(values)),
        )

    def decision_function(self, X: Features) -> Array:
        """Log-odds of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The kernel with the training samples, (n_samples, n_fitted), or a stack, where `kernels`
            is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, those of ``classes_[1]``; of more, those of each class against the rest.
        """
        values = self._values(X) + self.intercept_
        return values[:, 0] if values.shape[1] == 1 else values

    def predict_proba(self, X: Features) -> Array:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The kernel with the training samples, (n_samples, n_fitted), or a stack, where `kernels`
            is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return normalized_probabilities(expit(self._values(X) + self.intercept_))

    def predict(self, X: Features) -> NDArray[Any]:
        """Predict the most probable classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The kernel with the training samples, (n_samples, n_fitted), or a stack, where `kernels`
            is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classes_[class_values(self._values(X) + self.intercept_).argmax(axis=1)]

    def _store_levels(self, levels: Array) -> None:
        self.intercept_ = levels[:, 0]

    def _form(self) -> tuple[Scale, Array, tuple[str, ...]]:
        if len(self.classes_) == 2:
            return "log-odds", self.intercept_, (str(self.classes_[1]),)
        # Probabilities of several classes are not those of each against the rest.
        return "decision value", self.intercept_, tuple(map(str, self.classes_))
