"""Linear functions of leaves as sums over trees whose nodes are stored in arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mercer._data.types import Array, Features
from mercer._gram.expansion import FeatureTerm, KernelTerm, Term
from mercer.kernels import Forest, Kernel, WeightedSum
from mercer.kernels._leaves import leaves_of
from mercer.kernels._tree_arrays import TreeArrays, as_tree_arrays


@dataclass(frozen=True)
class TreeTerm:
    """A mean over trees, in which each tree contributes the value of the leaf that a row reaches.

    Attributes
    ----------
    trees : TreeArrays
    view : str
        Name of the view on which it is evaluated.
    """

    trees: TreeArrays
    view: str

    @property
    def description(self) -> str:
        """Description of the trees, with their number."""
        return f"Forest of {len(self.trees.starts) - 1} trees"

    def __call__(self, X: Features) -> Array:
        """Return the values on rows of the view, shape (n_rows, n_outputs)."""
        return self.trees.predict(X)

    def mapped(self, matrix: Array) -> TreeTerm:
        """Return the term with its outputs multiplied by a matrix."""
        return replace(self, trees=replace(self.trees, value=self.trees.value @ matrix))

    def products(self, n_features: int) -> None:
        """Return None, because the term is not a sum of products over columns."""


def as_tree_terms(term: Term) -> list[Term]:
    """Rewrite the kernels of trees in a part of a function as means over trees.

    Returns
    -------
    list of Term
        Several terms if the kernel is a sum with a kernel of trees as a summand.
    """
    if isinstance(term, FeatureTerm):
        return [tree_term(term) or replace(term, kernel=replace(term.kernel, rows=None))]
    if not isinstance(term, KernelTerm):
        return [term]
    trees: list[tuple[Kernel, float]] = []
    rest: list[tuple[Kernel, float]] = []
    for weight, part in _summands(term.kernel):
        (trees if isinstance(part, Forest) else rest).append((part, weight))
    if not any(weight for _, weight in trees):
        return [term]
    found: list[Term] = []
    if rest:
        found.append(replace(term, kernel=WeightedSum(*map(list, zip(*rest, strict=True)))))
    for kernel, weight in trees:
        if not weight:
            continue
        known = kernel if kernel.cuts is not None else kernel.with_leaves_of(term.centers)
        coefficients = weight * (known.features(term.centers).T @ term.coefficients)
        found += as_tree_terms(FeatureTerm(known, coefficients, term.view))
    return found


def _summands(kernel: Kernel, weight: float = 1.0) -> Iterator[tuple[float, Kernel]]:
    """Yield the weights and kernels of a sum, including those of nested sums."""
    if not isinstance(kernel, WeightedSum):
        yield weight, kernel
        return
    for own, part in kernel._terms():
        yield from _summands(part, weight * own)


def tree_term(term: FeatureTerm) -> TreeTerm | None:
    """Rewrite a linear function of leaves as a mean over trees.

    Returns
    -------
    TreeTerm or None
        None if the nodes of the trees are unknown, as for trees of other libraries, or if trees
        split by sets of categories.
    """
    kernel = term.kernel
    if not isinstance(kernel, Forest) or kernel.cuts is None:
        return None
    if (arrays := as_tree_arrays(kernel.ensemble)) is None:
        return None
    value = np.zeros((len(arrays.feature), term.coefficients.shape[1]))
    for leaves, own in _leaves_of_trees(kernel, arrays):
        # Indicators are divided by the square root of the number of trees, and a mean over trees by
        # the number itself.
        value[leaves] = term.coefficients[own] * np.sqrt(len(kernel.cuts))
    return TreeTerm(replace(arrays, value=value), term.view)


def _leaves_of_trees(kernel: Forest, arrays: TreeArrays) -> Iterator[tuple[Array, Array]]:
    """Yield, for each tree, the nodes that are leaves and the features that indicate them."""
    assert kernel.cuts is not None
    numbers, firsts = arrays.leaf_numbers(), kernel.first_features
    for tree, cuts in enumerate(kernel.cuts):
        nodes = np.arange(arrays.starts[tree], arrays.starts[tree + 1])
        leaves = nodes[arrays.children[nodes, 0] < 0]
        yield leaves, firsts[tree] + leaves_of(numbers[leaves], cuts).astype(np.intp)
