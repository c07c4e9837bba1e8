"""Stacked kernel ridge regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from mercer._model_selection.leave_one_out import encode_target
from mercer._stacking.combination import stacking_weights
from mercer._stacking.kernel_stacking import KernelStacking, PricedCandidate, reach
from mercer._stacking.members import fit_ridge
from mercer._typing import Array, Features


class KernelStackingRegressor(RegressorMixin, KernelStacking):
    """Stacked."""

    def __init__(
        self,
        candidates: Any = None,
        *,
        max_samples: int = 1500,
        random_state: Any = 0,
    ) -> None:
        self.candidates = candidates
        self.max_samples = max_samples
        self.random_state = random_state

    def fit(self, X: Features, y: Any) -> Self:
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=2,
        )
        target = encode_target(y, classification=False)
        found, rows = self._priced(X, y, target)
        inside = target.values[rows]
        mean = inside.mean(axis=0)
        weights = stacking_weights([e.predictions - mean for e in found], inside - mean)
        self.candidates_ = [
            PricedCandidate(e.candidate.description, e.kernel, e.alpha, e.price, float(w))
            for e, w in zip(found, weights, strict=True)
        ]
        used = [(e, w) for e, w in zip(found, weights, strict=True) if w > 0.0]
        self.weights_ = np.array([w for _, w in used])
        self._members = [
            fit_ridge(e, self._stored[e.candidate.view], target.values) for e, _ in used
        ]
        self.kernels_ = [member.kernel for member in self._members]
        self._target = target
        self._mean = target.values.mean(axis=0)
        self._outputs = y.ndim
        self._reach = reach(self._stored[self._view_names()[0]])
        return self

    def predict(self, X: Features) -> Array:
        X = self._checked(X)
        total = np.zeros((X.shape[0], len(self._mean)))
        views = {name: self._views.transform(X, name) for name in self._view_names()}
        for weight, member in zip(self.weights_, self._members, strict=True):
            total += weight * (
                member.predict(views[member.view], self._stored[member.view]) - self._mean
            )
        total *= self._closeness(X)[:, None]
        predicted = self._target.decode(total + self._mean)
        return predicted[:, 0] if self._outputs == 1 else predicted
