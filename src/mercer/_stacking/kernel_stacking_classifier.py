"""Stacked."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from mercer._model_selection.leave_one_out import encode_target
from mercer._stacking.kernel_stacking import KernelStacking, PricedCandidate, reach
from mercer._stacking.machines import evaluate_machines, fit_machine
from mercer._stacking.members import fit_ridge
from mercer._typing import Array, Features

N_RIDGE = 5
N_MACHINES = 2


class KernelStackingClassifier(ClassifierMixin, KernelStacking):
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
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        check_classification_targets(y)
        target = encode_target(y, classification=True)
        self.classes_ = target.classes
        if len(self.classes_) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class"
            )
        found, rows = self._priced(X, y, target)
        inside = target.take(rows)
        ranked = sorted(found, key=lambda e: e.price)
        chosen = ranked[:N_RIDGE]
        isotropic = [e for e in ranked if not e.candidate.uses_labels]
        machines = evaluate_machines(isotropic[:N_MACHINES], self._tables, inside, self.random_state)
        self._all = (ranked, machines)
        decisions = np.hstack([_columns(e.predictions) for e in [*chosen, *machines]])
        self.combiner_ = LogisticRegression(max_iter=1000).fit(decisions, inside.codes)
        self._members = [
            fit_ridge(e, self._stored[e.candidate.view], target.values) for e in chosen
        ] + [fit_machine(m, self._stored[m.view], target) for m in machines]
        self._target = target
        self._reach = reach(self._stored[self._view_names()[0]])
        return self

    def predict_proba(self, X: Features) -> Array:
        X = self._checked(X)
        views = {name: self._views.transform(X, name) for name in self._view_names()}
        decisions = [
            _columns(m.predict(views[m.view], self._stored[m.view])) for m in self._members
        ]
        found = self.combiner_.predict_proba(np.hstack(decisions))
        probabilities = np.zeros((X.shape[0], len(self.classes_)))
        probabilities[:, self.combiner_.classes_] = found
        closeness = self._closeness(X)[:, None]
        prior = self._target.values.mean(axis=0)
        return closeness * probabilities + (1.0 - closeness) * prior

    def predict(self, X: Features) -> Array:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _columns(decisions: Array) -> Array:
    return decisions[:, 1:] if decisions.shape[1] == 2 else decisions
