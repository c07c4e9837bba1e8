"""Gaussian-process regression with a learned sum of kernels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, check_array

from mercer._targets import Target
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_positive
from mercer.probabilistic._bayesian_mkl import BayesianMKL
from mercer.probabilistic._model import LearnedModel, Settings


class BayesianMKLRegressor(RegressorMixin, BayesianMKL):
    """Responses with uncertainties, from a Gaussian process whose kernel is a learned sum.

    With latent values u of the kernel K = sum theta_m K_m, weights and noise are learned by the
    marginal likelihood ("mlm"), a bound of it ("vb"), together with the mode of u ("map"), or under
    a penalty on their size ("mkl"). No setting needs cross-validation for "mlm" and "vb".

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. "precomputed" takes stacks of Gram matrices of
        shape (n_samples, n_samples, n_kernels) for X.
    likelihood : {"gaussian", "laplace"}, default="gaussian"
        Noise of the responses; "laplace" is robust to outliers.
    objective : {"mlm", "vb", "map", "mkl"}, default="mlm"
        "mlm", the marginal likelihood itself, is for Gaussian noise, where "vb" is the same. "vb"
        bounds it for Laplace noise. "map" drops a term of it, which makes it sparser. "mkl" is
        convex.
    noise : float or None, default=None
        Variance of the noise, in the squared unit of the responses. None learns it; by the marginal
        likelihood also for "map" and "mkl", whose own objectives fall without bound as it vanishes.
    penalty : float, default=1.0
        Of "mkl", which adds penalty sum theta^norm: the larger, the smoother the function.
    norm : float, default=1.0
        Of "mkl"; at least 1. The smaller, the sparser the weights.
    jitter : float, default=0.1
        Of "map": variance of white noise in the latent function, in mean diagonals of the kernels
        times the variance of the responses. Joint MAP falls without bound as it vanishes, so that
        small values find no kernel at all; a warning says so.
    normalize_y : bool, default=True
        Whether responses are brought to mean zero and variance one before anything else; latent
        functions have mean zero. Predictions are in their own unit either way, `objective_` and
        `log_marginal_likelihood_` are those of the normalized responses.
    learn_parameters : bool, default=False
        Whether "mlm" and "vb" also learn the kernels' own parameters, within their bounds, from the
        best of three scales of their widths.
    n_starts : int, default=2
        Searches from different scales of the weights, of which the best is kept; "mkl", which has
        no other optima, takes one.
    tol : float, default=1e-4
        Relative precision of the objective.
    max_iter : int, default=200
        Steps of each search at most.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable, of the normalized responses.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, zero for those that are not needed.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        Variance of the noise, in the squared unit of the responses.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the learned training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the responses on the training set.
    objective_ : float
        What was minimized, on the -2 log scale.
    log_marginal_likelihood_ : float
        Of "mlm"; of "vb" the lower bound of it; summed over several responses.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each step of the search that won.
    history_ : list of ObjectiveStep
    n_iter_ : int
    dual_gap_ : float
        Of "mkl": proven bound on how far the objective is above its optimum, relative to it.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        alpha: the latent mean is k(x)'alpha, of the normalized responses.
    cholesky_, scale_ : ndarray of shape (n_outputs, n_samples, n_samples), (n_outputs, n_samples)
        Factors of the latent variance.
    y_mean_, y_scale_ : ndarray of shape (n_outputs,)
        What normalized the responses.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    BayesianMKLClassifier : For classes.
    MKLRegressor : Other norms and losses, without uncertainties.
    TwoStageRegressor : Learns the kernel first, by alignment, which is faster.

    Notes
    -----
    Each step of the search is Newton's in latent values and weights together [1]_, with the noise
    as one more kernel, the identity: O(n^3 + p n^2). Parameters of kernels are learned by L-BFGS,
    together with weights and noise; each evaluation is O(n^3 + p n^2 d), and no array is larger
    than n x n. Memory is a few n x n matrices and, where they fit into a quarter of the working
    memory, the p Gram matrices. Several responses share kernel and noise.

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
    >>> mean, std = model.predict(X[100:], return_std=True)
    >>> model.score(X[100:], y[100:]) > 0.7
    True
    """

    _task = "regression"
    _objectives = ("mlm", "vb", "map", "mkl")

    def __init__(
        self,
        kernels: Any = None,
        *,
        likelihood: Literal["gaussian", "laplace"] = "gaussian",
        objective: Literal["mlm", "vb", "map", "mkl"] = "mlm",
        noise: float | None = None,
        penalty: float = 1.0,
        norm: float = 1.0,
        jitter: float = 0.1,
        normalize_y: bool = True,
        learn_parameters: bool = False,
        n_starts: int = 2,
        tol: float = 1e-4,
        max_iter: int = 200,
    ) -> None:
        self.kernels = kernels
        self.likelihood = likelihood
        self.objective = objective
        self.noise = noise
        self.penalty = penalty
        self.norm = norm
        self.jitter = jitter
        self.normalize_y = normalize_y
        self.learn_parameters = learn_parameters
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter

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
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".
        return_std : bool, default=False
            Whether to return standard deviations too; not for Laplace noise by "map" or "mkl".
        include_noise : bool, default=False
            Whether they are those of a new response, rather than of the latent function.
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            Of precomputed kernels: values of each new sample with itself. Not needed where they
            were one constant on the training set.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Only where `return_std` is true.
        """
        if not return_std:
            return self._shaped(self._means(X) * self.y_scale_ + self.y_mean_)
        means, variances = self._means_and_variances(X, diagonal)
        variances = variances * self.y_scale_**2
        if include_noise:
            variances = variances + self.noise_variance_
        means = means * self.y_scale_ + self.y_mean_
        return self._shaped(means), self._shaped(np.sqrt(variances))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._one_column else values

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("likelihood", self.likelihood, ("gaussian", "laplace"))
        if self.likelihood == "laplace" and self.objective == "mlm":
            raise ValueError(
                'objective="mlm" is in closed form for likelihood="gaussian" only; '
                'objective="vb" bounds it for likelihood="laplace".'
            )
        if self.noise is not None:
            check_positive("noise", self.noise)
        if not isinstance(self.normalize_y, bool | np.bool_):
            raise ValueError(f"normalize_y must be True or False; got {self.normalize_y!r}.")

    def _targets(self, y: Any, target: Target) -> Array:
        responses = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        self._one_column = responses.ndim == 1
        responses = responses.reshape(len(responses), -1)
        self.y_mean_ = np.zeros(responses.shape[1])
        self.y_scale_ = np.ones(responses.shape[1])
        if self.normalize_y:
            self.y_mean_, self.y_scale_ = responses.mean(axis=0), responses.std(axis=0)
        return np.asarray((responses - self.y_mean_) / self.y_scale_)

    def _settings(self) -> Settings:
        noise = None
        if self.noise is not None:
            noise = float(self.noise) / float(np.mean(self.y_scale_**2))
        return Settings(
            objective=self.objective,
            likelihood=self.likelihood,
            noise=noise,
            jitter=float(self.jitter),
            penalty=float(self.penalty),
            norm=float(self.norm),
            learns_parameters=bool(self.learn_parameters),
            n_starts=int(self.n_starts),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )

    def _store(self, model: LearnedModel, target: Array) -> None:
        super()._store(model, target)
        assert model.noise is not None
        noise = model.noise * self.y_scale_**2
        self.noise_variance_ = float(noise[0]) if self._one_column else noise
