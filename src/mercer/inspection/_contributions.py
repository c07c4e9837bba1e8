"""Contributions of columns to predictions: their numbers, in words, and the names of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import exp, floor, isfinite, log10
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, softmax

from mercer._data.notebook import FrameResult, NotebookResult, data_frames
from mercer._data.types import Array
from mercer._data.validation import LARGEST_LOGARITHM
from mercer._gram.expansion import Scale
from mercer.inspection._columns import columns_of

if TYPE_CHECKING:
    import pandas as pd
    from shap import Explanation

_MULTIPLIED = {
    "log-odds": "odds of {}",
    "logit": "odds of {}",
    "log rate": "expected count",
    "log response": "prediction",
}
"""Names of what the exponentials of contributions multiply, by scale."""


@dataclass(frozen=True, repr=False)
class Contribution(NotebookResult):
    """Contribution of a column to a prediction.

    Attributes
    ----------
    name : str
        Name of the column or of the group of columns.
    value : object
        Value of the column in the explained row, or a text for a group.
    amount : float
        Signed contribution, in the unit of the prediction.
    standard_error : float
        Standard error of the amount; zero if the amount is exact.

    Examples
    --------
    >>> from mercer.inspection import Contribution
    >>> Contribution("age", 61.0, 2.314, 0.0).in_words("response", unit="kg")
    'age 61: 2.31 kg above the average row'
    """

    name: str
    value: object
    amount: float
    standard_error: float

    @property
    def cell(self) -> str:
        """The name and the value, such as "age 61"."""
        return f"{self.name} {cell_text(self.value)}".rstrip()

    def in_words(self, scale: Scale, output: str = "", unit: str = "", decimals: int = 2) -> str:
        """Return the contribution as a phrase, such as "age 61: 2.3 kg above the average row".

        Parameters
        ----------
        scale : str
            "response", "log response", "log-odds", "logit", "decision value", "latent mean" or
            "log rate".
        output : str, default=""
            Name of the class.
        unit : str, default=""
            Unit of the response.
        decimals : int, default=2
        """
        if scale in _MULTIPLIED:
            factor = _significant(exp(min(self.amount, LARGEST_LOGARITHM)))
            return f"{self.cell}: multiplies the {_MULTIPLIED[scale].format(output)} by {factor}"
        amount = f"{abs(self.amount):,.{decimals}f}"  # A word states the sign.
        if not float(amount.replace(",", "")):
            return f"{self.cell}: as the average row"
        side = "above" if self.amount > 0.0 else "below"
        what = f" {unit}" * (scale == "response" and bool(unit))
        of_class = f" in the {scale} of {output}" if output else ""
        return f"{self.cell}: {amount}{what} {side} the average row{of_class}"


def cell_text(value: object, longest: int = 40) -> str:
    """Return a cell of a table as a short text.

    Parameters
    ----------
    value : object
    longest : int, default=40
        Maximum number of characters; longer texts are truncated.

    Examples
    --------
    >>> cell_text(61.0), cell_text(0.123456), cell_text(float("nan")), cell_text("Bern")
    ('61', '0.1235', 'missing', 'Bern')
    """
    if value is None or str(value) in ("<NA>", "NaT", "nan"):
        return "missing"
    if isinstance(value, Real) and not isinstance(value, Integral):
        number = float(value)
        return f"{number:.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"
    text = str(value)
    if isinstance(value, date):  # Times of day are of the first day, and dates have no time.
        text = text.removesuffix(":00").removesuffix(" 00:00").removeprefix("1970-01-01 ")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def decimals_of(amounts: Sequence[float]) -> int:
    """Return the number of decimals that gives the largest number three significant digits.

    Parameters
    ----------
    amounts : sequence of float

    Examples
    --------
    >>> decimals_of([2.345, -0.1]), decimals_of([31234.5]), decimals_of([0.0])
    (2, 0, 2)
    """
    largest = max((abs(amount) for amount in amounts), default=0.0)
    if not (largest and isfinite(largest)):
        return 2
    return min(max(2 - floor(log10(largest)), 0), 12)


def output_position(output: str | int | None, output_names: list[str], n_outputs: int) -> int:
    """Return the position of an output with a given name.

    Parameters
    ----------
    output : str, int or None
        Class, or position of a response; None if there is only one output.
    output_names : list of str
        Classes; empty for responses.
    n_outputs : int

    Raises
    ------
    ValueError
        If the output does not exist, or if there are several outputs and none is named.
    """
    if n_outputs == 1 and output is None:
        return 0
    names = output_names or [str(position) for position in range(n_outputs)]
    if str(output) not in names:
        raise ValueError(f"output must be one of {', '.join(names)}; got {output!r}.")
    return names.index(str(output))


def output_weights(
    output: str | int | None, output_names: list[str], n_outputs: int, scale: Scale
) -> tuple[Array, list[str], Scale]:
    """Return the weights of outputs whose weighted sum is one output, with its name and scale.

    For scores of several classes, the weighted sum is the log-odds of the class against the other
    classes, that is, against the geometric mean of their probabilities.

    Parameters
    ----------
    output : str, int or None
    output_names : list of str
    n_outputs : int
    scale : str
        "response", "log response", "log-odds", "logit", "decision value", "latent mean" or
        "log rate".

    Raises
    ------
    ValueError
        See :func:`output_position`.
    """
    k = output_position(output, output_names, n_outputs)
    weights = np.zeros(n_outputs)
    if scale == "logit":
        weights -= 1.0 / (n_outputs - 1)
        scale = "log-odds"
    weights[k] = 1.0
    return weights, output_names[k : k + 1], scale


def _significant(factor: float) -> str:
    """Format a number with two significant digits, without an exponent below a million."""
    if factor == 0.0:
        return "0"
    decimals = min(max(1 - floor(log10(factor)), 0), 6)
    return f"{factor:,.{decimals}f}" if factor < 1e6 else f"{factor:.0e}"


FAR = "far from training rows"
"""Name of the shrinkage of predictions far from the training rows."""


@dataclass(frozen=True, repr=False)
class ShapleyValues(FrameResult):
    """Contributions of columns to predictions, computed by `shapley_values`.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_players) or (n_rows, n_players, n_outputs)
        Contributions in the unit of the prediction. A player is a column or a group of columns.
    base_value : float or ndarray of shape (n_outputs,)
        Mean prediction for the background rows.
    covariances : ndarray of shape (n_rows, n_players, n_outputs, n_outputs)
        Covariances of the outputs of each value over draws of permutations, for the given
        background; zero if a value is exact. There is one output if `values` has two dimensions.
    data : ndarray of shape (n_rows, n_players)
        Values of the players in the rows; text if a player has several columns.
    feature_names : list of str of shape (n_players,)
    output_names : list of str
        Classes, or empty for responses.
    scale : str
        "response", "log response", "log-odds", "logit", "decision value", "latent mean" or
        "log rate".
        Scale of the explained output.
    shrinkage : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        For rows far from all training rows, the amount that the model adds to the sum of the base
        value and the values; zero for all other rows.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import shapley_values
    >>> X, y = make_friedman1(100, n_features=5, random_state=0)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> found = shapley_values(model, X[:3])
    >>> found.values.shape, found.feature_names
    ((3, 5), ['x0', 'x1', 'x2', 'x3', 'x4'])
    >>> sums = found.base_value + found.values.sum(axis=1)
    >>> bool(abs(sums - model.predict(X[:3])).max() < 1e-6)
    True
    """

    values: Array
    base_value: float | Array
    covariances: Array
    data: Array
    feature_names: list[str]
    output_names: list[str]
    scale: Scale
    shrinkage: Array

    @property
    def standard_errors(self) -> Array:
        """Standard errors of `values` over draws of permutations, with the same shape."""
        variances = np.diagonal(self.covariances, axis1=2, axis2=3).reshape(self.values.shape)
        # Rounding may make variances negative if outputs cancel.
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))

    @property
    def predictions(self) -> Array:
        """Predictions, the sums of base value, values and shrinkage, of shape (n_rows, ...)."""
        return np.asarray(self.base_value + self.values.sum(axis=1) + self.shrinkage)

    @property
    def importances(self) -> Array:
        """Mean absolute values over rows, of shape (n_players,) or (n_players, n_outputs)."""
        return np.asarray(np.abs(self.values).mean(axis=0))

    def of_output(self, output: str | int | None = None) -> ShapleyValues:
        """Return the values of one output.

        Parameters
        ----------
        output : str or int, default=None
            Class, or position of a response; None if there is only one output.

        Returns
        -------
        ShapleyValues
            Result with `values` of shape (n_rows, n_players). Scores of several classes become the
            log-odds of the class against the other classes, that is, against the geometric mean of
            their probabilities.

        Raises
        ------
        ValueError
            If the output does not exist, or if there are several outputs and none is named.
        """
        if self.values.ndim == 2:
            return self
        weights, names, scale = output_weights(
            output, self.output_names, self.values.shape[2], self.scale
        )
        return replace(
            self,
            values=self.values @ weights,
            base_value=float(self.base_value @ weights),
            covariances=(weights @ self.covariances @ weights)[:, :, None, None],
            output_names=names,
            scale=scale,
            shrinkage=self.shrinkage @ weights,
        )

    def largest(
        self, row: int = 0, n_largest: int = 3, *, output: str | int | None = None
    ) -> list[Contribution]:
        """Return the largest contributions to one prediction.

        Parameters
        ----------
        row : int, default=0
            Position of the explained row.
        n_largest : int, default=3
            Maximum number of contributions.
        output : str or int, default=None
            Class, or position of a response; None stands for the only output, or for the class with
            the highest score.

        Returns
        -------
        list of Contribution
            Name, value and signed amount of columns in descending order of the absolute amounts.

        Raises
        ------
        IndexError
            If the row does not exist.
        ValueError
            If there are several responses and none is named.
        """
        found = self.of_row(row, output)
        order = np.argsort(-np.abs(found.values[row]), kind="stable")[:n_largest]
        return [
            Contribution(
                self.feature_names[player],
                self.data[row, player],
                float(found.values[row, player]),
                float(found.standard_errors[row, player]),
            )
            for player in order
        ]

    def in_words(
        self,
        row: int = 0,
        n_largest: int = 3,
        *,
        output: str | int | None = None,
        unit: str = "",
    ) -> list[str]:
        """Return the largest contributions to one prediction as phrases.

        Parameters
        ----------
        row : int, default=0
        n_largest : int, default=3
        output : str or int, default=None
            See `largest`.
        unit : str, default=""
            Unit of the response.

        Returns
        -------
        list of str
            Phrases such as "age 61: 2.3 kg above the average row", or for classes "age 61:
            multiplies the odds of yes by 2.3". The prediction for the average row is `base_value`.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from mercer import TwoStageRegressor
        >>> from mercer.inspection import shapley_values
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        >>> model = TwoStageRegressor().fit(X, y)
        >>> shapley_values(model, X[:1]).in_words(0, 2)
        ['bmi 32.1: 33.2 above the average row', 's3 38: 18.3 above the average row']
        """
        found = self.of_row(row, output)
        chosen = self.largest(row, n_largest, output=output)
        decimals = found.decimals()
        name = found.output_names[0] if found.output_names else ""
        return [one.in_words(found.scale, name, unit, decimals) for one in chosen]

    def headline(self, row: int = 0, *, output: str | int | None = None, unit: str = "") -> str:
        """Return a prediction and the prediction for the average row as text.

        Parameters
        ----------
        row : int, default=0
        output : str or int, default=None
            See `largest`.
        unit : str, default=""
            Unit of the response.

        Returns
        -------
        str
            Text such as "Prediction 68.2 kg, average row 65.1 kg", or "Probability of yes 93.4%,
            average row 55.1%". Logarithms are transformed back, because contributions in words
            multiply the response.
        """
        found = self.of_row(row, output)
        of_class = f" of {found.output_names[0]}" if found.output_names else ""
        if self.scale in ("log-odds", "logit"):
            scores = np.stack([self.predictions[row], np.asarray(self.base_value)])
            p = softmax(scores, axis=-1) if self.scale == "logit" else expit(scores)
            if p.ndim == 2:
                p = p[:, output_position(found.output_names[0], self.output_names, p.shape[1])]
            texts = [f"{100.0 * value:.3g}%" for value in p]
            return f"Probability{of_class} {texts[0]}, average row {texts[1]}"
        values = [float(found.predictions[row]), float(found.base_value)]
        decimals = found.decimals()
        label = {"response": "Prediction"}.get(self.scale, self.scale.capitalize())
        if self.scale in ("log rate", "log response"):
            label = _MULTIPLIED[self.scale].capitalize()
            values = [exp(min(value, LARGEST_LOGARITHM)) for value in values]
            decimals = decimals_of([min(values)])
        unit = f" {unit}" * (bool(unit) and self.scale in ("response", "log rate", "log response"))
        texts = [f"{value:,.{decimals}f}{unit}" for value in values]
        return f"{label}{of_class} {texts[0]}, average row {texts[1]}"

    def decimals(self) -> int:
        """Return the number of decimals that shows the largest importance with three digits."""
        return decimals_of([float(self.importances.max(initial=0.0))])

    def of_row(self, row: int, output: str | int | None = None) -> ShapleyValues:
        """Return the values of the output that is explained for one row.

        Parameters
        ----------
        row : int
        output : str, int or None
            None stands for the only output, or for the class with the highest score in the row.

        Returns
        -------
        ShapleyValues
            Values of all rows; see `of_output`.

        Raises
        ------
        IndexError
            If the row does not exist.
        """
        if not -len(self.values) <= row < len(self.values):
            raise IndexError(f"There is no row {row}: {len(self.values)} rows are explained.")
        if output is None and self.output_names and self.values.ndim == 3:
            output = self.output_names[int(self.predictions[row].argmax())]
        return self.of_output(output)

    def to_frame(self) -> pd.DataFrame:
        """Return the values as a data frame with a row for each explained row.

        Returns
        -------
        pandas.DataFrame
            The columns are feature names or, for several outputs, pairs of output and feature name.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pd = data_frames()
        if self.values.ndim == 2:
            return pd.DataFrame(self.values, columns=self.feature_names)
        n_rows, _, n_outputs = self.values.shape
        names = self.output_names or [str(output) for output in range(n_outputs)]
        columns = pd.MultiIndex.from_product([names, self.feature_names])
        return pd.DataFrame(self.values.transpose(0, 2, 1).reshape(n_rows, -1), columns=columns)

    def to_shap(self) -> Explanation:
        """Return the values as an object for the plots of the package shap.

        Plots show one output. If there are several, convert `found.of_output(name)`. If rows are
        far from all training rows, shrinkage is an additional column, so that the base value and
        the values sum to the predictions.

        Returns
        -------
        shap.Explanation
            Its `data` are numbers or text. Dates are years, such as 2024.5, and durations are days.

        Raises
        ------
        ImportError
            If shap is not installed.

        Examples
        --------
        ``shap.plots.beeswarm(found.to_shap())`` draws a point for each row,
        ``shap.plots.waterfall(found.to_shap()[0])`` the bars that lead from the average row to the
        prediction of the first row, and ``shap.plots.scatter(found.to_shap()[:, "age"])`` the
        contributions of one column over its values.
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError("to_shap needs the package shap: pip install shap") from error
        base = np.broadcast_to(self.base_value, (len(self.values), *np.shape(self.base_value)))
        columns = [_plotted(column) for column in self.data.T]
        values, errors, names = self.values, self.standard_errors, list(self.feature_names)
        if self.shrinkage.any():
            values = np.concatenate([values, self.shrinkage[:, None]], axis=1)
            errors = np.concatenate([errors, np.zeros_like(self.shrinkage)[:, None]], axis=1)
            columns.append(np.full(len(values), ""))
            names.append(FAR)
        kind = float if all(column.dtype.kind == "f" for column in columns) else object
        return shap.Explanation(
            values=values,
            base_values=base.copy(),
            data=np.stack([column.astype(kind) for column in columns], axis=1),
            error_std=errors,
            feature_names=names,
            output_names=self.output_names or None,
        )


def _plotted(cells: Array) -> Array:
    """Return a column for plots of other packages as numbers, years or text."""
    found = columns_of(cells[:, None])
    if not found:
        return np.array([cell_text(cell) for cell in cells])
    (column,) = found
    if column.kind == "date":
        return 1970.0 + column.values / 365.2425
    return column.values if column.is_ordered else column.labels[column.values.astype(int)]
