"""Two statistics of the same rows, accumulated in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from mercer._blocks import Block, BlockStatistic

First = TypeVar("First")
Second = TypeVar("Second")


@dataclass(frozen=True)
class StatisticPair(Generic[First, Second]):
    """The statistic whose state is the pair of two statistics' states.

    Parameters
    ----------
    first, second : BlockStatistic
    """

    first: BlockStatistic[First]
    second: BlockStatistic[Second]

    def start(self) -> tuple[First, Second]:
        """Both states of no rows."""
        return self.first.start(), self.second.start()

    def add(self, state: tuple[First, Second], block: Block) -> tuple[First, Second]:
        """Both states with a block's rows added.

        Parameters
        ----------
        state : tuple
        block : Block
        """
        return self.first.add(state[0], block), self.second.add(state[1], block)

    def merge(
        self, first: tuple[First, Second], second: tuple[First, Second]
    ) -> tuple[First, Second]:
        """Both states of two sets of rows.

        Parameters
        ----------
        first, second : tuple
        """
        return self.first.merge(first[0], second[0]), self.second.merge(first[1], second[1])
