"""Base class of the probabilistic estimators, and Gaussian-process classification."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._data.types import Array, ClassWeight, Features, PerSample
from mercer._data.validation import check_bool, check_choice, check_number, check_positive, warn
from mercer._estimators.kernel_estimator import TrainingData, kernel_rows, new_samples
from mercer._estimators.one_stage.base import Classifier, LearnedMachines, OneStage, Report
from mercer._gram.expansion import KernelExpansion
from mercer._gram.sample_expansion import expansion_at_samples
from mercer._model_selection.calibration import normalized_probabilities
from mercer._search.targets import Target
from mercer.kernels import Kernel
from mercer.kernels._composition import trace_shares
from mercer.kernels._conversion import KernelDictionary
from mercer.probabilistic._likelihoods import LogisticLikelihood
from mercer.probabilistic._majorizer import LatentPosterior
from mercer.probabilistic._model import LikelihoodName, ObjectiveName, Settings, learn_model


class BayesianMKL(OneStage):
    """Base class of the estimators that learn a kernel by a probabilistic objective."""

    _objectives: ClassVar[tuple[ObjectiveName, ...]]
    _conditions: ClassVar[dict[str, str]] = {
        "log_marginal_likelihood_": "objective is 'vb', 'laplace' or 'marginal_likelihood'",
        "dual_gap_": "objective='mkl'",
        "diagonal_": "kernels='precomputed'",
    }

    likelihood: LikelihoodName = "logistic"
    objective: ObjectiveName
    weight_penalty: float
    norm: float
    jitter: float
    learn_parameters: bool
    n_starts: int
    tol: float
    max_iter: int

    cholesky_: Array
    scale_: Array
    rows_: Array
    diagonal_: Array

    def _merged(self, data: TrainingData) -> TrainingData:
        return data.merged()

    def _n_gram_matrices(self) -> int:
        if self.learn_parameters:
            return 3
        # Regression with "mkl" first learns the noise by another objective, unless it is given.
        if self.objective == "mkl" and getattr(self, "noise", 1.0) is not None:
            return 5
        # With several starts, the best earlier result is kept in memory beside the current search.
        return 8 if self.n_starts == 1 else 11

    def _check_parameters(self) -> None:
        check_choice("objective", self.objective, self._objectives)
        check_positive("weight_penalty", self.weight_penalty)
        check_number("norm", self.norm, low=1.0)
        check_positive("jitter", self.jitter)
        check_bool("learn_parameters", self.learn_parameters)
        if self.learn_parameters and self.objective not in ("marginal_likelihood", "vb"):
            raise ValueError(
                'learn_parameters=True needs objective="marginal_likelihood" or "vb"; '
                f"got objective={self.objective!r}."
            )
        if self.learn_parameters and self._takes_stack():
            raise ValueError(
                "learn_parameters=True needs kernels of features; precomputed Gram matrices have "
                "no parameters."
            )
        check_number("n_starts", self.n_starts, whole=True, low=1)
        check_positive("tol", self.tol)
        check_number("max_iter", self.max_iter, whole=True, low=1)
        check_bool("verbose", self.verbose)

    def _known_noise(self) -> float | None:
        """Return the noise variance, in the unit of the encoded targets; None if it is learned."""
        return None

    def _learn(
        self, data: TrainingData, kernels: list[Kernel], Y: Array, report: Report
    ) -> LearnedMachines:
        settings = Settings(
            objective=self.objective,
            likelihood=self.likelihood,
            noise=self._known_noise(),
            jitter=float(self.jitter),
            weight_penalty=float(self.weight_penalty),
            norm=float(self.norm),
            learns_parameters=bool(self.learn_parameters),
            n_starts=int(self.n_starts),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        samples, observed = (each.samples(len(kernels)) for each in (data, data.observed))
        model = learn_model(samples, kernels, Y, settings, report, observed=observed)
        shares = trace_shares(model.weights, model.traces)
        return LearnedMachines(model.kernels, model.weights, shares, model)

    def _store(self, data: TrainingData, target: Target, learned: Any) -> None:
        super()._store(data, target, learned)
        model = learned.machines
        self.cholesky_ = np.array([factor for factor, _ in model.posterior.factors])
        self.scale_ = np.array([scale for _, scale in model.posterior.factors])
        self.rows_ = np.arange(data.n_given) if data.kept is None else data.kept
        self.objective_history_ = np.array([step.objective for step in model.history])
        if self.objective in ("marginal_likelihood", "vb", "laplace"):
            self.log_marginal_likelihood_ = -0.5 * model.objective
        if data.stored is None:
            self.diagonal_ = np.einsum("iik->ik", data.X).copy()
        if model.collapsed:
            warn(
                "The objective is as low without any kernel: joint MAP has collapsed. Raise jitter "
                f"(now {self.jitter:g}), or choose an objective that does not collapse, such as "
                'objective="vb".'
            )
        if not model.converged:
            gap = "" if model.gap is None else f", with a relative duality gap of {model.gap:.2g}"
            advice = f"raise max_iter (now {self.max_iter}), or tol"
            # A fit may consist of several descents, each of at most `max_iter` steps.
            if self.n_iter_ < self.max_iter:
                advice = "rounding allows no further descent: raise tol"
            warn(
                f"Stopped after {self.n_iter_} steps before tol={self.tol:g} was reached{gap}: "
                f"{advice}.",
                ConvergenceWarning,
            )

    def _means(self, X: Features) -> Array:
        """Return posterior means of the latent functions, shape (n_new, n_problems)."""
        return self._posterior().means(kernel_rows(self, X)[:, self.rows_])

    def _latent_expansion(self) -> KernelExpansion:
        """Return the kernel expansion of the posterior means of the latent functions."""
        coefficients = np.zeros_like(self.dual_coef_)
        coefficients[self.rows_] = self.dual_coef_[self.rows_]
        none, samples = np.zeros(coefficients.shape[1]), partial(new_samples, self)
        return expansion_at_samples(self, coefficients, none, "latent mean", samples=samples)

    def _means_and_variances(self, X: Features, diagonal: PerSample) -> tuple[Array, Array]:
        """Return posterior means and variances, both of shape (n_new, n_problems)."""
        across, posterior = kernel_rows(self, X)[:, self.rows_], self._posterior()
        samples = new_samples(self, X)
        if self.X_fit_ is None:
            with_themselves = self._checked_diagonal(diagonal, len(samples)) @ self.weights_
        elif diagonal is None:
            with_themselves = self.kernel_.diag(samples)
        else:
            raise ValueError('diagonal is for kernels="precomputed" only.')
        return posterior.means(across), posterior.variances(across, with_themselves)

    def _checked_diagonal(self, diagonal: PerSample, n_samples: int) -> Array:
        """Validate the kernels of new samples with themselves, shape (n_samples, n_kernels)."""
        shape, fitted = (n_samples, self.weights_.size), self.diagonal_
        if diagonal is None:
            rounding = np.sqrt(np.finfo(float).eps) * np.abs(fitted).max()
            if np.ptp(fitted, axis=0).max() > rounding:
                raise ValueError(
                    "Variances need each new sample's kernels with itself: pass them as diagonal, "
                    "of shape (n_samples, n_kernels), because they differ between training samples."
                )
            return np.broadcast_to(fitted[0], shape)
        checked = check_array(diagonal, dtype=np.float64, input_name="diagonal")
        if checked.shape != shape:
            raise ValueError(
                f"diagonal must have shape {shape}, one value for each new sample and kernel; "
                f"got {checked.shape}."
            )
        return np.asarray(checked)

    def _posterior(self) -> LatentPosterior:
        check_is_fitted(self)
        factors = tuple(zip(self.cholesky_, self.scale_, strict=True))
        return LatentPosterior(self.dual_coef_[self.rows_], factors)


@dataclass(eq=False, repr=False)
class BayesianMKLClassifier(Classifier, BayesianMKL):
    """Gaussian process classifier whose kernel is a learned sum of given kernels.

    The class probabilities are a logistic function of a latent Gaussian process, whose covariance
    is the kernel K = sum weights_m K_m. Nothing has to be tuned: the weights maximize a bound on
    the marginal likelihood. Other objectives approximate the marginal likelihood, or find the
    weights together with the mode of the latent values.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the distances in the data. With "precomputed", X is a
        stack of Gram matrices of shape (n_samples, n_samples, n_kernels).
    objective : {"vb", "laplace", "map", "mkl"}, default="vb"
        "vb" maximizes the variational bound on the marginal likelihood. It has no parameters to
        choose, and its probabilities are calibrated. "laplace" maximizes Laplace's approximation of
        the marginal likelihood, a Gaussian about the mode of the latent values [3]_. "map"
        maximizes the joint density of latent values and weights, and gives sparser weights. "mkl"
        penalizes the size of the weights, and is convex.
    weight_penalty : float, default=1.0
        Used by "mkl" only, which adds weight_penalty * sum(weights^norm) to the objective. Larger
        penalties give smoother functions. The penalty applies to the weights of the kernels as
        given, so that a kernel with larger values costs less. Divide kernels by their mean
        diagonals to treat them equally.
    norm : float, default=1.0
        Used by "mkl" only; at least 1. The smaller the norm, the sparser the weights.
    jitter : float, default=2.0
        Used by "map" only: variance of white noise in the latent function, relative to the mean
        diagonals of the kernels. As the jitter vanishes, the objective of joint MAP decreases
        without bound. If the jitter is so small that no kernel is found, a warning is issued.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, by label, which multiplies the weights of its samples. `"balanced"`
        gives all classes the same total weight.
    learn_parameters : bool, default=False
        Whether "vb" also learns the parameters of the kernels, within their bounds. The search
        starts from the best of three scales of the kernel widths.
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
    classes_ : ndarray of shape (n_classes,)
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels; zero for kernels that are not needed.
    shares_ : ndarray of shape (n_kernels,)
        Shares of the kernels, by the traces of their training Gram matrices; they sum to one.
    alignment_ : float
        Centered alignment of the learned kernel with the labels on the training set.
    objective_ : float
        The minimum of the objective, on the scale of -2 ln p.
    log_marginal_likelihood_ : float
        The lower bound for "vb" and the approximation for "laplace"; not defined for other
        objectives. If there are more than two classes, the value is summed over them.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective after each step of the best search.
    history_ : list of ObjectiveStep
    n_iter_ : int
    dual_gap_ : float
        Proven bound on the relative distance of the objective from its optimum, for "mkl" only.
    dual_coef_ : ndarray of shape (n_samples, n_problems)
        Coefficients of the latent mean, which is k(x)'dual_coef_.
    rows_ : ndarray of int of shape (n_samples,)
        Indices of the training samples that `cholesky_` and `scale_` refer to, in their order: the
        samples of positive weight, and only the first of several equal samples.
    cholesky_ : ndarray of shape (n_problems, n_samples, n_samples)
        The lower factors L in the latent variances k(x, x) - |L^-1 (s * k(x))|^2.
    scale_ : ndarray of shape (n_problems, n_samples)
        The factors s in the latent variances.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    BayesianMKLRegressor : Gaussian-process regression with a learned kernel.
    MKLClassifier : Support vector machines and other kernel machines with a learned kernel.
    TwoStageClassifier : Learns the kernel first, by alignment, which is faster.

    Notes
    -----
    Latent functions have mean zero: wide kernels, or a constant kernel, replace an intercept. If
    there are more than two classes, there is one latent function for each class against the rest.
    All of these functions share one kernel, and their probabilities are divided by their sum.

    Each step is a joint Newton step in latent values and weights [1]_. For p kernels, it takes
    O(n^3 + p n^2) time for each latent function. A few n x n matrices are kept in memory, and also
    the p Gram matrices if they fit into a quarter of the working memory.

    References
    ----------
    .. [1] H. Nickisch, M. Seeger (2011). Multiple kernel learning: a unifying probabilistic
       viewpoint. arXiv:1103.0897, sections 2 and 3.
    .. [2] T. Jaakkola, M. Jordan (2000). Bayesian parameter estimation via variational methods.
       Statistics and Computing 10, for the bound.
    .. [3] C. Rasmussen, C. Williams (2006). Gaussian processes for machine learning, sections 3.4
       and 5.5.1, for Laplace's approximation and its gradient.

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

    _objectives = ("vb", "laplace", "map", "mkl")

    kernels: KernelDictionary = None
    _: KW_ONLY
    objective: Literal["vb", "laplace", "map", "mkl"] = "vb"
    weight_penalty: float = 1.0
    norm: float = 1.0
    jitter: float = 2.0
    class_weight: ClassWeight = None
    learn_parameters: bool = False
    n_starts: int = 2
    tol: float = 1e-4
    max_iter: int = 200
    verbose: bool = False

    def predict(self, X: Features, diagonal: PerSample = None) -> Array:
        """Predict the most probable class of each sample.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            The precomputed kernels of each new sample with itself, used for more than two classes;
            see `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Classes, or indicators of several labels.
        """
        check_is_fitted(self)
        if self._labels is not None:
            return (self._all_values(self._means(X)) > 0.0).astype(int)
        if len(self._fitted_classes) == 2:
            # For any variance, the probability is above one half if the latent mean is positive.
            return self._fitted_classes[(self._means(X)[:, 0] > 0.0).astype(int)]
        return self.classes_[self.predict_proba(X, diagonal).argmax(axis=1)]

    def predict_proba(self, X: Features, diagonal: PerSample = None) -> Array:
        """Predict class probabilities, which include the uncertainty of the latent functions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            The precomputed kernels of each new sample with itself. It may be left out if the
            diagonals of the training Gram matrices are constant.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of `classes_`. If samples have several labels, each column is
            the probability of one label.
        """
        means, variances = self._means_and_variances(X, diagonal)
        pairs = zip(means.T, variances.T, strict=True)
        own = np.column_stack([LogisticLikelihood().probability(*pair) for pair in pairs])
        if self._labels is not None:
            return np.asarray(expit(self._all_values(logit(own))))
        return self._probabilities(normalized_probabilities(own))

    def predict_latent(self, X: Features, diagonal: PerSample = None) -> tuple[Array, Array]:
        """Predict means and standard deviations of the latent functions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".
        diagonal : array-like of shape (n_samples, n_kernels), default=None
            The precomputed kernels of each new sample with itself; see `predict_proba`.

        Returns
        -------
        mean, std : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of the classes with samples of positive weight. For two classes, a positive mean
            predicts ``classes_[1]``.
        """
        means, variances = self._means_and_variances(X, diagonal)
        std = np.sqrt(variances)
        if self._labels is not None:
            deviations = np.zeros((len(std), len(self._labels.varies)))
            deviations[:, self._labels.varies] = std
            return self._all_values(means), deviations
        return (means[:, 0], std[:, 0]) if means.shape[1] == 1 else (means, std)

    def _expansion(self) -> KernelExpansion:
        if self._labels is not None:
            found = self._label_expansion(self._latent_expansion(), np.ones(len(self.classes_)))
            return replace(found, scale="latent mean")
        classes = self._fitted_classes
        names = classes[1:] if len(classes) == 2 else classes
        return replace(self._latent_expansion(), outputs=tuple(map(str, names)))
