"""Updates of a fitted stack by new rows: members are refitted, and combined as before."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._data.encoded_targets import EncodedTarget, encode_target
from mercer._data.sample import Sample
from mercer._data.types import Array, Features, RandomState
from mercer._data.weights import as_weights
from mercer._estimators.stacking.evaluation import ViewedSample
from mercer._estimators.stacking.stack_expansion import Member
from mercer._estimators.stacking.table_views import TableViews, ViewName
from mercer._gram.memory import check_gram_memory
from mercer._model_selection.updates import SUMS_NEEDED, UpdatesMixin


class StackUpdatesMixin(UpdatesMixin):
    """Updates of stacks by new rows; see :class:`UpdatesMixin`."""

    _members: Any
    _training: dict[ViewName, Features]
    _views: TableViews
    _views_of: Any
    _target: EncodedTarget
    _stored_rows: Array
    random_state: RandomState
    _find_reach: Callable[[EncodedTarget], None]

    @property
    def _keeps_rows(self) -> bool:
        """Whether members are fitted to Gram matrices of all rows, which the stack stores."""
        return all(member.keeps_rows for member in self._members)

    def _check_updates(self, n_new: int) -> None:
        if getattr(self, "_is_multilabel", False):
            raise TypeError("A stack of several labels cannot be updated: fit it again.")
        if self._keeps_rows:
            check_gram_memory(len(self._target) + n_new, 3, "fit all rows anew")
        elif n_new and self._sums is None:
            raise ValueError(SUMS_NEEDED)
        elif n_new:
            for found in self._sums:
                found.check_room(n_new)

    def _sum_rows(self, rows: Sample) -> None:
        if self._keeps_rows:
            return
        encoding, state = self._target.encoding, self.random_state
        self._sums = [
            member.row_sums(self._in_view(rows, member), encoding, state)
            for member in self._members
        ]

    def _in_view(self, rows: Sample, member: Member) -> Sample:
        """Return rows in the view of a member."""
        return replace(rows, X=self._views.transform(rows.X, member.view))

    def _add_rows(self, rows: Sample) -> None:
        if self._keeps_rows:
            self._add_kept_rows(rows)
            return
        pairs = list(zip(self._members, self._sums, strict=True))
        sums = [found.plus(self._in_view(rows, member)) for member, found in pairs]
        members = [m.fitted_to(found) for m, found in zip(self._members, sums, strict=True)]
        self._members, self._sums = members, sums

    def _add_kept_rows(self, rows: Sample) -> None:
        """Fit members to the Gram matrices of all rows."""
        views = self._views_of(rows.X)
        training = {
            name: (sp.vstack if sp.issparse(view) else np.vstack)([view, views[name]])
            for name, view in self._training.items()
        }
        target = self._joined_target(rows)
        table = ViewedSample(training, None, target.weights, target=target)
        members = [found.fitted_to(table) for found in self._members]
        self._members, self._training, self._target = members, training, target
        self._stored_rows = np.arange(len(target))
        self._find_reach(target)

    def _joined_target(self, rows: Sample) -> EncodedTarget:
        """Return the targets of the old rows and of the new ones."""
        old, both = self._target, len(self._target) + len(rows)
        labels = old.restored(old.values)
        labels = np.concatenate([labels, rows.y.reshape(len(rows), *labels.shape[1:])])
        units = old.weights.is_unit and rows.weights.is_unit
        weights = None if units else np.append(old.weights.values, rows.weights.values)
        found = encode_target(
            labels,
            classification=old.classes is not None,
            weights=as_weights(weights, both),
            resampling=old.resampling.extended(len(rows)),
            logarithms=old.logarithms,
        )
        return replace(found, smearing=old.smearing)
