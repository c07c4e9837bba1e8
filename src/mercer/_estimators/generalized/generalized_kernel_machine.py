"""Base class of generalized kernel machines, which chooses the kernel and the penalty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer._data.copies import with_copies
from mercer._data.resampling import Indices
from mercer._data.sample import completed, of_weightless
from mercer._data.types import Array, ClassWeight, Features, Penalties, PerSample
from mercer._data.validation import check_bool, warn
from mercer._estimators.fits import reported_steps
from mercer._estimators.kernel_estimator import (
    KernelEstimator,
    TrainingData,
    new_samples,
    training_data,
)
from mercer._estimators.two_stage.kernel_choice import isotropic_kernels
from mercer._gram.dense import UnitScale, to_unit_scale, unit_gram, unit_rows
from mercer._gram.expansion import KernelExpansion, Scale, of_rows_as_they_are
from mercer._gram.memory import check_rows_memory
from mercer._gram.sample_expansion import expansion_at_samples
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._solvers.glm import GLM, GLMFit
from mercer._solvers.grids import as_grid
from mercer._solvers.likelihoods import GLMLikelihood, log_losses
from mercer.kernels import Gaussian, Kernel, WeightedSum
from mercer.kernels._column_names import with_names
from mercer.kernels._conversion import KernelDictionary
from mercer.kernels._kernel import stack_values


@dataclass(frozen=True)
class EvaluatedKernel:
    """A kernel on which a generalized machine was fitted, and its leave-one-out deviance.

    Attributes
    ----------
    description : str
        Name and width of the kernel.
    kernel : Kernel
    alpha : float
        The penalty with the lowest leave-one-out deviance, for the kernel at unit scale.
    loo_deviance : float
        Mean deviance of the samples when each is predicted without itself or its group.
    """

    description: str
    kernel: Kernel
    alpha: float
    loo_deviance: float


@dataclass(eq=False, repr=False)
class MachineParameters(KernelEstimator):
    """Parameters of all generalized kernel machines."""

    kernels: KernelDictionary = None
    _: KW_ONLY
    alpha: Penalties = "auto"
    verbose: bool = False
    device: str = "cpu"


class GeneralizedKernelMachine(MachineParameters):
    """Base class that selects the kernel and the penalty by approximate leave-one-out deviance."""

    _isotropic_task: ClassVar[Literal["classification", "regression"]] = "regression"
    """Task for which widths are searched if no kernels are given."""

    class_weight: ClassWeight
    kernel_: Kernel
    weights_: Array
    dual_coef_: Array
    rows_: Array
    candidates_: list[EvaluatedKernel]
    _unit: UnitScale
    _seen: NDArray[np.bool_] | None

    def _n_gram_matrices(self) -> int:
        return 5

    def _check_parameters(self) -> None:
        """Raise an error if a parameter is out of its range."""
        as_grid("alpha", self.alpha, np.ones(1))
        check_bool("verbose", self.verbose)

    def _fit_machines(
        self,
        data: TrainingData,
        likelihoods: Sequence[GLMLikelihood],
        predicted: Callable[[Sequence[Array], Indices], Array],
        losses: Callable[[Array, Indices], Array],
    ) -> Array:
        """Fit machines on each kernel, and set the fitted attributes from the best kernel.

        Parameters
        ----------
        data : TrainingData
            The samples. If widths are searched, ridge regression is fitted to their labels or
            responses.
        likelihoods : sequence of GLMLikelihood
            One for each machine.
        predicted : callable
            A function that maps the leave-one-out linear predictors of all machines, and the
            indices of their samples, to predictions.
        losses : callable
            A function that maps predictions and the indices of their samples to half the deviances.

        Returns
        -------
        ndarray of shape (n_samples, ...)
            Leave-one-out predictions of the machines on the best kernel.
        """

        def deviance(values: Sequence[Array], rows: Indices) -> float:
            found = losses(predicted(values, rows), rows)
            return 2.0 * float(data.weights.take(rows).mean(found))

        weight_unit = data.weights.unit
        data = data.in_units(weight_unit)
        kernels = self._dictionary(data)
        likelihoods = [replace(one, weights=data.weights) for one in likelihoods]
        grid = None
        if not isinstance(self.alpha, str):
            grid = as_grid("alpha", self.alpha, np.ones(1)) / weight_unit
        fits = list[tuple[GLMFit, Kernel, UnitScale, bool]]()
        with reported_steps(self, len(kernels)) as report, serial_algebra():
            for kernel in kernels:
                gram, unit = _centered_gram(kernel, data)
                found = GLM(gram, likelihoods, data.resampling).best(deviance, grid)
                fits.append((found, kernel, unit, bool(gram.any())))
                report()
        fits.sort(key=lambda fit: fit[0].loss)
        self.candidates_ = [
            EvaluatedKernel(kernel.describe(), kernel, weight_unit * found.alpha, found.loss)
            for found, kernel, _, _ in fits
        ]
        self._store(data, *fits[0])
        best = fits[0][0]
        self.alpha_, self.alphas_ = weight_unit * best.alpha, weight_unit * best.alphas
        return predicted(fits[0][0].left_out, np.arange(len(data.weights)))

    def _encoded(
        self, X: Features, y: npt.ArrayLike, sample_weight: PerSample, groups: PerSample
    ) -> tuple[TrainingData, Array, NDArray[np.intp]]:
        """Return the validated samples, the classes, and the class index of each sample."""
        self._check_parameters()
        data = training_data(self, X, y, sample_weight, self.class_weight).grouped(groups)
        target = data.target("classification")
        assert target.classes is not None
        assert target.codes is not None
        return data, target.classes, target.codes

    def _fit_classes(
        self,
        X: Features,
        data: TrainingData,
        codes: NDArray[np.intp],
        likelihoods: Sequence[GLMLikelihood],
        probabilities: Callable[[Sequence[Array], Indices], Array],
    ) -> Self:
        """Fit machines to classes; see :meth:`_fit_machines`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_given, n_features)
            The samples as they were passed to `fit`.
        data : TrainingData
        codes : ndarray of int of shape (n_samples,)
            Class indices of the samples.
        likelihoods : sequence of GLMLikelihood
        probabilities : callable
        """
        data = with_copies(data)
        left_out = self._fit_machines(
            data, likelihoods, probabilities, lambda found, rows: log_losses(found, codes[rows])
        )
        groups, numbers = data.resampling.groups, data.numbers
        held_out = HeldOutProbabilities(left_out, codes, data.weights, groups, numbers)
        self._held_out = held_out.of_all(self._seen)
        others = of_weightless(data, self.predict_proba, self.as_input(X))
        self.loo_predictions_ = completed(numbers, self._held_out.probabilities, others)
        return self

    def _dictionary(self, data: TrainingData) -> list[Kernel]:
        """Return the kernels to compare: the given kernels, or kernels with suitable widths."""
        if self.kernels is not None:
            return data.dictionary(self.kernels)
        if self._isotropic_task == "regression" and not np.ptp(data.y):
            return data.families(Gaussian("median"))
        classes = self._isotropic_task == "classification"
        return [found.kernel for found in isotropic_kernels(data, classes=classes)]

    def _store(
        self, data: TrainingData, found: GLMFit, kernel: Kernel, unit: UnitScale, varies: bool
    ) -> None:
        """Set the fitted attributes that all generalized machines have."""
        self._unit, self.rows_ = unit, data.numbers
        self.weights_, self.shares_ = np.array([1.0 / unit.scale]), np.ones(1)
        self.kernel_ = with_names(WeightedSum([kernel], self.weights_), self)
        dual = np.column_stack([machine.dual_coef_ for machine in found.machines])
        if not varies:
            warn("The learned kernel is constant on the training set, and so are all predictions.")
            dual[:] = 0.0
        self.dual_coef_ = data.of_all(dual)
        self.loo_deviance_, self.loo_deviances_ = found.loss, found.losses
        self.X_fit_ = data.stored
        self._store_levels(np.array([machine.levels for machine in found.machines]))

    def _store_levels(self, levels: Array) -> None:
        """Set the intercepts or thresholds, from levels of shape (n_machines, n_levels)."""
        raise NotImplementedError

    def _n_fitted_kernels(self) -> int:
        return len(self.candidates_)

    def _values(self, X: Features) -> Array:
        """Return values without intercepts or thresholds, of shape (n_rows, n_machines)."""
        check_is_fitted(self)
        samples, rows = new_samples(self, X), self.rows_
        kernel = self.kernel_.kernels[0]
        check_rows_memory(samples.shape[0], len(rows))
        if self.X_fit_ is None:
            across = self._unit.apply(stack_values(kernel, samples[:, rows]))
        else:
            fitted = self.X_fit_[rows].astype(np.float64, copy=False)
            across = unit_rows(kernel, self._unit, samples.astype(np.float64, copy=False), fitted)
        return np.asarray(across @ self.dual_coef_[rows].reshape(len(rows), -1))

    def _form(self) -> tuple[Scale, Array, tuple[str, ...]]:
        """Return the scale of the outputs, the constant of each output, and their names."""
        raise NotImplementedError

    def _expansion(self) -> KernelExpansion:
        rows, (scale, level, outputs) = self.rows_, self._form()
        dual = self.dual_coef_[rows].reshape(len(rows), -1)
        some, constant = of_rows_as_they_are(self._unit, dual)
        coefficients = np.zeros((len(self.dual_coef_), some.shape[1]))
        # The learned kernel is divided by the mean diagonal.
        coefficients[rows] = self._unit.scale * some
        samples = partial(new_samples, self)
        found = expansion_at_samples(self, coefficients, constant + level, scale, samples=samples)
        return replace(found, outputs=outputs)


def _centered_gram(kernel: Kernel, data: TrainingData) -> tuple[Array, UnitScale]:
    """Return the centered Gram matrix, scaled to a mean diagonal of one, in double precision."""
    if data.pairwise:
        return to_unit_scale(stack_values(kernel, data.X).astype(float), data.weights.given)
    return unit_gram(kernel, data.X.astype(np.float64, copy=False), data.weights.given)
