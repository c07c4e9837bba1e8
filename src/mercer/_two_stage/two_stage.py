"""What the two-stage estimators share: the first stage, its Gram matrices and its folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from mercer._learners import ContinuousAlignment
from mercer._targets import Task, output_kernel_of_part
from mercer._two_stage.automatic_learner import contenders
from mercer._typing import Array, Features
from mercer._weights.ridge import check_definite
from mercer.kernels import Kernel

NESTED_ABOVE = 10
"""Learned parameters above which ``nested="auto"`` learns the kernel anew in each fold."""

_CONSTANT = 1e-12
"""A centered Gram matrix this small against the Gram matrix is rounding: its kernel is constant."""

Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


class TwoStage(BaseEstimator):
    """The first stage, and what the second stages share."""

    _task: ClassVar[Task]
    _fits_task: ClassVar[Callable[[Any], bool]]

    learner_: Any
    kernel_: Kernel
    weights_: Array
    alignment_: float
    history_: list[Any]
    n_iter_: int
    scale_: float
    predictor_: Any

    def predict(self, X: Features) -> Array:
        """Predict with the learned kernel.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            For a learner of precomputed kernels, a stack of shape (n_samples, n_train, n_kernels).

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or responses.
        """
        rows = self._rows(X)
        return np.asarray(self.predictor_.predict(rows))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._learner()).input_tags
        return tags

    def _learner(self) -> Any:
        unset = self.learner is None or isinstance(self.learner, str)
        return ContinuousAlignment() if unset else self.learner

    def _contenders(self, X: Features, y: NDArray[Any], **settings: Any) -> list[Self]:
        """The same estimator, not fitted, with each learner that ``learner="auto"`` leaves."""
        settings = {**self.get_params(deep=False), **settings}
        learners = contenders(X, y, self._task)
        return [type(self)(**{**settings, "learner": learner}) for learner in learners]

    def _adopt(self, fitted: Self) -> Self:
        """Take over what another estimator of the kind has learned."""
        for name, value in vars(fitted).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self

    def _as_input(self, X: Features) -> Features:
        """Training samples in a layout that splits by rows."""
        convert = getattr(self._learner(), "as_input", None)
        return X if convert is None else convert(X)

    def _check_settings(self) -> None:
        """Refuse settings that cannot work, before any work."""
        if isinstance(self.learner, str) and self.learner != "auto":
            raise ValueError(f"learner must be 'auto' or a learner; got {self.learner!r}.")
        if not (isinstance(self.nested, bool | np.bool_) or self.nested == "auto"):
            raise ValueError(f"nested must be 'auto', True or False; got {self.nested!r}.")
        if self.predictor is None:
            return
        if not type(self)._fits_task(self.predictor):
            raise ValueError(f"predictor must be a {self._task} estimator; got {self.predictor!r}.")
        if not get_tags(self.predictor).input_tags.pairwise:
            raise ValueError(
                "predictor must take a precomputed kernel matrix, as SVC(kernel='precomputed') "
                f"does; got {self.predictor!r}."
            )

    def _learn(
        self, X: Features, y: NDArray[Any], settled: dict[str, Any]
    ) -> tuple[Any, Array, float]:
        """A fitted learner, its Gram matrix divided by its scale, and the scale."""
        learner = clone(self._learner()).set_params(**settled)
        if "task" in learner.get_params(deep=False):
            learner.set_params(task=self._task)
        if hasattr(learner, "set_output"):
            learner.set_output(transform="default")
        gram = np.array(learner.fit(X, y).transform(X), dtype=float, order="C")
        if np.any(learner.weights_ < 0.0):
            check_definite(eigvalsh(fit_centerer(gram).transform(gram), check_finite=False))
        centered = gram.trace() / len(gram) - gram.mean()
        constant = centered <= _CONSTANT * np.abs(gram).max()
        if constant:
            warnings.warn(
                "The learned kernel is constant on the training set, and so are all predictions.",
                UserWarning,
                stacklevel=2,
            )
        scale = 1.0 if constant else float(centered)
        gram /= scale
        return learner, gram, scale

    def _fit_learner(self, X: Features, y: NDArray[Any]) -> Array:
        """Fit the first stage; returns the training Gram matrix divided by its scale."""
        self.learner_, gram, self.scale_ = self._learn(X, y, {})
        for name in ("kernel_", "weights_", "alignment_", "history_", "n_iter_"):
            setattr(self, name, getattr(self.learner_, name))
        return gram

    def _rows(self, X: Features) -> Array:
        """Learned kernel between new samples and the training set, divided by the scale."""
        check_is_fitted(self)
        return np.asarray(self.learner_.transform(X), dtype=float) / self.scale_

    def _learns_in_folds(self) -> bool:
        if self.nested != "auto":
            return bool(self.nested)
        return n_learned_parameters(self.learner_) > NESTED_ABOVE

    def _along_folds(
        self,
        path: Callable[..., Any],
        X: Features,
        y: NDArray[Any],
        gram: Array,
        splits: list[Split],
        *,
        targets: NDArray[Any],
    ) -> list[Any]:
        """What `path(gram, targets, rows, held_out)` returns for each fold; `gram` is centered.

        Kernels are learned from `y`, and `path` is given parts of `targets`.
        """
        nested = self._learns_in_folds()

        def fold(train: NDArray[np.intp], test: NDArray[np.intp]) -> Any:
            if nested:
                matrices = self._nested_matrices(X, y, train, test)
            else:
                matrices = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
            return path(matrices[0], targets[train], matrices[1], targets[test])

        # The solvers release the interpreter's lock, and threads share the Gram matrix.
        run = Parallel(n_jobs=self.n_jobs, prefer="threads")
        return list(run(delayed(fold)(train, test) for train, test in splits))

    def _nested_matrices(
        self, X: Features, y: NDArray[Any], train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        settled: dict[str, Any] = getattr(self.learner_, "settled_params", dict)()
        part, outputs = _safe_split(self, X, y, train)
        if "output_kernel" in self.learner_.get_params(deep=False):
            among = output_kernel_of_part(self.learner_.output_kernel, y, outputs)
            settled = {**settled, "output_kernel": among}
        learner, gram, scale = self._learn(part, outputs, settled)
        rows = learner.transform(_safe_split(self, X, None, test, train)[0]) / scale
        centerer = fit_centerer(gram)
        return centerer.transform(gram, copy=False), centerer.transform(rows, copy=False)


def n_learned_parameters(learner: Any) -> int:
    """Numbers that a learner has read off the labels.

    Its kernel's distinct parameters, unless its `kernels` were given, and all but one of the
    weights that are neither zero nor equal.

    Parameters
    ----------
    learner : estimator
        A fitted learner.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.kernels import Gaussian
    >>> from mercer._learners import KernelOptimization, UniformCombination
    >>> X, y = load_iris(return_X_y=True)
    >>> n_learned_parameters(KernelOptimization(Gaussian(ard=True)).fit(X, y))
    4
    >>> n_learned_parameters(UniformCombination().fit(X, y))
    0
    """
    n_weights = np.unique(learner.weights_[learner.weights_ != 0.0]).size
    searched = "kernels" not in learner.get_params(deep=False)
    return max(n_weights - 1, 0) + (np.unique(learner.kernel_.theta).size if searched else 0)


def fit_centerer(gram: Array) -> KernelCenterer:
    """The centering of a Gram matrix, for it and for later rows; returns arrays under any setting.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    """
    return KernelCenterer().set_output(transform="default").fit(gram)
