"""How results are shown: as a short text in terminals, and as a data frame in notebooks."""

import re
import reprlib
from dataclasses import fields
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


class _Texts(reprlib.Repr):
    """Short texts of values: of arrays and data frames, their shapes."""

    def repr1(self, x: object, level: int) -> str:
        if shape := getattr(x, "shape", ()):
            return f"<{type(x).__name__} of shape {shape}>"
        return super().repr1(x, level)

    def repr_float(self, x: float, level: int) -> str:
        """Return a number with four digits."""
        return f"{x:.4g}"

    repr_float64 = repr_float


_TEXTS = _Texts()
"""Shortens texts of values in tables of notebooks."""

_TEXTS.maxother = 60


class NotebookResult:
    """Base class of results that are shown as a short text, which names the sizes of arrays."""

    def __repr__(self) -> str:
        names = [field.name for field in fields(cast(Any, self))]
        shown = [f"{name}={_TEXTS.repr(getattr(self, name))}" for name in names]
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
