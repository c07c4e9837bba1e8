"""Gaussian-process regression with a learned sum of kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from mercer._data.encoded_targets import TargetEncoding
from mercer._data.types import Array, Features, PerSample
from mercer._data.validation import check_bool, check_choice, check_coverage, check_positive
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.one_stage.base import Regressor
from mercer._gram.expansion import KernelExpansion
from mercer._search.targets import Target
from mercer.kernels._conversion import KernelDictionary
from mercer.probabilistic._bayesian_mkl import BayesianMKL


@dataclass(eq=False, repr=False)
class BayesianMKLRegressor(Regressor, BayesianMKL):
    """Gaussian process regressor whose kernel is a learned sum of given kernels.

    The covariance of the Gaussian process is the kernel K = sum weights_m K_m. Nothing has to be
    tuned: the weights and the variance of the noise maximize the marginal likelihood, or a bound on
    it. Other objectives find the weights together with the mode of the latent values.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the distances in the data. With "precomputed", X is a
        stack of Gram matrices of shape (n_samples, n_samples, n_kernels).
    likelihood : {"gaussian", "laplace"}, default="gaussian"
        Distribution of the noise of the responses; "laplace" is robust to outliers.
    objective : {"marginal_likelihood", "vb", "map", "mkl"}, default="marginal_likelihood"
        "marginal_likelihood" is available in closed form for Gaussian noise only, and has no
        parameters to choose. "vb" maximizes its variational bound, which is meant for Laplace
        noise; for Gaussian noise, the bound equals the marginal likelihood. "map" maximizes the
        joint density of latent values and weights, and gives sparser weights. "mkl" penalizes the
        size of the weights, and is convex.
    noise : float or None, default=None
        Variance of the noise, in the squared unit of the responses. If None, it is learned. For
        "map" and "mkl" it is then learned by "vb", because their own objectives decrease without
        bound as the noise vanishes.
    weight_penalty : float, default=1.0
        Used by "mkl" only, which adds weight_penalty * sum(weights^norm) to the objective. Larger
        penalties give smoother functions. The penalty applies to the weights of the kernels as
        given, so that a kernel with larger values costs less. Divide kernels by their mean
        diagonals to treat them equally.
    norm : float, default=1.0
        Used by "mkl" only; at least 1. The smaller the norm, the sparser the weights.
    jitter : float, default=0.1
        Used by "map" only: variance of white noise in the latent function, relative to the mean
        diagonals of the kernels and the variance of the responses. As the jitter vanishes, the
        objective of joint MAP decreases without bound. If the jitter is so small that no kernel is
        found, a warning is issued.
    normalize_y : bool, default=True
        Whether the responses are first normalized to mean zero and variance one, because latent
        functions have mean zero. Otherwise, a single response is left as it is. Several responses
        share kernel and noise, and each is divided by its root mean square, or all by their common
        root mean square if `noise` is given. Predictions and `log_marginal_likelihood_` are in the
        unit of the responses in either case; `objective_` refers to the normalized responses.
    learn_parameters : bool, default=False
        Whether "marginal_likelihood" and "vb" also learn the parameters of the kernels, within
        their bounds. The search starts from the best of three scales of the kernel widths.
    n_starts : int, default=2
        Number of searches from different scales of the weights; the best result is kept. "mkl"
        needs only one search, because it has a single optimum.
    tol : float, default=1e-4
        Relative precision of the objective.
    max_iter : int, default=200
        Maximum number of steps of each search.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel for the normalized responses, which can be called on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels in the covariance of the normalized responses; zero for kernels
        that are not needed. In the squared unit of the responses, which `noise_variance_` has, the
        coefficients are weights_ * y_scale_**2.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        Variance of the noise, in the squared unit of the responses.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of training Gram matrices. The
        shares sum to one.
    alignment_ : float
        Centered alignment of the learned kernel with the responses on the training set.
    objective_ : float
        The minimum of the objective, on the scale of -2 ln p.
    log_marginal_likelihood_ : float
        The log marginal likelihood for "marginal_likelihood", and its lower bound for "vb"; not
        defined for other objectives. It refers to the responses as given, minus their means if they
        are normalized, and is summed over several responses.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each step of the best search.
    history_ : list of ObjectiveStep
    n_iter_ : int
    dual_gap_ : float
        Proven bound on the relative distance of the objective from its optimum, for "mkl" only.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Coefficients of the latent mean, which is k(x)'dual_coef_, in the unit of the normalized
        responses.
    rows_ : ndarray of int of shape (n_samples,)
        Indices of the training samples that `cholesky_` and `scale_` refer to, in their order: the
        samples of positive weight, and only the first of several equal samples.
    cholesky_ : ndarray of shape (n_outputs, n_samples, n_samples)
        The lower factors L in the latent variances k(x, x) - |L^-1 (s * k(x))|^2.
    scale_ : ndarray of shape (n_outputs, n_samples)
        The factors s in the latent variances.
    y_mean_, y_scale_ : ndarray of shape (n_outputs,)
        The normalized responses are (y - y_mean_) / y_scale_.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    BayesianMKLClassifier : Gaussian-process classification with a learned kernel.
    MKLRegressor : Other norms and losses, without uncertainties.
    TwoStageRegressor : Learns the kernel first, by alignment, which is faster.

    Notes
    -----
    Each step is a joint Newton step in latent values and weights [1]_, which takes O(n^3 + p n^2)
    time for p kernels. Learned Gaussian noise is treated as the weight of one more kernel, the
    identity. Parameters of kernels are learned by L-BFGS, together with weights and noise; each
    evaluation takes O(n^3 + p n^2 d) time, and no array is larger than n x n. A few n x n matrices
    are kept in memory, and also the p Gram matrices if they fit into a quarter of the working
    memory. Several responses share the kernel, and the noise relative to the sizes of the
    responses.

    Sample weights multiply the log-likelihoods of the samples. If the noise is learned, weights are
    scaled to a median of one, and the variance of the noise is learned first, without weights and
    with each copied row once: weights and copies show no noise, so that the likelihood would
    increase without bound as the noise vanishes. Rows with equal features and different responses
    do show the noise, and all of them count, as do rows of a few categories that are equal by
    chance. If `noise` is given, a sample of weight w has the noise variance noise / w.

    References
    ----------
    .. [1] H. Nickisch, M. Seeger (2011). Multiple kernel learning: a unifying probabilistic
       viewpoint. arXiv:1103.0897, sections 2 and 3.
    .. [2] C. Rasmussen, C. Williams (2006). Gaussian processes for machine learning, section 5.4.1,
       for the gradient.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import BayesianMKLRegressor
    >>> X, y = make_friedman1(200, noise=1.0, random_state=0)
    >>> model = BayesianMKLRegressor().fit(X[:100], y[:100])
    >>> mean, std = model.predict(X[100:], return_std=True, include_noise=True)
    >>> intervals = model.predict_interval(X[100:], coverage=0.9)
    >>> model.score(X[100:], y[100:]) > 0.7
    True
    """

    # Laplace's approximation is exact for Gaussian noise, and not defined for Laplace noise.
    _objectives = ("marginal_likelihood", "vb", "map", "mkl")

    kernels: KernelDictionary = None
    _: KW_ONLY
    likelihood: Literal["gaussian", "laplace"] = "gaussian"
    objective: Literal["marginal_likelihood", "vb", "map", "mkl"] = "marginal_likelihood"
    noise: float | None = None
    weight_penalty: float = 1.0
    norm: float = 1.0
    jitter: float = 0.1
    normalize_y: bool = True
    learn_parameters: bool = False
    n_starts: int = 2
    tol: float = 1e-4
    max_iter: int = 200
    verbose: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("likelihood", self.likelihood, ("gaussian", "laplace"))
        if self.likelihood == "laplace" and self.objective == "marginal_likelihood":
            raise ValueError(
                'objective="marginal_likelihood" is in closed form for likelihood="gaussian" only; '
                'objective="vb" bounds it for likelihood="laplace".'
            )
        if self.noise is not None:
            check_positive("noise", self.noise)
        check_bool("normalize_y", self.normalize_y)

    def _merged(self, data: TrainingData) -> TrainingData:
        return super()._merged(data) if self.noise is not None else data.observed_once()

    def _encoded(self, data: TrainingData, target: Target) -> Array:
        responses = super()._encoded(data, target)
        self.y_mean_, self.y_scale_ = np.zeros(responses.shape[1]), np.ones(responses.shape[1])
        if self.normalize_y:
            self.y_mean_ = data.weights.mean(responses)
        if self.normalize_y or responses.shape[1] > 1:
            sizes = data.weights.mean(np.square(responses - self.y_mean_))
            # A given noise is the same for all responses, so they share one scale.
            sizes = sizes if self.noise is None else np.full_like(sizes, sizes.mean())
            self.y_scale_ = np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
        return np.asarray((responses - self.y_mean_) / self.y_scale_)

    def _known_noise(self) -> float | None:
        if self.noise is None:
            return None
        return float(self.noise) / float(self.y_scale_[0] ** 2)

    def _store(self, data: TrainingData, target: Target, learned: Any) -> None:
        variances = learned.machines.noise * self.y_scale_**2
        self.noise_variance_ = float(variances[0]) if self._is_response_flat else variances
        super()._store(data, target, learned)
        if hasattr(self, "log_marginal_likelihood_"):
            # The density of a response is the density of the normalized response over y_scale_.
            self.log_marginal_likelihood_ -= data.weights.total * float(np.log(self.y_scale_).sum())

    def predict(
        self,
        X: Features,
        return_std: bool = False,
        *,
        include_noise: bool = False,
        diagonal: PerSample = None,
    ) -> Array | tuple[Array, Array]:
        """Predict responses.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".
        return_std : bool, default=False
            Whether to also return standard deviations. They are not available for Laplace noise
            with the objective "map" or "mkl".
        include_noise : bool, default=False
            Whether the standard deviations refer to new responses, sqrt(latent variance +
            noise_variance_), rather than to the latent function. By default, the noise is left out,
            as scikit-learn's GaussianProcessRegressor leaves out its `alpha`.
            (GaussianProcessRegressor includes the noise of a WhiteKernel.)
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            The precomputed kernels of each new sample with itself. It may be left out if the
            diagonals of the training Gram matrices are constant.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Returned only if `return_std` is true.
        """
        if not return_std:
            return self._shaped(self._means(X) * self.y_scale_ + self.y_mean_)
        means, variances = self._means_and_variances(X, diagonal)
        variances = variances * self.y_scale_**2
        if include_noise:
            variances = variances + self.noise_variance_
        means = means * self.y_scale_ + self.y_mean_
        return self._shaped(means), self._shaped(np.sqrt(variances))

    def _expansion(self) -> KernelExpansion:
        found = replace(self._latent_expansion(), scale="response")
        return found.decoded(TargetEncoding(self.y_mean_, self.y_scale_, None))

    def predict_interval(
        self, X: Features, coverage: float = 0.9, *, diagonal: PerSample = None
    ) -> Array:
        """Predict intervals that contain a new response with a given probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".
        coverage : float, default=0.9
            Probability under the posterior, between zero and one.
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            The precomputed kernels of each new sample with itself; see `predict`.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends, at equal distances from the predicted mean.

        Raises
        ------
        ValueError
            If the coverage is not between zero and one, or standard deviations are not available,
            as for Laplace noise with the objective "map" or "mkl".

        Notes
        -----
        Intervals include the noise of the response. The latent posterior is Gaussian. With Gaussian
        noise, half the width of an interval is a normal quantile times the standard deviation; with
        Laplace noise, it is a quantile of the sum of a Gaussian and a Laplace variable.

        The coverage is a probability under the model. The jackknife+ intervals of
        `KernelStackingRegressor` assume no distribution.
        """
        check_coverage(coverage)
        means, latent = self._means_and_variances(X, diagonal)
        latent = latent * self.y_scale_**2
        if self.likelihood == "laplace":
            widths = laplace_half_widths(latent, self.noise_variance_, coverage)
        else:
            widths = norm.ppf(0.5 + 0.5 * coverage) * np.sqrt(latent + self.noise_variance_)
        means = means * self.y_scale_ + self.y_mean_
        ends = np.stack([means - widths, means + widths], axis=-1)
        return ends[:, 0] if self._is_response_flat else ends


def laplace_half_widths(latent: Array, noise: Array | float, coverage: float) -> Array:
    """Compute half-widths of intervals about zero for the sum of a Gaussian and a Laplace variable.

    Parameters
    ----------
    latent : ndarray of shape (n_samples, n_outputs)
        Variances of the Gaussian variables.
    noise : float or ndarray of shape (n_outputs,)
        Variance of the Laplace variable, positive.
    coverage : float
        Probability that the sum is in the interval, between zero and one.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)

    Notes
    -----
    Let s be the standard deviation of the Gaussian variable, b the scale of the Laplace variable
    and r = s / b. The sum is below h with a probability of
    Phi(h/s) - [e^(r^2/2 - h/b) Phi(h/s - r) - e^(r^2/2 + h/b) Phi(-h/s - r)] / 2.
    The half-width is found by bisection below Chebyshev's bound.

    Examples
    --------
    >>> import numpy as np
    >>> laplace_half_widths(np.array([[0.0], [1.0]]), 2.0, 0.95).round(2)
    array([[3.  ],
           [3.5]])
    """
    scale = np.sqrt(np.asarray(noise) / 2.0)
    # A standard deviation of 1e-8 of the noise changes no quantile and avoids a division by zero.
    deviation = np.maximum(np.sqrt(latent), 1e-8 * scale)
    low = np.zeros_like(deviation)
    high = np.sqrt((deviation**2 + np.asarray(noise)) / (1.0 - coverage))
    # Sixty halvings are exact up to rounding errors.
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = 2.0 * _distribution(middle, deviation, scale) - 1.0 < coverage
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


def _distribution(value: Array, deviation: Array, scale: Array) -> Array:
    """Return the probability that the sum is at most a given non-negative value."""
    ratio, standard = deviation / scale, value / deviation
    rising = 0.5 * ratio**2 - value / scale + log_ndtr(standard - ratio)
    falling = 0.5 * ratio**2 + value / scale + log_ndtr(-standard - ratio)
    return np.asarray(ndtr(standard) - 0.5 * (np.exp(rising) - np.exp(falling)))
