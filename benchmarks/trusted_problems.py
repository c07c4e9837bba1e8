"""Tables whose rows belong together, or are copies, or have noise of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import TimeSeriesSplit

N_NEW = 1000
N_SUBJECTS = 100
"""New subjects at least, where these have ten rows or more."""


class Table(NamedTuple):
    """Training rows, new rows, and what is known of how rows belong together."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    truth: np.ndarray
    groups: np.ndarray | None = None
    cv: Any = None

    @property
    def classes(self) -> bool:
        """Whether labels are predicted."""
        return self.y.dtype.kind in "bi"


Draw: TypeAlias = Callable[[np.random.Generator, int], Table]


def _new_last(X: np.ndarray, y: np.ndarray, n: int, **known: Any) -> Table:
    return Table(X[:n], y[:n], X[n:], y[n:], **known)


# --- rows that belong together -------------------------------------------------------------------


def _subjects(rng: np.random.Generator, n: int, of_subject: int, spread: float = 1.0) -> Table:
    """Rows of subjects with an effect of their own, whom the features tell apart."""
    total = n + max(N_NEW, N_SUBJECTS * of_subject)
    subjects = np.repeat(np.arange(total // of_subject + 1), of_subject)[:total]
    centers = rng.normal(size=(subjects.max() + 1, 5))
    effects = spread * rng.normal(size=subjects.max() + 1)
    X = centers[subjects] + 0.3 * rng.normal(size=(len(subjects), 5))
    y = 1.5 * np.sin(X[:, 0]) + X[:, 1] + effects[subjects] + 0.5 * rng.normal(size=len(X))
    return _new_last(X, y, n, groups=subjects[:n])


def _patients(rng: np.random.Generator, n: int) -> Table:
    table = _subjects(rng, n, n // 40)
    return table._replace(y=table.y > 0.0, truth=table.truth > 0.0)


def _drift(rng: np.random.Generator, n: int) -> Table:
    """A level that walks, which the time tells; the new rows are the sixth that comes next."""
    total = n + n // 6
    X = np.column_stack([rng.normal(size=(total, 3)), np.sqrt(12.0) * np.arange(total) / n])
    level = np.cumsum(0.15 * rng.normal(size=total))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + level + 0.3 * rng.normal(size=total)
    return _new_last(X, y, n, cv=TimeSeriesSplit(5))


def _numbers(rng: np.random.Generator, n: int, *, noise: float = 1.0) -> Table:
    X = rng.normal(size=(n + N_NEW, 5))
    return _new_last(X, np.sin(2.0 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=len(X)), n)


def _copied(rng: np.random.Generator, table: Table, n: int) -> Table:
    """Rows in a random order, of which a third of the first three quarters is there twice."""
    kept = 3 * n // 4
    rows = rng.permutation(np.concatenate([np.arange(kept), np.arange(n - kept)]))
    return table._replace(X=table.X[rows], y=table.y[rows])


def _measured_twice(rng: np.random.Generator, n: int) -> Table:
    """Copies of features whose responses have noise of their own."""
    table = _numbers(rng, n, noise=0.0)
    table = _copied(rng, table, n)
    noise = rng.normal(size=n + N_NEW)
    return table._replace(y=table.y + noise[:n], truth=table.truth + noise[n:])


def _categories(rng: np.random.Generator, n: int) -> Table:
    """Three columns of three categories each, whose combinations have effects of their own."""
    codes = rng.integers(3, size=(n + N_NEW, 3))
    effects = rng.normal(size=(3, 3, 3))[tuple(codes.T)]
    X = np.eye(3)[codes].reshape(len(codes), 9)
    return _new_last(X, effects + 0.5 * rng.normal(size=len(X)), n)


def _labels(rng: np.random.Generator, n: int) -> Table:
    table = _categories(rng, n)
    return table._replace(y=table.y > 0.0, truth=table.truth > 0.0)


FORM = np.tile(np.arange(10), 3)
"""The digits that each form of scikit-learn's `load_digits` begins with: a writer wrote the same
digits in the same order as all others."""


def _digits(rng: np.random.Generator, n: int) -> Table:
    """Digits of some writers, told apart by where their forms begin, and those of the others."""
    X, y = load_digits(return_X_y=True)
    begins = (np.lib.stride_tricks.sliding_window_view(y, FORM.size) == FORM).all(axis=1)
    forms = np.cumsum(np.append(begins, np.zeros(FORM.size - 1, dtype=bool))) - 1
    n_forms = forms[-1] + 1
    chosen = rng.permutation(n_forms)[: round(n_forms * n / len(y))]
    old = np.isin(forms, chosen)
    return Table(X[old], y[old], X[~old], y[~old], groups=forms[old])


HONESTY: dict[str, Draw] = {
    "40 subjects": lambda rng, n: _subjects(rng, n, n // 40),
    "a series with drift": _drift,
    "a third copied": lambda rng, n: _copied(rng, _numbers(rng, n), n),
    "40 patients, two classes": _patients,
    "digits of 12 forms": _digits,
}

COPIES: dict[str, Draw] = {
    "categories, responses": _categories,
    "categories, a third copied": lambda rng, n: _copied(rng, _categories(rng, n), n),
    "numbers, a third copied": lambda rng, n: _copied(rng, _numbers(rng, n), n),
    "numbers, a third measured twice": _measured_twice,
    "categories, two classes": _labels,
    "categories, two classes, a third copied": lambda rng, n: _copied(rng, _labels(rng, n), n),
}


# --- noise, and classes that overlap -------------------------------------------------------------


def _noisy(draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]) -> Any:
    def table(rng: np.random.Generator, n: int) -> Table:
        X = rng.normal(size=(n + N_NEW, 3))
        return _new_last(X, draw(rng, np.sin(2.0 * X[:, 0]) + X[:, 1]), n)

    return table


def _unequal(rng: np.random.Generator, n: int) -> Table:
    X = rng.normal(size=(n + N_NEW, 3))
    noise = 0.5 * np.exp(X[:, 0]) * rng.normal(size=len(X))
    return _new_last(X, np.sin(2.0 * X[:, 0]) + X[:, 1] + noise, n)


NOISES: dict[str, Draw] = {
    "normal": _noisy(lambda rng, f: f + 0.5 * rng.normal(size=len(f))),
    "t, 3 degrees": _noisy(lambda rng, f: f + 0.5 * rng.standard_t(3, size=len(f))),
    "unequal": _unequal,
    "discrete": _noisy(lambda rng, f: rng.poisson(np.exp(0.5 * f)).astype(float)),
    "subjects": lambda rng, n: _subjects(rng, n, 5 if n < 100 else 10),
}


def _mixture(*parts: float) -> Draw:
    def table(rng: np.random.Generator, n: int) -> Table:
        labels = rng.choice(len(parts), p=parts, size=n + N_NEW)
        labels[: 2 * len(parts)] = np.repeat(np.arange(len(parts)), 2)
        X = rng.normal(size=(len(labels), 3))
        X[:, 0] += 1.5 * labels
        return _new_last(X, labels, n)

    return table


def _apart(n_classes: int, distance: float) -> Draw:
    """Equally frequent classes around points of a sphere of this radius."""

    def table(rng: np.random.Generator, n: int) -> Table:
        labels = rng.permutation(np.arange(n + N_NEW) % n_classes)
        centers = rng.normal(size=(n_classes, 6))
        centers *= distance / np.linalg.norm(centers, axis=1, keepdims=True)
        return _new_last(centers[labels] + rng.normal(size=(len(labels), 6)), labels, n)

    return table


FAMILIES = {
    f"{name} classes, {how}": _apart(n_classes, distance)
    for name, n_classes in (("two", 2), ("seven", 7))
    for how, distance in (("noise", 0.0), ("overlapping", 3.0), ("surely apart", 30.0))
}

SETS = {"three equal classes": _mixture(1 / 3, 1 / 3, 1 / 3), "15:25:60": _mixture(0.15, 0.25, 0.6)}
