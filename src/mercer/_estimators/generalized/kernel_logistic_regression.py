"""Kernel logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._data.classes import all_labels
from mercer._data.resampling import Indices
from mercer._data.types import Array, ClassWeight, Features, PerSample
from mercer._estimators.fits import with_callbacks
from mercer._estimators.generalized.generalized_kernel_machine import GeneralizedKernelMachine
from mercer._gram.devices import on_device
from mercer._gram.expansion import Scale
from mercer._model_selection.calibration import class_values, normalized_probabilities
from mercer._model_selection.prediction_sets import PredictionSetMixin
from mercer._solvers.likelihoods import Bernoulli, bounded_probabilities


@dataclass(eq=False, repr=False)
class KernelLogisticRegression(PredictionSetMixin, ClassifierMixin, GeneralizedKernelMachine):
    """Kernel logistic regression that selects its kernel and its penalty.

    The log-odds of two classes are an intercept plus a function in the space of the kernel. Kernel
    and penalty are selected by the leave-one-out deviance (twice the log-loss), which is
    approximated without refits. For more than two classes, one regression is fitted for each class
    against the rest, all with the same penalty.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        Kernels, names, callables or scikit-learn Gaussian-process kernels. The kernel with the
        lowest leave-one-out deviance is selected. None compares a Gaussian and a product Laplacian
        (exp(-|x - x'|_1 / s)) kernel, each with the width selected for ridge regression on class
        indicators. With `"precomputed"`, X is a Gram matrix of shape (n_samples, n_samples), or a
        stack of shape (n_samples, n_samples, n_kernels).
    alpha : "auto", float or sequence of float, default="auto"
        Penalty: the machine minimizes the sum of log-losses plus alpha / 2 |f|^2, for a kernel at
        unit scale (see Notes). "auto" searches in steps of half a power of ten, as long as the
        deviance falls. A sequence lists the values to try. If several values are equally good, the
        largest is selected.
    verbose : bool, default=False
        Whether to print a line after each kernel.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where large matrices are computed: on the processor, or on a graphics card by PyTorch
        (``pip install "mercer[gpu]"``). "auto" uses a card if there is one. See :doc:`/machines`.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, by label, which multiplies the weights of its samples. `"balanced"`
        gives all classes the same total weight.

    Attributes
    ----------
    kernel_ : WeightedSum
        The selected kernel at unit scale: divided by the mean diagonal of its centered Gram matrix.
    weights_ : ndarray of shape (1,)
        The reciprocal of this mean diagonal.
    shares_ : ndarray of shape (1,)
        One.
    candidates_ : list of EvaluatedKernel
        The kernels that were compared, in ascending order of their deviances, with `description`,
        `kernel`, `alpha` and `loo_deviance`.
    alpha_ : float
        The selected penalty.
    alphas_, loo_deviances_ : ndarray of shape (n_alphas,)
        The penalties that were tried for the selected kernel, and their leave-one-out deviances,
        approximated to first order.
    loo_deviance_ : float
        Mean deviance of `loo_predictions_`, which is twice the log-loss.
    loo_predictions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of each training sample, from machines that are fitted without the
        sample or its group, with the same kernel and penalty.
    dual_coef_ : ndarray of shape (n_samples, n_machines)
        Coefficients of the training samples for the centered kernel at unit scale.
    intercept_ : ndarray of shape (n_machines,)
        Log-odds if all values of the centered kernel are zero.
    classes_ : ndarray of shape (n_classes,)
    rows_ : ndarray of int of shape (n_fitted,)
        Indices of the training samples of positive weight.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed kernels.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    KernelOrdinalClassifier : For classes that are ordered.
    KernelStackingClassifier : Combines several kernels, and is faster for many samples.

    Notes
    -----
    About six penalties are tried for each kernel. Each takes about four Newton steps and a matrix
    inverse, in O(n^3) time. If there are more than two classes, this is repeated for each class.
    Five n x n matrices are in memory, and a fit that exceeds the available memory raises an error.
    A few thousand samples take minutes.

    The centered Gram matrix of each kernel is divided by its mean diagonal, so that the same
    penalties suit all kernels. To first order, leave-one-out values follow from the weighted ridge
    regression of the last Newton step [1]_. At the selected penalty, five more steps account for
    the changes in the curvatures of the other samples when one is left out. On seven data sets of
    200 samples, this approximation agreed with the deviance of refits to one part in a thousand.
    Leave-one-out probabilities below 1 / (n + 2) for n samples are raised to this value, by the
    rule of succession, before they are normalized.

    Probabilities of more than two classes are the probabilities of each class against the rest,
    divided by their sum. The softmax of one multinomial regression predicts equally well, but
    takes longer. Separable classes are not a problem, because the penalty bounds the function.

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

    class_weight: ClassWeight = field(default=None, kw_only=True)

    @with_callbacks
    def fit(
        self,
        X: Features,
        y: npt.ArrayLike,
        sample_weight: PerSample = None,
        groups: PerSample = None,
    ) -> Self:
        """Select the kernel and the penalty, and fit the regression.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If `kernels` is "precomputed", a Gram matrix or a stack of Gram matrices.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their losses are multiplied. A weight of zero leaves
            the sample out.
        groups : array-like of shape (n_samples,), default=None
            Groups of the samples, such as patients or days, as numbers or strings. Samples of a
            group are left out together. Without groups, copies of a row are left out together.

        Returns
        -------
        KernelLogisticRegression
            The fitted estimator.

        Raises
        ------
        ValueError
            If X contains NaN or infinities, or a weight is negative. If there is only one sample,
            class or group, a parameter is out of its range, or a kernel is not positive
            semi-definite.
        MemoryError
            If the fit needs more memory than is available.
        """
        data, classes, codes = self._encoded(X, y, sample_weight, groups)
        self._set_classes(all_labels(data), classes)
        # Two classes are one problem; of more, each is separated from the rest.
        apart = range(1 if len(classes) == 2 else 0, len(classes))
        likelihoods = [Bernoulli((codes == k).astype(float), data.weights) for k in apart]

        def probabilities(values: Sequence[Array], _: Indices) -> Array:
            found = normalized_probabilities(expit(np.hstack(values)))
            return bounded_probabilities(found, len(codes))

        return self._fit_classes(X, data, codes, likelihoods, probabilities)

    @on_device
    def decision_function(self, X: Features) -> Array:
        """Return the log-odds of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If `kernels` is "precomputed", the kernel between these samples and the training
            samples, of shape (n_samples, n_fitted), or a stack.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, the log-odds of ``classes_[1]``. For more classes, the log-odds of each
            class against the rest.
        """
        values = self._values(X) + self.intercept_
        return self._decision_values(values[:, 0] if values.shape[1] == 1 else values)

    @on_device
    def predict_proba(self, X: Features) -> Array:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If `kernels` is "precomputed", the kernel between these samples and the training
            samples, of shape (n_samples, n_fitted), or a stack.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        found = normalized_probabilities(expit(self._values(X) + self.intercept_))
        return self._probabilities(found)

    @on_device
    def predict(self, X: Features) -> Array:
        """Predict the most probable classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If `kernels` is "precomputed", the kernel between these samples and the training
            samples, of shape (n_samples, n_fitted), or a stack.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        chosen = class_values(self._values(X) + self.intercept_).argmax(axis=1)
        return self._fitted_classes[chosen]

    def _store_levels(self, levels: Array) -> None:
        self.intercept_ = levels[:, 0]

    def _form(self) -> tuple[Scale, Array, tuple[str, ...]]:
        names = tuple(map(str, self._fitted_classes))
        if len(names) == 2:
            return "log-odds", self.intercept_, names[1:]
        # With several classes, these are not the log-odds of the predicted probabilities.
        return "decision value", self.intercept_, names
