"""Learners of feature widths, by the marginal likelihood or by the gradients of a predictor."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._data.validation import check_bool, check_number, check_positive, warn
from mercer._estimators.fits import reported_steps
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import CrossValidatedLearner, KernelLearner, single_kernel
from mercer._model_selection.feature_metric import choose_metric, kernel_on_features
from mercer._search.evidence_search import PRIOR_DEVIATION, marginal_likelihood_widths
from mercer._search.records import LearnedKernel
from mercer._search.targets import Target, Task, response_deviation
from mercer.kernels import ExponentialPower, Gaussian, Kernel, Laplacian
from mercer.kernels._conversion import KernelSource, OutputKernelSource
from mercer.kernels._radial import RadialFunction


@dataclass(eq=False, repr=False)
class EvidenceMaximization(KernelLearner):
    """Learn one width per feature by the marginal likelihood of a Gaussian process.

    The learned widths, or other parameters of a kernel, maximize the marginal likelihood (the
    evidence) of Gaussian process regression with Gaussian noise, on responses or on indicators of
    classes. Irrelevant features get large widths, so that they hardly change the kernel.

    Parameters
    ----------
    kernel : kernel, name or scikit-learn Gaussian-process kernel, default=None
        A kernel with one width per feature (`Gaussian(ard=True)`, the default, or
        `ExponentialPower(ard=True)`), or any kernel with a gradient. Its bounds apply, but its
        current parameters do not matter.
    width_deviation : float, default=1.0
        Standard deviation of a normal prior on the natural logarithms of the widths, around their
        mean, for each part of the kernel with one width per feature, including vectors of length
        scales of scikit-learn. Smaller values make the widths more similar.
    max_samples : int, default=1000
        Maximum number of samples that are used. From larger tables, samples are taken that are
        evenly spaced in the order of the target.
    max_iter : int, default=60
        Maximum number of iterations.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds classes or responses. `"auto"` treats numbers that are not whole, and
        whole numbers with more than 20 distinct values, as responses.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses whose factor is the Gaussian process's target, such as
        `"balanced"` or `"gaussian"`, or a matrix of similarities between classes. None stands for
        `"labels"` in classification and for `"linear"` in regression. The section "Output kernels"
        of the :doc:`glossary </glossary>` lists all options.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables. It is at unit scale: ``kernels_[0]``
        divided by `scale_`.
    kernels_ : list of Kernel
        The learned kernel, before division by `scale_`, as the only entry.
    weights_, shares_ : ndarray of shape (1,)
        One.
    scale_ : float
        Mean diagonal of the centered training Gram matrix of the kernel.
    noise_ : float
        Variance of the noise relative to the amplitude of the kernel. Ridge regression on
        ``kernels_[0]`` with this penalty predicts the posterior mean.
    log_marginal_likelihood_ : float
        Log marginal likelihood of the responses, minus their means, of the samples that are used.
        For classes, and for output kernels other than None and "linear", the factor of the output
        kernel takes the place of the responses. NaN if the kernel is constant on the samples.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    history_ : list of Step
        One step per iteration. `objective` is the log marginal likelihood per observation minus the
        cost of the prior, up to a constant. `kernel` and `alignment` are the final kernel and its
        alignment.
    n_iter_ : int
        Length of `history_`, which is the number of iterations plus one for the start.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    BayesianMKLRegressor : Learns weights and parameters of several kernels by marginal likelihood.

    Notes
    -----
    Leave-one-out errors on the learned kernel are too small, by about a tenth with the default
    prior, because the kernel was learned from the same labels.

    An iteration takes O(n^3 + n^2 d) for the n <= `max_samples` samples that are used.

    If samples are weighted, the samples that are used are drawn evenly along the cumulative
    weights, and none is drawn twice. Copies of a row are used once, because they show no noise: the
    marginal likelihood would increase without bound as the noise vanishes.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, sections 5.1 and 5.4.1.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import EvidenceMaximization
    >>> X, y = make_friedman1(200, n_features=8, random_state=0)
    >>> relevance = EvidenceMaximization().fit(X, y).kernel_.relevance(8)
    >>> sorted(relevance.argsort()[-4:].tolist())  # the fifth is linear, and has a large width
    [0, 1, 2, 3]
    """

    _kernels_parameter = None
    _samples_per_parameter = 200

    kernel: KernelSource | None = None
    _: KW_ONLY
    width_deviation: float = PRIOR_DEVIATION
    max_samples: int = 1000
    max_iter: int = 60
    task: Task = "auto"
    output_kernel: OutputKernelSource = None

    def _learn(self, data: TrainingData, target: Target) -> LearnedKernel:
        samples = data.samples()
        kernel = data.kernel(Gaussian(ard=True) if self.kernel is None else self.kernel)
        with reported_steps(self) as report:
            Y = target.representative.centered
            found = marginal_likelihood_widths(
                kernel,
                samples.representative,
                Y,
                prior_deviation=self.width_deviation,
                max_samples=self.max_samples,
                max_iter=self.max_iter,
                on_step=report,
            )
        if not found.converged:
            is_cut = found.n_iter >= self.max_iter
            advice = f"raise max_iter (now {self.max_iter})" if is_cut else "rounding stops it"
            warn(
                "The log marginal likelihood per observation, minus the cost of the prior, still "
                f"grew by {found.last_gain:.2g} in the last of {found.n_iter} iterations: "
                f"{advice}.",
                ConvergenceWarning,
            )
        self.noise_ = found.noise
        self.log_marginal_likelihood_ = found.log_marginal_likelihood
        if target.classes is None and str(self.output_kernel) in ("None", "linear"):
            # The columns of the factor are the responses divided by their standard deviations.
            deviations = response_deviation(data.y.reshape(len(data), -1), data.weights)
            self.log_marginal_likelihood_ -= found.n_samples * float(np.log(deviations).sum())
        return single_kernel(samples, target, found.kernel, found.path)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_positive("width_deviation", self.width_deviation)
        check_number("max_samples", self.max_samples, whole=True, low=2)
        check_number("max_iter", self.max_iter, whole=True, low=1)


@dataclass(eq=False, repr=False)
class GradientOuterProduct(CrossValidatedLearner):
    """Learn which features, or directions, a kernel depends on, from gradients of predictions.

    Kernel ridge regression on the original features predicts the target. The average gradient outer
    product (AGOP) of its predictions shows along which directions they change. The features are
    multiplied by the square root of the AGOP, so that these directions matter most, and the
    procedure is repeated.

    Parameters
    ----------
    kernel : kernel or name, default=None
        A kernel that is a function of one distance on all features, in a norm from one to two. If
        `diagonal` is False, it must be the Euclidean distance. None stands for the product
        Laplacian `ExponentialPower()`, or for `Laplacian()` if `diagonal` is False. The widths of
        the kernel do not matter.
    n_iter : int, default=5
        Number of iterations after the first ridge regression.
    diagonal : bool, default=True
        Whether features are only scaled, by the root mean squares of the partial derivatives. If
        False, they are multiplied by a matrix. The kernel can then depend on linear combinations of
        features, such as differences, but learning it takes more samples.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds classes or responses. `"auto"` treats numbers that are not whole, and
        whole numbers with more than 20 distinct values, as responses.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses whose factor the regressions predict, such as `"balanced"`
        or `"gaussian"`, or a matrix of similarities between classes. None stands for `"labels"` in
        classification and for `"linear"` in regression. The section "Output kernels" of the
        :doc:`glossary </glossary>` lists all options.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds on which iterations are compared.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables. It is at unit scale: ``kernels_[0]``
        divided by `scale_`.
    kernels_ : list of Kernel
        The learned kernel, before division by `scale_`, as the only entry.
    weights_, shares_ : ndarray of shape (1,)
        One.
    scale_ : float
        Mean diagonal of the centered training Gram matrix of the kernel.
    metric_ : ndarray of shape (n_features,) or (n_features, n_features)
        Map of the features: a factor for each feature, with a maximum of one, or a symmetric matrix
        of unit norm.
    best_iter_ : int
        Iteration in which the learned kernel was found; zero stands for the original features.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    history_ : list of Step
        One step for the first ridge regression, then one per iteration. `objective` is the negative
        mean squared error on held-out samples, or NaN if there are too few samples. `kernel` and
        `alignment` are the final kernel and its alignment.
    n_iter_ : int
        Length of `history_`.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    Each regression uses the width and the penalty with the lowest leave-one-out error. The
    procedure is repeated in five folds. The iteration with the lowest squared error on held-out
    samples is chosen if it is better than the original features by more than a standard error.

    At most 1,000 samples are used, evenly spaced in the order of the target. Samples of sparse
    tables are converted to dense arrays. A fit takes O(n_iter (n^3 + n^2 d)) time.

    If samples are weighted, the samples that are used are drawn evenly along the cumulative
    weights, and none is drawn twice.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin (2024), Mechanism for feature learning in neural
    networks and backpropagation-free machine learning models, Science 383.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import GradientOuterProduct
    >>> X, y = make_friedman1(200, n_features=8, random_state=0)
    >>> learner = GradientOuterProduct().fit(X, y)
    >>> sorted(learner.metric_.argsort()[-5:].tolist())
    [0, 1, 2, 3, 4]
    """

    _kernels_parameter = None

    kernel: KernelSource | None = None
    _: KW_ONLY
    n_iter: int = 5
    diagonal: bool = True
    task: Task = "auto"
    output_kernel: OutputKernelSource = None
    random_state: int | np.random.RandomState | None = 0

    def _learn(self, data: TrainingData, target: Target) -> LearnedKernel:
        samples = data.samples()
        default = ExponentialPower() if self.diagonal else Laplacian()
        kernel = self._isotropic(data.kernel(default if self.kernel is None else self.kernel))
        with reported_steps(self, 1) as report:
            found = choose_metric(
                kernel,
                samples.representative,
                target.representative,
                n_iter=self.n_iter,
                diagonal=bool(self.diagonal),
                random_state=self.random_state,
            )
            report()
        self.best_iter_ = found.best
        chosen = found.metrics[found.best]
        self.metric_ = chosen.map
        objectives = [-loss for loss in found.losses]
        return single_kernel(samples, target, kernel_on_features(chosen), objectives)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("n_iter", self.n_iter, whole=True)
        check_bool("diagonal", self.diagonal)

    def _isotropic(self, kernel: Kernel) -> Kernel:
        """Return the kernel with one width; raise an error if it is of another kind."""
        found: Kernel = kernel.structure.isotropic() or kernel
        structure = found.structure
        if not (
            isinstance(structure, RadialFunction)
            and structure.columns is None
            and structure.n_widths == 1
            and structure.norm >= 1.0
        ):
            raise ValueError(
                "GradientOuterProduct needs a kernel that is a function of one distance on all "
                "features, in a norm of one or more, such as Gaussian() or ExponentialPower(); "
                f"got {kernel.describe()}."
            )
        if not self.diagonal and structure.norm != 2.0:
            raise ValueError(
                "diagonal=False needs a kernel of the Euclidean distance, such as Laplacian(): "
                f"other distances change with rotations. Got {kernel.describe()}."
            )
        return found
