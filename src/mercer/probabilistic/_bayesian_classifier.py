"""Gaussian-process classification with a learned sum of kernels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._targets import Target, one_against_rest
from mercer._typing import Array, Features
from mercer.probabilistic._bayesian_mkl import BayesianMKL
from mercer.probabilistic._likelihoods import LogisticLikelihood
from mercer.probabilistic._model import Settings


class BayesianMKLClassifier(ClassifierMixin, BayesianMKL):
    """Class probabilities from a Gaussian process whose kernel is a learned sum of kernels.

    With latent values u of the kernel K = sum theta_m K_m and the logistic likelihood, weights are
    learned by a bound of the marginal likelihood ("vb"), together with the mode of u ("map"), or
    under a penalty on their size ("mkl"). No setting needs cross-validation for "vb".

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. "precomputed" takes stacks of Gram matrices of
        shape (n_samples, n_samples, n_kernels) for X.
    objective : {"vb", "map", "mkl"}, default="vb"
        "vb" bounds the marginal likelihood and is the one whose probabilities are calibrated. "map"
        drops a term of it, which makes it sparser. "mkl" is convex.
    penalty : float, default=1.0
        Of "mkl", which adds penalty sum theta^norm: the larger, the smoother the function.
    norm : float, default=1.0
        Of "mkl"; at least 1. The smaller, the sparser the weights.
    jitter : float, default=2.0
        Of "map": variance of white noise in the latent function, in mean diagonals of the kernels.
        Joint MAP falls without bound as it vanishes, so that small values find no kernel at all; a
        warning says so.
    learn_parameters : bool, default=False
        Whether "vb" also learns the kernels' own parameters, within their bounds, from the best of
        three scales of their widths.
    n_starts : int, default=2
        Searches from different scales of the weights, of which the best is kept; "mkl", which has
        no other optima, takes one.
    tol : float, default=1e-4
        Relative precision of the objective.
    max_iter : int, default=200
        Steps of each search at most.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : WeightedSum
        The learned kernel, callable.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, zero for those that are not needed.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the learned training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the labels on the training set.
    objective_ : float
        What was minimized, on the -2 log scale.
    log_marginal_likelihood_ : float
        Of "vb": the lower bound of it, summed over classes where there are more than two.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each step of the search that won.
    history_ : list of ObjectiveStep
    n_iter_ : int
    dual_gap_ : float
        Of "mkl": proven bound on how far the objective is above its optimum, relative to it.
    dual_coef_ : ndarray of shape (n_samples, n_problems)
        alpha: the latent mean is k(x)'alpha.
    cholesky_, scale_ : ndarray of shape (n_problems, n_samples, n_samples), (n_problems, n_samples)
        Factors of the latent variance.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    BayesianMKLRegressor : For responses.
    MKLClassifier : The hinge loss, for large margins in place of probabilities.
    TwoStageClassifier : Learns the kernel first, by alignment, which is faster.

    Notes
    -----
    Latent functions have mean zero: wide kernels, or a constant one, take the place of an
    intercept. More than two classes have a latent function each, against the rest, that share one
    kernel; their probabilities are divided by their sum.

    Each step of the search is Newton's in latent values and weights together [1]_, O(n^3 + p n^2)
    for each latent function, and memory is a few n x n matrices and, where they fit into a quarter
    of the working memory, the p Gram matrices.

    References
    ----------
    .. [1] H. Nickisch, M. Seeger (2011). Multiple kernel learning: a unifying probabilistic
       viewpoint. arXiv:1103.0897, sections 2 and 3.
    .. [2] T. Jaakkola, M. Jordan (2000). Bayesian parameter estimation via variational methods.
       Statistics and Computing 10, for the bound.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mercer import BayesianMKLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BayesianMKLClassifier().fit(scale(X)[:200], y[:200])
    >>> model.score(scale(X)[200:], y[200:]) > 0.94
    True
    >>> model.predict_proba(scale(X)[200:202]).shape
    (2, 2)
    """

    _task = "classification"
    _objectives = ("vb", "map", "mkl")

    classes_: NDArray[Any]

    def __init__(
        self,
        kernels: Any = None,
        *,
        objective: Literal["vb", "map", "mkl"] = "vb",
        penalty: float = 1.0,
        norm: float = 1.0,
        jitter: float = 2.0,
        learn_parameters: bool = False,
        n_starts: int = 2,
        tol: float = 1e-4,
        max_iter: int = 200,
    ) -> None:
        self.kernels = kernels
        self.objective = objective
        self.penalty = penalty
        self.norm = norm
        self.jitter = jitter
        self.learn_parameters = learn_parameters
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter

    def predict(self, X: Features, diagonal: Any = None) -> NDArray[Any]:
        """Predict the most probable classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            Of precomputed kernels and more than two classes, as in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            # One half is where the latent mean changes its sign, whatever its variance.
            return self.classes_[(self._means(X)[:, 0] > 0.0).astype(int)]
        return self.classes_[self.predict_proba(X, diagonal).argmax(axis=1)]

    def predict_proba(self, X: Features, diagonal: Any = None) -> Array:
        """Class probabilities, integrated over the posterior of the latent functions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            Of precomputed kernels: values of each new sample with itself. Not needed where they
            were one constant on the training set.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; for more than two, each class's own probability divided by
            their sum.
        """
        means, variances = self._means_and_variances(X, diagonal)
        likelihood = LogisticLikelihood()
        own = np.column_stack(
            [likelihood.probability(m, v) for m, v in zip(means.T, variances.T, strict=True)]
        )
        if own.shape[1] == 1:
            return np.hstack([1.0 - own, own])
        return np.asarray(own / own.sum(axis=1, keepdims=True))

    def predict_latent(self, X: Features, diagonal: Any = None) -> tuple[Array, Array]:
        """Means and standard deviations of the latent functions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) where `kernels` is "precomputed".
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            Of precomputed kernels, as in `predict_proba`.

        Returns
        -------
        mean, std : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive means speak for ``classes_[1]``.
        """
        means, variances = self._means_and_variances(X, diagonal)
        std = np.sqrt(variances)
        return (means[:, 0], std[:, 0]) if means.shape[1] == 1 else (means, std)

    def _targets(self, y: Any, target: Target) -> Array:
        assert target.classes is not None
        self.classes_ = target.classes
        return one_against_rest(y, self.classes_)

    def _settings(self) -> Settings:
        return Settings(
            objective=self.objective,
            likelihood="logistic",
            noise=None,
            jitter=float(self.jitter),
            penalty=float(self.penalty),
            norm=float(self.norm),
            learns_parameters=bool(self.learn_parameters),
            n_starts=int(self.n_starts),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
