"""Candidates of a stack: kernels of one width or of learned relevance, on views of a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from mercer._data.cross_validation import group_params
from mercer._data.encoded_targets import EncodedTarget
from mercer._data.sample import as_frame
from mercer._data.types import Array, Features
from mercer._estimators.kernel_learner import KernelLearner
from mercer._estimators.stacking.table_views import TableViews, ViewName
from mercer._gram.devices import current_device
from mercer._gram.samples import spread_rows
from mercer._model_selection.feature_metric import kernel_on_features, metric_after
from mercer._model_selection.held_out import of_best_width
from mercer._search.evidence_search import marginal_likelihood_widths
from mercer.kernels import ExponentialPower, Gaussian, Kernel, Laplacian, WeightedSum, as_kernel
from mercer.kernels._conversion import KernelSource
from mercer.kernels._kernel import check_takes

Learn: TypeAlias = Callable[[Features, Array, EncodedTarget], Sequence[Kernel]]
"""Function from samples, their responses or labels, and the encoded target to kernels."""

Refine: TypeAlias = Callable[
    [Features, Array, EncodedTarget, Sequence[Sequence[Kernel]]], Sequence[Kernel]
]
"""Function from these, and for each kernel those from which its search may start, to kernels."""

CandidateSource: TypeAlias = KernelSource | KernelLearner | BaseEstimator
"""A kernel, a name or callable for one, a kernel learner, any other estimator that predicts, or
"default" for the default kernels."""

CandidateSources: TypeAlias = Sequence[CandidateSource] | CandidateSource | None
"""What users pass as candidates: a list of them, "default", or None for the default ones."""


_SEARCH, _SHORT_SEARCH = {"tol": 1e-3, "max_iter": 60}, {"tol": 3e-3, "max_iter": 30}
"""When searches of widths end: at a gain of less than half this fraction of the number of
observations, or after this number of iterations. Short ones are for classes."""

_MOST_FOR_SHORT_SEARCH = 1500
"""With more rows, searches are not short. With up to this many, longer searches take a tenth of the
time of fits more, and do not lower the log-loss (nine tables of 1,000 and 2,000 rows). On tables of
10,000 rows, whose widths are learned from 2,000, short ones raise one of two log-losses by .7 %."""


# --- ways to kernels -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A method that yields a kernel, or several kernels that are learned together.

    Attributes
    ----------
    descriptions : sequence of str
        Descriptions of the kernels.
    view : {"given", "scaled", "quantiles"}
        The view of the table on which the kernels are evaluated.
    learn : callable
        Function from samples, responses or labels, and the encoded target to the kernels.
    uses_labels : bool
        Whether more than a single width is learned from the labels. Leave-one-out predictions are
        then unbiased only for samples from which the kernels were not learned.
    learns_widths : bool
        Whether the widths are learned, and may therefore change when rows are added.
    memorizes_labels : bool
        Whether the kernels memorize single training labels, as those of trees do, so that
        leave-one-out errors would choose too small a penalty.
    estimator : estimator, default=None
        An estimator that is fitted out of fold, in place of kernels.
    refine : callable, default=None
        Function like `learn` that starts from kernels of parts of the samples, which takes less
        time.
    """

    descriptions: Sequence[str]
    view: ViewName
    learn: Learn
    uses_labels: bool = False
    learns_widths: bool = True
    memorizes_labels: bool = False
    estimator: BaseEstimator | None = None
    refine: Refine | None = None

    @property
    def keys(self) -> list[tuple[int, str, str]]:
        """Keys that distinguish the kernels from those of other candidates in the same fit."""
        return [(id(self.learn), self.view, description) for description in self.descriptions]


