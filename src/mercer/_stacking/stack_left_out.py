"""Which samples a stack leaves out, and predictions of these, computed when they are first read."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets

from mercer._blocks.approximation import number_of_components
from mercer._blocks.tables import DrawnSample, TableSample
from mercer._data.cross_validation import resampling_of, resampling_of_rows
from mercer._data.resampling import Resampling
from mercer._data.sample import EncodedTarget
from mercer._data.weightless import completed, of_weightless
from mercer._nystroem.second_stage import all_rows_are_centers
from mercer._stacking.deferred import Deferred, DeferredMixin
from mercer._typing import Array


class StackLeftOutMixin(DeferredMixin):
    """Left-out samples of a stack, and what their predictions say of it."""

    loo_predictions_: Any = Deferred()
    loo_score_: Any = Deferred()

    cv: Any
    scoring: Any
    predict: Any
    predict_proba: Any
    n_components: Any
    random_state: Any

    def _left_out(
        self, target: EncodedTarget, data: TableSample, X: Any, y: Any, groups: Any
    ) -> EncodedTarget:
        """The target, with which of its samples are left out together.

        Parameters
        ----------
        target : EncodedTarget
        data : TableSample
        X, y, groups : object
            As they were given, with the samples of weight zero, to which listed folds refer.
        """
        if not isinstance(data, DrawnSample):
            found = resampling_of_rows(self.cv, data, (X, y, groups), target.codes)
        elif data.all_resampling is None:
            given = data if groups is not None else replace(data, groups=None)
            found = resampling_of(None, data, given, target.codes)
        else:
            if data.listed is not None:
                n_rows = data.source.count_rows()
                n_centers = number_of_components(self.n_components, n_rows, listed=True)
                if not all_rows_are_centers(data, n_centers):
                    data.listed.check_memory(n_centers)
            found = data.all_resampling.take(data.positions)
        return replace(target, resampling=found)

    def _divided(self, data: TableSample, X: Any, y: Any, groups: Any) -> Resampling:
        """How the rows of a table in memory are left out on Nyström features."""
        codes = None
        if is_classifier(self):
            check_classification_targets(data.y)
            codes = np.unique(data.y, return_inverse=True)[1]
        return resampling_of_rows(self.cv, data, (X, y, groups), codes)

    def _keep_left_out(
        self, left_out: Callable[[], Array], data: TableSample, target: EncodedTarget, X: Any
    ) -> None:
        """Compute left-out predictions, and what is read off them, when they are first read.

        Fits to more rows than are stored have them already. A scorer may warn, and a generator of
        random numbers would be at another place later. Samples of weight zero are predicted by the
        whole fit; those of tables too large for an exact fit are left out.
        """
        others: Array | None = None
        if not isinstance(data, DrawnSample):
            predict = self.predict_proba if is_classifier(self) else self.predict
            others = of_weightless(data, predict, X)

        def compute() -> None:
            self._take_left_out(left_out(), data, target)
            self.loo_predictions_ = completed(data, self.loo_predictions_, others)

        self._defer(compute)
        repeats = isinstance(self.random_state, Integral)
        if isinstance(data, DrawnSample) or self.scoring is not None or not repeats:
            self._complete()

    def _take_left_out(self, values: Array, data: TableSample, target: EncodedTarget) -> None:
        """Set what depends on left-out predictions."""
        raise NotImplementedError
