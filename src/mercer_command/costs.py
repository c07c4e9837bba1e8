"""Choice of a threshold between two classes by costs, and its decisions on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.metrics import roc_curve

from mercer_command.messages import InputError, shown
from mercer_command.output import Section, Table, Text
from mercer_command.table_model import TableModel
from mercer_command.values import Array


@dataclass(frozen=True)
class Costs:
    """Costs of the two kinds of errors.

    Attributes
    ----------
    false_positive : float
        Cost of predicting the second class for a row of the first.
    false_negative : float
        Cost of predicting the first class for a row of the second.
    """

    false_positive: float
    false_negative: float

    def threshold(self, model: TableModel) -> float:
        """Return the threshold on the probability of the second class that has the lowest cost.

        Parameters
        ----------
        model : fitted TableModel
            A classifier of two classes with probabilities.

        Notes
        -----
        The threshold has the lowest mean cost for the held-out probabilities of training rows.
        Among several such thresholds, it is the one nearest to false_positive / (false_positive +
        false_negative), which is optimal if probabilities are exact, and which is returned if the
        model has no held-out probabilities.
        """
        exact = self.false_positive / (self.false_positive + self.false_negative)
        step = model[-1]
        try:
            held_out = step.held_out_classifier()
        except (AttributeError, ValueError):
            return exact
        p = held_out.predict_proba(held_out.samples_)[:, 1]
        is_second = np.asarray(held_out.labels_) == step.classes_[1]
        alarms, found, scores = roc_curve(is_second, p, drop_intermediate=False)
        total = self.false_positive * alarms * np.sum(~is_second)
        total += self.false_negative * (1.0 - found) * np.sum(is_second)
        # Between one and zero, each threshold is halfway between two probabilities.
        edges = np.r_[1.0, (scores[1:-1] + scores[2:]) / 2.0, 0.0]
        best = np.flatnonzero(total <= total.min() * (1.0 + 1e-12))
        return float(edges[best[np.abs(edges[best] - exact).argmin()]])


def read_costs(given: str | None, n_classes: int) -> Costs | None:
    """Parse the costs of the option --cost, after checking that there are two classes.

    Parameters
    ----------
    given : str or None
    n_classes : int
        Number of classes; zero for regression.

    Raises
    ------
    InputError
        If there are not two classes, or the costs are not two positive numbers.
    """
    if given is None:
        return None
    if n_classes != 2:
        what = f"{n_classes} classes" if n_classes else "a response"
        raise InputError(f"--cost is for two classes; the target has {what}")
    parts = pd.to_numeric(pd.Series(given.split(",")), errors="coerce")
    if len(parts) != 2 or not ((parts > 0.0) & (parts < np.inf)).all():
        raise InputError(f"--cost takes two positive numbers, such as 1,10; got {given}")
    return Costs(*parts.astype(float))


def cost_section(model: TableModel, X: object, y: Array, costs: Costs) -> Section:
    """Return the costs of decisions on held-out rows, compared with simple rules.

    Parameters
    ----------
    model : fitted TableModel
        A model with a threshold.
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,)
    costs : Costs
    """
    assert model.threshold is not None
    first, second = (shown(name, longest=24) for name in model.classes_)
    is_second, p = np.asarray(y) == model.classes_[1], model.predict_proba(X)[:, 1]
    rules = {
        f"from {model.threshold:.3g} on (chosen)": p >= model.threshold,
        "from 0.5 on": p >= 0.5,
        f"always {first}": np.zeros(len(p), bool),
        f"always {second}": np.ones(len(p), bool),
    }
    rows = []
    for name, predicted in rules.items():
        false, missed = predicted & ~is_second, ~predicted & is_second
        each = costs.false_positive * false + costs.false_negative * missed
        error = float(stats.sem(each)) * float(stats.norm.ppf(0.975))
        ends = f"{max(each.mean() - error, 0.0):.4g} to {each.mean() + error:.4g}"
        rows.append([name, f"{each.mean():.4g}", ends, f"{false.sum():,}", f"{missed.sum():,}"])
    header = [f"{second} is predicted", "Cost per row", "95% interval", "False", "Missed"]
    told = (
        f"A false {second} costs {costs.false_positive:g}, a missed one {costs.false_negative:g}. "
        "The threshold has the lowest cost on left-out training rows, and is saved with the model."
    )
    table = Table(header, rows, range(1, 5), bold={0})
    return Section(f"Decisions for {second} by what errors cost", [table, Text(told)])