def isotropic_candidates(views: Sequence[ViewName], *, smooth: bool = True) -> list[Candidate]:
    """Return the kernel families of a single width on each view of the table.

    Parameters
    ----------
    views : sequence of {"scaled", "quantiles"}
    smooth : bool, default=True
        Whether the Gaussian kernel is one of them. Among kernels with learned widths, it does not
        change the log-loss of classes (twelve tables of 1,000 rows).
    """
    families = {
        **({"Gaussian": Gaussian("median")} if smooth else {}),
        "Laplacian": Laplacian("median"),
        "product Laplacian": Laplacian("median", norm=1.0),
    }
    return [
        Candidate([f"{name} on {_PHRASES[view]}"], view, partial(_of_one_width, family))
        for view in views
        for name, family in families.items()
    ]


def relevance_candidates(view: ViewName) -> list[Candidate]:
    """Return the kernels with a learned relevance of each feature, or of directions of features.

    Parameters
    ----------
    view : {"scaled", "quantiles"}
    """
    phrase = _PHRASES[view]
    names = [
        f"{name} with one width per feature on" for name in ("Gaussian", "sum of three kernels")
    ]
    widths = [f"{name} {phrase}" for name in names]
    return [
        Candidate(widths, view, learn_widths, True, refine=learn_widths),
        Candidate([f"Gaussian on projections of {phrase}"], view, learn_projection, True),
    ]


def given_candidates(sources: CandidateSources, names: Features) -> list[Candidate]:
    """Return the kernels and learners given by a user, which are evaluated on the table as it is.

    Parameters
    ----------
    sources : sequence of kernels, names of kernels, callables, kernel learners or estimators
    names : data frame, or None
        Provides the names of columns.

    Raises
    ------
    ValueError
        If `sources` is empty or not a list.
    TypeError
        If a source is neither a kernel nor a learner.
    """
    if isinstance(sources, str) or not isinstance(sources, Sequence) or not len(sources):
        raise ValueError(
            f'candidates must be a list of kernels or learners; got {sources!r}. "default" among '
            "them stands for the usual ones; Gram matrices are not accepted."
        )
    return [_given(source, names) for source in sources if not _predicts(source)]


def estimator_candidate(estimator: BaseEstimator, view: ViewName) -> Candidate:
    """Return an estimator that is fitted out of fold to a view of the table.

    Parameters
    ----------
    estimator : estimator
    view : {"given", "gaps", "scaled", "quantiles"}
    """
    return Candidate([type(estimator).__name__], view, _no_kernel, estimator=estimator)


def _no_kernel(X: Features, y: Array, target: EncodedTarget) -> Sequence[Kernel]:
    """Raise an error, because the candidate is not a kernel."""
    raise ValueError("the candidate is an estimator, which has no kernel")


def takes_missing(sources: CandidateSources) -> bool:
    """Return whether a candidate given by a user accepts missing values.

    Beside the default kernels, which do not, missing values of data frames are encoded for all.

    Parameters
    ----------
    sources : list of kernels, names of kernels, callables or kernel learners, or None
    """
    if isinstance(sources, list | tuple):
        return not has_default(sources) and any(map(takes_missing, sources))
    if hasattr(sources, "fit") and hasattr(sources, "__sklearn_tags__"):
        return bool(get_tags(sources).input_tags.allow_nan)
    return bool(getattr(sources, "accepts_missing", False))


def learns_relevance(X: Features, fewest: int = 40) -> bool:
    """Return whether a table has several columns, and enough rows to learn their relevance.

    Widths of more than four columns a row take long to learn, and raise left-out errors more often
    than they lower them.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    fewest : int, default=40
        Relevance is not learned from fewer samples.
    """
    n_samples, n_features = X.shape
    has_rows = min(n_samples, _affordable_rows(X)) >= fewest and 4 * n_samples >= n_features
    return n_features > 1 and has_rows


