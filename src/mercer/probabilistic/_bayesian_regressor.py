"""Gaussian-process regression with a learned sum of kernels."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from mercer._data.sample import TargetEncoding
from mercer._expansion import KernelExpansion
from mercer._kernel_estimator import TrainingData
from mercer._one_stage.base import Regressor
from mercer._targets import Target
from mercer._typing import Array, Features
from mercer._validation import check_bool, check_choice, check_coverage, check_positive
from mercer.probabilistic._bayesian_mkl import BayesianMKL


@dataclass(eq=False, repr=False)
class BayesianMKLRegressor(Regressor, BayesianMKL):
    """Responses with uncertainties, from a Gaussian process whose kernel is a learned sum.

    The latent function has the kernel K = sum weights_m K_m. The weights and the noise maximize the
    marginal likelihood or a bound of it, or the weights are found together with the mode of the
    latent values.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; None
        for 20 Gaussian widths that are chosen by the distances of the data. "precomputed" takes
        stacks of Gram matrices of shape (n_samples, n_samples, n_kernels) for X.
    likelihood : {"gaussian", "laplace"}, default="gaussian"
        Noise of the responses; "laplace" is robust to outliers.
    objective : {"marginal_likelihood", "vb", "map", "mkl"}, default="marginal_likelihood"
        "marginal_likelihood" is in closed form for Gaussian noise only, and has nothing to set.
        "vb", its variational bound, is for Laplace noise; for Gaussian noise it is the same. "map"
        maximizes the joint density of latent values and weights, and is sparser. "mkl" penalizes
        the size of the weights, and is convex.
    noise : float or None, default=None
        Variance of the noise, in the squared unit of the responses. None learns it, for "map" and
        "mkl" by the bound "vb", as their own objectives decrease without bound as it vanishes.
    weight_penalty : float, default=1.0
        Used by "mkl", which adds weight_penalty sum weights^norm: larger penalties give smoother
        functions. The weights are those of the kernels as given, so that a kernel of larger
        values costs less; divide kernels by their mean diagonals to treat them alike.
    norm : float, default=1.0
        Used by "mkl"; at least 1. The smaller it is, the sparser the weights.
    jitter : float, default=0.1
        Used by "map": variance of white noise in the latent function, relative to the mean
        diagonals of the kernels and the variance of the responses. Joint MAP decreases without
        bound as it vanishes, so that no kernel is found if it is small; a warning says so.
    normalize_y : bool, default=True
        Whether the responses are normalized to mean zero and variance one before anything else, as
        latent functions have mean zero. Otherwise, one response is taken as it is, and several are
        divided by the roots of their mean squares, as they share kernel and noise; by a common one
        if `noise` is given. Predictions and `log_marginal_likelihood_` are in the unit
        of the responses either way; `objective_` is that of the normalized responses.
    learn_parameters : bool, default=False
        Whether "marginal_likelihood" and "vb" also learn the kernels' own parameters, within their
        bounds, from the best of three scales of their widths.
    n_starts : int, default=2
        Number of searches from different scales of the weights; the best is kept. "mkl" takes
        one, as it has a single optimum.
    tol : float, default=1e-4
        Relative precision of the objective.
    max_iter : int, default=200
        Largest number of steps of each search.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable, of the normalized responses.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, zero for those that are not needed.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        Variance of the noise, in the squared unit of the responses.
    shares_ : ndarray of shape (n_kernels,)
        Fraction of each kernel in the trace of the learned training Gram matrix; their sum is one.
    alignment_ : float
        Centered alignment of the learned kernel with the responses on the training set.
    objective_ : float
        The minimum of the objective, on the -2 log scale.
    log_marginal_likelihood_ : float
        Defined for "marginal_likelihood" and, as the lower bound, for "vb"; of the responses as
        they were given, less their means if they are normalized; the sum over several responses.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each step of the best search.
    history_ : list of ObjectiveStep
    n_iter_ : int
    dual_gap_ : float
        Defined for "mkl": a proven bound on the relative distance of the objective from its
        optimum.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        The latent mean is k(x)'dual_coef_, in the unit of the normalized responses.
    rows_ : ndarray of int of shape (n_samples,)
        Indices of the training samples in the order of the factors: those of positive weight, of
        equal ones the first.
    cholesky_ : ndarray of shape (n_outputs, n_samples, n_samples)
        A factor of the latent variance.
    scale_ : ndarray of shape (n_outputs, n_samples)
        The other factor.
    y_mean_, y_scale_ : ndarray of shape (n_outputs,)
        The normalized responses are (y - y_mean_) / y_scale_.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    BayesianMKLClassifier : For classes.
    MKLRegressor : Other norms and losses, without uncertainties.
    TwoStageRegressor : Learns the kernel first, by alignment, which is faster.

    Notes
    -----
    Each step is a Newton step in latent values and weights together [1]_, O(n^3 + p n^2) for p
    kernels; learned Gaussian noise is the weight of one more kernel, the identity. Parameters of
    kernels are learned by L-BFGS, together with weights and noise; each evaluation is
    O(n^3 + p n^2 d), and no array is larger than n x n. Memory is a few n x n matrices and, if they
    fit into a quarter of the working memory, the p Gram matrices. Several responses share kernel
    and noise relative to their sizes.

    Weights of samples multiply the logarithms of their likelihoods. As samples given twice have
    equal responses, learned noise may vanish if the weights sum to more than the number of samples:
    give `noise` then, or scale the weights.

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

    kernels: Any = None
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

    def _encoded(self, data: TrainingData, target: Target) -> Array:
        responses = super()._encoded(data, target)
        self.y_mean_, self.y_scale_ = np.zeros(responses.shape[1]), np.ones(responses.shape[1])
        if self.normalize_y:
            self.y_mean_ = data.weights.mean(responses)
        if self.normalize_y or responses.shape[1] > 1:
            sizes = data.weights.mean(np.square(responses - self.y_mean_))
            # Of a given noise, all responses have the same.
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
            # Densities of responses are those of normalized ones, divided by the deviation.
            self.log_marginal_likelihood_ -= data.weights.total * float(np.log(self.y_scale_).sum())

    def predict(
        self,
        X: Features,
        return_std: bool = False,
        *,
        include_noise: bool = False,
        diagonal: Any = None,
    ) -> Any:
        """Predict responses.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".
        return_std : bool, default=False
            Whether to return standard deviations too. There are none for Laplace noise by "map" or
            "mkl".
        include_noise : bool, default=False
            Whether standard deviations are those of new responses, sqrt(latent variance +
            noise_variance_), and not of the latent function. By default noise is left out, as
            scikit-learn's GaussianProcessRegressor leaves out its `alpha`; that estimator includes
            the noise of a WhiteKernel.
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            The precomputed kernels of each new sample with itself. It may be left out if the
            diagonals of the training set are constant.

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
        self, X: Features, coverage: float = 0.9, *, diagonal: Any = None
    ) -> Array:
        """Intervals that hold a new response, noise included, with a given probability.

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
            If the coverage is not between zero and one, or there are no standard deviations, as for
            Laplace noise by "map" or "mkl".

        Notes
        -----
        The latent posterior is Gaussian. With Gaussian noise the interval is the mean and a normal
        quantile of std; with Laplace noise, a quantile of the sum of both variables.

        The probability is that of the model. The jackknife+ intervals of `KernelStackingRegressor`
        assume no distribution.
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
    """Half-widths of the intervals about zero that hold the sum of a Gaussian and a Laplace value.

    Parameters
    ----------
    latent : ndarray of shape (n_samples, n_outputs)
        Variances of the Gaussian values.
    noise : float or ndarray of shape (n_outputs,)
        Variance of the Laplace value, positive.
    coverage : float
        Probability, between zero and one.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)

    Notes
    -----
    With the standard deviation s and the scale b, and r = s / b, the sum is below h with a
    probability of Phi(h/s) - [e^(r^2/2 - h/b) Phi(h/s - r) - e^(r^2/2 + h/b) Phi(-h/s - r)] / 2.
    The half-width is found by bisection below Chebyshev's bound.

    Examples
    --------
    >>> import numpy as np
    >>> laplace_half_widths(np.array([[0.0], [1.0]]), 2.0, 0.95).round(2)
    array([[3.  ],
           [3.5]])
    """
    scale = np.sqrt(np.asarray(noise) / 2.0)
    # A deviation of 1e-8 of the noise changes no quantile, and leaves no division by zero.
    deviation = np.maximum(np.sqrt(latent), 1e-8 * scale)
    low = np.zeros_like(deviation)
    high = np.sqrt((deviation**2 + np.asarray(noise)) / (1.0 - coverage))
    # Sixty halvings leave rounding errors only.
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = 2.0 * _distribution(middle, deviation, scale) - 1.0 < coverage
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


def _distribution(value: Array, deviation: Array, scale: Array) -> Array:
    """Probability that the sum is at most a value that is not negative."""
    ratio, standard = deviation / scale, value / deviation
    rising = 0.5 * ratio**2 - value / scale + log_ndtr(standard - ratio)
    falling = 0.5 * ratio**2 + value / scale + log_ndtr(-standard - ratio)
    return np.asarray(ndtr(standard) - 0.5 * (np.exp(rising) - np.exp(falling)))
