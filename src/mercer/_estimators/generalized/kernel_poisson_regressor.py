"""Kernel Poisson regression."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import kl_div
from sklearn.base import RegressorMixin
from sklearn.metrics import mean_poisson_deviance
from sklearn.utils import Tags, check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from mercer._data.copies import with_copies
from mercer._data.sample import completed, of_weightless
from mercer._data.types import Array, Features, PerSample
from mercer._estimators.fits import with_callbacks
from mercer._estimators.generalized.generalized_kernel_machine import GeneralizedKernelMachine
from mercer._estimators.kernel_estimator import training_data
from mercer._gram.devices import on_device
from mercer._gram.expansion import Scale
from mercer._solvers.likelihoods import Poisson, rates
from mercer.kernels._distances import check_squares


class KernelPoissonRegressor(RegressorMixin, GeneralizedKernelMachine):
    """Kernel Poisson regression of counts that selects its kernel and its penalty.

    The logarithm of a sample's expected count is a function in the space of the kernel, plus an
    intercept, plus the logarithm of the sample's exposure. Kernel and penalty are selected by the
    leave-one-out Poisson deviance, which is approximated without refits.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        Kernels, names, callables or scikit-learn Gaussian-process kernels. The kernel with the
        lowest leave-one-out deviance is selected. None compares a Gaussian and a product Laplacian
        (exp(-|x - x'|_1 / s)) kernel, each with the width selected for ridge regression on square
        roots of rates. With `"precomputed"`, X is a Gram matrix of shape (n_samples, n_samples), or
        a stack of shape (n_samples, n_samples, n_kernels).
    alpha : "auto", float or sequence of float, default="auto"
        Penalty: the machine minimizes half the sum of deviances plus alpha / 2 |f|^2, for a kernel
        at unit scale (see Notes). "auto" searches in steps of half a power of ten, as long as the
        deviance falls. A sequence lists the values to try. If several values are equally good, the
        largest is selected.
    verbose : bool, default=False
        Whether to print a line after each kernel.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where large matrices are computed: on the processor, or on a graphics card by PyTorch
        (``pip install "mercer[gpu]"``). "auto" uses a card if there is one. See :doc:`/machines`.

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
        Mean Poisson deviance of `loo_predictions_`.
    loo_predictions_ : ndarray of shape (n_samples,)
        Expected count of each training sample, from machines that are fitted without the sample or
        its group, with the same kernel and penalty.
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients of the training samples for the centered kernel at unit scale.
    intercept_ : float
        Logarithm of the rate if all values of the centered kernel are zero.
    rows_ : ndarray of int of shape (n_fitted,)
        Indices of the training samples of positive weight.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed kernels.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    sklearn.linear_model.PoissonRegressor : Poisson regression without a kernel. Its `alpha`
        corresponds to the `alpha` of a linear kernel at unit scale, divided by the mean diagonal
        and by the sum of the weights.

    Notes
    -----
    About six penalties are tried for each kernel. Each takes about four Newton steps and a matrix
    inverse, in O(n^3) time. Five n x n matrices are in memory, and a fit that exceeds the available
    memory raises an error. A few thousand samples take minutes.

    The centered Gram matrix of each kernel is divided by its mean diagonal, so that the same
    penalties suit all kernels. To first order, leave-one-out values follow from the weighted ridge
    regression of the last Newton step [1]_. At the selected penalty, five more steps account for
    the changes in the curvatures of the other samples when one is left out. Leave-one-out
    expectations are at least 0.5 divided by the number of samples, and at most one more than the
    sum of all counts.

    References
    ----------
    .. [1] G. Cawley, N. Talbot (2008). Efficient approximate leave-one-out cross-validation for
       kernel logistic regression. Machine Learning 71.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, hours = rng.uniform(-2.0, 2.0, (200, 1)), rng.uniform(1.0, 5.0, 200)
    >>> y = rng.poisson(hours * np.exp(np.sin(2.0 * X[:, 0])))
    >>> model = KernelPoissonRegressor().fit(X, y, exposure=hours)
    >>> model.predict([[0.8], [-0.8]]).round(1)
    array([2.9, 0.5])
    """

    @with_callbacks
    def fit(
        self,
        X: Features,
        y: npt.ArrayLike,
        sample_weight: PerSample = None,
        groups: PerSample = None,
        exposure: PerSample = None,
    ) -> Self:
        """Select the kernel and the penalty, and fit the regression.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If `kernels` is "precomputed", a Gram matrix or a stack of Gram matrices.
        y : array-like of shape (n_samples,)
            Counts, or other responses that are not negative.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their losses are multiplied. A weight of zero leaves
            the sample out.
        groups : array-like of shape (n_samples,), default=None
            Groups of the samples, such as patients or days, as numbers or strings. Samples of a
            group are left out together. Without groups, copies of a row are left out together.
        exposure : array-like of shape (n_samples,), default=None
            Time, area or number of units that each count refers to; ones if None. Expected counts
            are proportional to the exposure.

        Returns
        -------
        KernelPoissonRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or y contains NaN or infinities, a weight is negative, or an exposure is not
            positive. If a count is negative or too large to be squared, or all counts are zero. If
            there is only one sample or group, a parameter is out of its range, or a kernel is not
            positive semi-definite.
        MemoryError
            If the fit needs more memory than is available.
        """
        self._check_parameters()
        data = training_data(self, X, y, sample_weight)
        counts = check_array(column_or_1d(data.y, warn=True), ensure_2d=False, dtype=np.float64)
        check_squares(counts[:, None], "y")
        if counts.min() < 0.0:
            raise ValueError(
                "Some value(s) of y are out of the valid range of the Poisson loss: counts must "
                f"not be negative; got {counts.min():g}."
            )
        if not counts.any():
            raise ValueError("All counts in y are zero, so that their rate has no logarithm.")
        offset = np.log(_exposures(exposure, data.n_given))[data.numbers]
        likelihood = Poisson(counts, data.weights, offset=offset)
        # The variance of the square root of a count hardly depends on its expectation.
        roots = np.sqrt(counts / np.exp(offset - offset.max()))

        data = with_copies(replace(data, y=roots).grouped(groups))
        left_out = self._fit_machines(
            data,
            [likelihood],
            lambda values, rows: likelihood.take(rows).means(values[0]),
            lambda means, rows: kl_div(counts[rows], means),
        )
        others = of_weightless(data, self.predict, self.as_input(X))
        if others is not None and exposure is not None:
            others *= np.delete(np.asarray(exposure, dtype=float), data.numbers)
        self.loo_predictions_ = completed(data.numbers, left_out, others)
        return self

    @on_device
    def predict(self, X: Features, exposure: PerSample = None) -> Array:
        """Predict the expected counts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If `kernels` is "precomputed", the kernel between these samples and the training
            samples, of shape (n_samples, n_fitted), or a stack.
        exposure : array-like of shape (n_samples,), default=None
            Time, area or number of units that each count refers to. By default, all exposures are
            one, so that expected counts are rates.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        found = rates(self._values(X)[:, 0] + self.intercept_)
        return np.asarray(found if exposure is None else found * _exposures(exposure, len(found)))

    def score(
        self,
        X: Features,
        y: npt.ArrayLike,
        sample_weight: PerSample = None,
        exposure: PerSample = None,
    ) -> float:
        """Return D^2, the fraction of the Poisson deviance that the model explains.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            If `kernels` is "precomputed", the kernel between these samples and the training
            samples, of shape (n_samples, n_fitted), or a stack.
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : array-like of shape (n_samples,), default=None
        exposure : array-like of shape (n_samples,), default=None
            See `predict`.

        Returns
        -------
        float
            One minus the ratio of the deviance of the predictions to the deviance of the best
            constant rate for these samples. It is at most one, and may be negative.
        """
        y, predicted = column_or_1d(y), self.predict(X, exposure)
        check_consistent_length(y, predicted)
        weights = _check_sample_weight(sample_weight, predicted, dtype=np.float64)
        exposures = _exposures(exposure, len(predicted))
        constant = exposures * (weights @ y) / (weights @ exposures)
        tiny = np.finfo(float).tiny
        deviance, reference = (
            mean_poisson_deviance(y, np.maximum(means, tiny), sample_weight=weights)
            for means in (predicted, constant)
        )
        return float(1.0 - deviance / reference) if reference > 0.0 else float(deviance == 0.0)

    def _store_levels(self, levels: Array) -> None:
        self.dual_coef_, self.intercept_ = self.dual_coef_[:, 0], float(levels[0, 0])

    def _form(self) -> tuple[Scale, Array, tuple[str, ...]]:
        return "log rate", np.array([self.intercept_]), ()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def _exposures(exposure: PerSample, n_samples: int) -> Array:
    """Return validated exposures; None stands for ones.

    Raises
    ------
    ValueError
        If the numbers of exposures and samples differ, or an exposure is not positive and finite.
    """
    if exposure is None:
        return np.ones(n_samples)
    found = check_array(exposure, ensure_2d=False, dtype=np.float64, input_name="exposure")
    found = column_or_1d(found)
    check_consistent_length(np.empty((n_samples, 0)), found)
    if found.min() <= 0.0:
        raise ValueError(f"exposure must be positive; got {found.min():g}.")
    return np.asarray(found)