def learn_widths(
    X: Features,
    y: Array,
    target: EncodedTarget,
    starts: Sequence[Sequence[Kernel]] = ((), ()),
    *,
    deviations: tuple[float, float] = (0.5, 1.0),
) -> list[Kernel]:
    """Learn a Gaussian, and a sum of kernels, with one width per feature by marginal likelihood.

    The sum has three kernels, because functions of tables are often smooth in some features and
    rough in others. Its search starts from the widths of the Gaussian.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ignored
    target : EncodedTarget
    starts : sequence of sequence of Kernel, default=((), ())
        Kernels of both forms from which the searches may start, such as those that were learned
        from parts of the samples.
    deviations : tuple of float, default=(0.5, 1.0)
        Standard deviations of the priors on the log-widths of a single kernel, and of a sum. The
        narrower prior of the single kernel keeps its search from other optima.

    Notes
    -----
    Searches end at a large tolerance, and are not repeated, because kernels are compared by
    left-out errors.
    """
    n_rows = _relevance_rows(X)
    is_short = target.classes is not None and X.shape[0] <= _MOST_FOR_SHORT_SEARCH
    until: Any = _SHORT_SEARCH if is_short else _SEARCH

    def learn(kernel: Kernel, **settings: Any) -> Kernel:
        found = marginal_likelihood_widths(
            kernel, X, target.values, max_samples=n_rows, **until, **settings
        )
        return found.kernel

    single = learn(Gaussian(ard=True), prior_deviation=deviations[0], starts=starts[0])
    families = [ExponentialPower(ard=True), Laplacian(ard=True), Gaussian(ard=True)]
    several = WeightedSum(families, np.ones(len(families)))
    settings: Any = {"prior_deviation": deviations[1], "starts": starts[1]}
    return [single, learn(several, like=single, **settings)]


def learn_projection(
    X: Features, y: Array, target: EncodedTarget, *, n_iter: int = 2
) -> list[Kernel]:
    """Learn a linear map of the features from average gradient outer products.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ignored
    target : EncodedTarget
    n_iter : int, default=2
        Number of iterations of the mapping.
    """
    rows = spread_rows(X, target.values, _relevance_rows(X))
    some = target.take(rows)
    metric = metric_after(
        Gaussian(),
        X[rows],
        some.values - some.values.mean(axis=0),
        n_iter=n_iter,
        resampling=some.resampling,
    )
    return [kernel_on_features(metric)]


_PHRASES = {"given": "the table", "scaled": "scaled features", "quantiles": "normal quantiles"}
"""Names of the views in descriptions."""


def _of_one_width(family: Kernel, X: Features, y: Array, target: EncodedTarget) -> list[Kernel]:
    """Choose the width of a family by leave-one-out errors on part of the samples."""
    return [of_best_width(family, X, target.values, target.resampling)]


def _bound(
    kernel: Kernel, names: Features, X: Features, y: Array, target: EncodedTarget
) -> list[Kernel]:
    """Return a kernel as given, with the column names of the table."""
    kernel = kernel.bind(as_frame(X, names))
    check_takes([kernel], X)
    return [kernel]


def _learned(
    learner: KernelLearner, names: Features, X: Features, y: Array, target: EncodedTarget
) -> list[Kernel]:
    """Return the kernel that an estimator learns, from a data frame if the table is one."""
    groups = group_params(learner, target.resampling.groups)
    return [clone(learner).fit(as_frame(X, names), y, **groups).kernel_]


def _given(source: Any, names: Features) -> Candidate:
    if hasattr(source, "fit") and hasattr(source, "transform"):
        learns_widths = not getattr(source, "_widths_are_given", True)
        memorizes = getattr(source, "_memorizes_labels", False)
        learn = partial(_learned, source, names)
        return Candidate([repr(source)], "given", learn, True, learns_widths, memorizes)
    kernel = as_kernel(source)
    learn = partial(_bound, kernel, names)
    return Candidate([kernel.describe()], "given", learn, learns_widths=False)


