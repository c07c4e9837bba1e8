"""Turn tables of mixed types into numbers on which kernels work well."""

from mercer.preprocessing._column_encoder import column_encoder
from mercer.preprocessing._column_kinds import convert, kind_of
from mercer.preprocessing._column_reader import numbers_rows
from mercer.preprocessing._encoded_columns import encoded_columns
from mercer.preprocessing._letter_codes import LetterCodes, repeated_prefix
from mercer.preprocessing._odd_values import odd_value
from mercer.preprocessing._soft_clipping import SoftClippingScaler
from mercer.preprocessing._table_encoder import column_encoders, table_encoder
from mercer.preprocessing._text_columns import (
    CellReading,
    cell_readings,
    is_text,
    missing_texts,
    parse_cells,
)
from mercer.preprocessing._text_scores import TextScores

__all__ = [
    "CellReading",
    "LetterCodes",
    "SoftClippingScaler",
    "TextScores",
    "cell_readings",
    "column_encoder",
    "column_encoders",
    "convert",
    "encoded_columns",
    "is_text",
    "kind_of",
    "missing_texts",
    "numbers_rows",
    "odd_value",
    "parse_cells",
    "repeated_prefix",
    "table_encoder",
]
