"""The learner of one kernel's parameters by marginal likelihood."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from mercer._kernel_estimator import TrainingData, reported_steps
from mercer._kernel_learner import KernelLearner, LearnedKernel
from mercer._search.evidence_search import PRIOR_DEVIATION, marginal_likelihood_widths
from mercer._targets import Target, Task
from mercer._validation import check_number, check_positive, warn
from mercer.kernels import Gaussian


class EvidenceMaximization(KernelLearner):
    """One kernel whose parameters maximize the marginal likelihood of a Gaussian process.

    The evidence is that of a Gaussian process regression on responses, or on indicators of classes,
    with Gaussian noise. With one width per feature it takes a second or two, and tells features
    apart that alignment does not.

    Parameters
    ----------
    kernel : kernel, name or scikit-learn Gaussian-process kernel, default=None
        A kernel of one width per feature (`Gaussian(ard=True)`, the default, or
        `ExponentialPower(ard=True)`), or any kernel with a gradient. Its bounds hold, its present
        parameters do not matter.
    width_deviation : float, default=1.0
        Standard deviation of a normal prior on the natural logarithms of widths about their mean.
        Widths are more alike for smaller values.
    max_samples : int, default=1000
        Maximum number of samples that are used, evenly spaced in the order of the target.
    max_iter : int, default=60
        Iterations at most.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds classes or responses. `"auto"` takes numbers that are not whole, and whole
        numbers of more than 20 distinct values, for responses.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses, whose factor is the Gaussian process's target, such as
        `"balanced"`, a matrix of similarities between classes, or `"gaussian"`; None for the usual
        one. The section "Output kernels" of docs/glossary.md lists all.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel at unit scale, callable on two tables: ``kernels_[0]`` divided by
        `scale_`.
    kernels_ : list of Kernel
        The learned kernel as it is, alone.
    weights_, shares_ : ndarray of shape (1,)
        One.
    scale_ : float
        Mean diagonal of the kernel's centered training Gram matrix.
    noise_ : float
        Variance of the noise relative to the kernel's amplitude: the penalty of ridge regression on
        the kernel as it is that predicts the posterior mean.
    log_marginal_likelihood_ : float
        Of the samples used; NaN where the kernel is constant on them.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
    history_ : list of Step
        One step an iteration: `objective` is the log marginal likelihood for each observation, less
        the prior's cost and up to a constant; `kernel` and `alignment` are the final ones.
    n_iter_ : int
        Length of `history_`: the start, and the iterations taken.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    BayesianMKLRegressor : Weights of several kernels, and their parameters, by marginal likelihood.

    Notes
    -----
    Leave-one-out errors on the learned kernel are optimistic, because labels determine it: by about
    a tenth for the default prior.

    An iteration takes O(n^3 + n^2 d) for the n <= `max_samples` samples that are used.

    Of weighted rows, some are drawn evenly along the cumulative weights, none twice.

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

    def __init__(
        self,
        kernel: Any = None,
        *,
        width_deviation: float = PRIOR_DEVIATION,
        max_samples: int = 1000,
        max_iter: int = 60,
        task: Task = "auto",
        output_kernel: Any = None,
    ) -> None:
        self.kernel = kernel
        self.width_deviation = width_deviation
        self.max_samples = max_samples
        self.max_iter = max_iter
        self.task = task
        self.output_kernel = output_kernel

    def _learn(self, data: TrainingData, target: Target) -> LearnedKernel:
        samples = data.samples()
        kernel = data.kernel(Gaussian(ard=True) if self.kernel is None else self.kernel)
        with reported_steps(self) as report:
            found = marginal_likelihood_widths(
                kernel,
                samples.representative,
                target.representative.centered,
                prior_deviation=self.width_deviation,
                max_samples=self.max_samples,
                max_iter=self.max_iter,
                on_step=report,
            )
        if not found.converged:
            warn(
                f"The log marginal likelihood for each observation, less the prior's cost, still "
                f"grew by {found.last_gain:.2g} in the last of {found.n_iter} iterations: raise "
                f"max_iter (now {self.max_iter}).",
                ConvergenceWarning,
            )
        self.noise_ = found.noise
        self.log_marginal_likelihood_ = found.log_marginal_likelihood
        return LearnedKernel.single(samples, target, found.kernel, found.path)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_positive("width_deviation", self.width_deviation)
        check_number("max_samples", self.max_samples, whole=True, low=2)
        check_number("max_iter", self.max_iter, whole=True, low=1)
