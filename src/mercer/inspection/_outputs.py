"""Outputs that are explained: one of several, such as a class against the others, and its name."""

from collections.abc import Sequence

import numpy as np

from mercer._expansion import Scale
from mercer._typing import Array


def output_position(output: str | int | None, output_names: list[str], n_outputs: int) -> int:
    """Position of an output by its name.

    Parameters
    ----------
    output : str, int or None
        Class, or position of a response; None where there is one output only.
    output_names : list of str
        Classes; empty for responses.
    n_outputs : int

    Raises
    ------
    ValueError
        If there is no such output, or if there are several and none is named.
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
    """What outputs are multiplied by for one of them, its name, and what their sum is.

    Of scores of several classes, it is the logarithm of the odds of the class against the others,
    that is, against the geometric mean of their probabilities.

    Parameters
    ----------
    output : str, int or None
    output_names : list of str
    n_outputs : int
    scale : {"response", "log-odds", "logit", "decision value", "latent mean", "log rate"}

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


def quantity_label(scale: str, output_names: Sequence[str] = (), unit: str = "") -> str:
    """Return the label of an axis of predictions.

    Parameters
    ----------
    scale : {"response", "probability", "log-odds", "logit", "decision value", "latent mean"}
    output_names : sequence of str, default=()
        The class, where it is one of several.
    unit : str, default=""
        Of the response.
    """
    if scale == "response":
        return "Prediction" + f", {unit}" * bool(unit)
    name = {"logit": "Score"}.get(scale, scale.capitalize())
    return f"{name} of {output_names[0]}" if output_names else name


def contribution_label(scale: str, output_names: Sequence[str] = (), unit: str = "") -> str:
    """Return the label of an axis of contributions to predictions.

    Parameters
    ----------
    scale : {"response", "log-odds", "logit", "decision value", "latent mean", "log rate"}
    output_names : sequence of str, default=()
        The class, where it is one of several.
    unit : str, default=""
        Of the response.
    """
    what = quantity_label(scale, output_names, unit)
    return f"Contribution to the {what[:1].lower()}{what[1:]}"
