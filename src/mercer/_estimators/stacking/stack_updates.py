"""Updates of stacks on Nyström features by new rows; members are combined as before."""

from dataclasses import replace
from typing import Any

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.sample import Sample
from mercer._data.types import RandomState
from mercer._estimators.stacking.stack_expansion import Member
from mercer._estimators.stacking.table_views import TableViews
from mercer._model_selection.updates import NOT_SUMS, UpdatesMixin


class StackUpdatesMixin(UpdatesMixin):
    """Updates of stacks by new rows; see :class:`UpdatesMixin`."""

    _members: Any
    _views: TableViews
    _target: EncodedTarget
    random_state: RandomState

    def _check_updates(self) -> None:
        if getattr(self, "_is_multilabel", False):
            raise TypeError("A stack of several labels cannot be updated: fit it again.")
        if not all(member.adds_rows for member in self._members):
            raise TypeError(NOT_SUMS.format(type(self).__name__))

    def _sum_rows(self, rows: Sample) -> None:
        encoding, state = self._target.encoding, self.random_state
        self._sums = [
            member.row_sums(self._in_view(rows, member), encoding, state)
            for member in self._members
        ]

    def _in_view(self, rows: Sample, member: Member) -> Sample:
        """Return rows in the view of a member."""
        return replace(rows, X=self._views.transform(rows.X, member.view))

    def _add_rows(self, rows: Sample) -> None:
        pairs = list(zip(self._members, self._sums, strict=True))
        sums = [found.plus(self._in_view(rows, member)) for member, found in pairs]
        members = [m.fitted_to(found) for m, found in zip(self._members, sums, strict=True)]
        self._members, self._sums = members, sums