def _relevance_rows(X: Features) -> int:
    """Return the number of samples from which relevance is learned.

    This is 500, or half of the samples if that is more, but at most the affordable number. On a
    card, these are all samples.
    """
    if current_device() is not None:
        return int(X.shape[0])
    return min(max(500, X.shape[0] // 2), _affordable_rows(X))


def _affordable_rows(X: Features, work: float = 3e7) -> int:
    """Return the largest number of samples such that pairs times features are at most `work`."""
    return int(np.sqrt(work / X.shape[1]))


def has_default(sources: CandidateSources) -> bool:
    """Return whether the default candidates are among those requested by a user.

    Parameters
    ----------
    sources : sequence of kernels, names of kernels, callables or kernel learners, "default" or None
    """
    listed = sources if _lists(sources) else [sources]
    return any(one is None or (isinstance(one, str) and one == "default") for one in listed)


def views_of(sources: CandidateSources, views: TableViews) -> list[ViewName]:
    """Return the views on which candidates are evaluated.

    Parameters
    ----------
    sources : sequence of kernels, names of kernels, callables or kernel learners, "default" or None
    views : TableViews
    """
    usual = [*views.names()] if has_default(sources) else []
    of_estimators = [one.view for one in given_estimators(sources, views)]
    has_others = len(_others(sources)) > len(of_estimators)
    given: list[ViewName] = ["given"] if has_others or not (usual or of_estimators) else []
    return [*dict.fromkeys([*usual, *given, *of_estimators])]


def first_candidates(
    sources: CandidateSources, views: TableViews, names: Features, *, smooth: bool = True
) -> list[Candidate]:
    """Return the candidates to evaluate first: default families of a single width, and given ones.

    Parameters
    ----------
    sources : sequence of kernels, names of kernels, callables or kernel learners, "default" or None
    views : TableViews
    names : data frame, or None
        Provides the names of columns.
    smooth : bool, default=True
        See :func:`isotropic_candidates`.

    Raises
    ------
    ValueError, TypeError
        See :func:`given_candidates`.
    """
    if not has_default(sources):
        return given_candidates(sources, names)
    others = _others(sources)
    given = given_candidates(others, names) if others else []
    return [*isotropic_candidates(views.names(), smooth=smooth), *given]


def given_estimators(sources: CandidateSources, views: TableViews) -> list[Candidate]:
    """Return the candidates of a user that are fitted out of fold.

    Those that accept missing values are fitted to the table with the values missing that its
    encoder has filled in, and others to the table as it is.

    Parameters
    ----------
    sources : sequence of kernels, learners and estimators, "default" or None
    views : TableViews
    """
    others = [one for one in sources if _predicts(one)] if _lists(sources) else []
    found = list[Candidate]()
    for one in others:
        has_gaps = views.filled is not None and takes_missing(one)
        found.append(estimator_candidate(one, "gaps" if has_gaps else "given"))
    return found


def with_own_names(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, and number those that have the name of an earlier one."""
    found: list[Candidate] = []
    for candidate in candidates:
        [name] = candidate.descriptions
        number = 1 + sum(
            other.estimator.__class__ is candidate.estimator.__class__ for other in found
        )
        found.append(
            candidate if number == 1 else replace(candidate, descriptions=[f"{name} {number}"])
        )
    return found


def _predicts(source: object) -> bool:
    """Return whether a candidate is an estimator that is fitted out of fold."""
    return hasattr(source, "predict") and not isinstance(source, type)


def left_out_message(descriptions: Sequence[str], error: Exception) -> str:
    """Return the message for a candidate that failed."""
    reason = str(error) if isinstance(error, ValueError) else repr(error)
    return f"The candidate {', '.join(map(repr, descriptions))} is left out: {reason}"


def _others(sources: CandidateSources) -> list[CandidateSource]:
    """Return the candidates other than the default ones."""
    return [one for one in sources if not has_default(one)] if _lists(sources) else []


def _lists(sources: object) -> TypeGuard[Sequence[CandidateSource]]:
    return isinstance(sources, list | tuple)
