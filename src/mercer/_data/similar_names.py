"""Suggestions of names that are similar to a name that does not exist."""

import re
from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: object, names: Iterable[object]) -> str:
    """Return a question about the most similar name, or nothing if none is similar.

    Parameters
    ----------
    name : object
        A name that does not exist.
    names : iterable
        The names that exist.

    Returns
    -------
    str
        Text that begins with a space, or an empty string. Names that differ in case or in spaces
        around them alone are the most similar ones.

    Examples
    --------
    >>> did_you_mean("AGE", ["size", "age"])
    " (did you mean 'age'?)"
    >>> did_you_mean("AGE", ["size"])
    ''
    """
    texts = [str(one) for one in names]
    plain = [text.strip().casefold() for text in texts]
    similar = get_close_matches(str(name).strip().casefold(), plain, n=1)
    return f" (did you mean {texts[plain.index(similar[0])]!r}?)" if similar else ""


def renamed(told: str, fitted: Iterable[object]) -> str:
    r"""Return which new column may be a fitted one, given scikit-learn's error about their names.

    Parameters
    ----------
    told : str
        The error message, which has a line such as "- AGE" for each column that is new or absent.
    fitted : iterable of str
        Names of the columns that the estimator was fitted to.

    Returns
    -------
    str
        A sentence, or an empty string.

    Examples
    --------
    >>> renamed("The feature names should match ...:\n- AGE\n- age\n", ["age", "size"])
    "Column 'AGE' is new (did you mean 'age'?)."
    """
    named, known = re.findall("^- (.*)$", told, re.MULTILINE), {str(name) for name in fitted}
    absent = [name for name in named if name in known]
    for name in named:
        if name not in known and (hint := did_you_mean(name, absent)):
            return f"Column {name!r} is new{hint}."
    return ""
