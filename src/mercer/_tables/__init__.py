"""Tables as people write them: the notation of cells, and a reader of data frames of text."""

from mercer._tables.shown_names import listing, shown
from mercer._tables.table_reader import TableReader

__all__ = ["TableReader", "listing", "shown"]
