"""How results are shown: as a short text in terminals, and as a data frame in notebooks."""

import re
from dataclasses import fields
from numbers import Integral, Real
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd

_INVISIBLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Pattern of characters that control a terminal, hide text or reverse its direction."""


def visible(text: str) -> str:
    r"""Escape characters that control a terminal, hide text or reverse its direction.

    Tabs and line ends are kept.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> print(visible("red \x1b[31m, reversed \u202e"))
    red \x1b[31m, reversed \u202e
    """
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def data_frames() -> ModuleType:
    """Import and return pandas.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("A data frame needs the package pandas: pip install pandas") from error
    return pd


class NotebookResult:
    """Base class of results that are shown as a short text, which names the sizes of arrays."""

    def __repr__(self) -> str:
        names = [field.name for field in fields(cast(Any, self))]
        shown = [f"{name}={_short(getattr(self, name))}" for name in names]
        return visible(f"{type(self).__name__}({', '.join(shown)})")


class FrameResult(NotebookResult):
    """Base class of results that notebooks show as a data frame, if pandas is installed."""

    def to_frame(self) -> "pd.DataFrame":
        """Return the result as a data frame."""
        raise NotImplementedError

    def _repr_html_(self) -> str | None:
        try:
            found = self.to_frame()._repr_html_()  # type: ignore[operator]
        except ImportError:
            return None
        return None if found is None else visible(found)


def _short(value: object, longest: int = 40) -> str:
    """Return a value as a short text: arrays and long containers by their sizes."""
    if isinstance(shape := getattr(value, "shape", None), tuple) and shape:
        return f"<{type(value).__name__} of shape {shape}>"
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.4g}"
    text = repr(value)
    if isinstance(value, str) or value is None:
        return text if len(text) <= longest else f"{text[: longest - 1]}…"
    # Some texts hold addresses in memory, which say nothing.
    if len(text) <= 80 and " at 0x" not in text:
        return text
    size = f" of {len(value):,}" if isinstance(value, list | tuple | dict) else ""
    return f"<{type(value).__name__}{size}>"
