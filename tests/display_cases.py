"""What displays have drawn."""

from typing import Any


def bar_lengths(display: Any) -> list[float]:
    """The lengths of a display's bars."""
    return [bar.get_width() for bar in display.ax_.patches]


def tick_labels(display: Any) -> list[str]:
    """The labels on the vertical axis of a display."""
    return [label.get_text() for label in display.ax_.get_yticklabels()]
