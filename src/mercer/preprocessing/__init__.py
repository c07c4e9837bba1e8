"""Turn tables of mixed types into numbers on which kernels work well."""

from typing import TYPE_CHECKING

from mercer._data.lazy_names import lazy_names

if TYPE_CHECKING:
    from mercer.preprocessing._column_encoder import column_encoder
    from mercer.preprocessing._column_kinds import kind_of, numbers_rows
    from mercer.preprocessing._conversion import convert
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

_MODULES = {
    "mercer.preprocessing._column_encoder": "column_encoder",
    "mercer.preprocessing._conversion": "convert",
    "mercer.preprocessing._column_kinds": "kind_of numbers_rows",
    "mercer.preprocessing._encoded_columns": "encoded_columns",
    "mercer.preprocessing._letter_codes": "LetterCodes repeated_prefix",
    "mercer.preprocessing._odd_values": "odd_value",
    "mercer.preprocessing._soft_clipping": "SoftClippingScaler",
    "mercer.preprocessing._table_encoder": "column_encoders table_encoder",
    "mercer.preprocessing._text_columns": (
        "CellReading cell_readings is_text missing_texts parse_cells"
    ),
    "mercer.preprocessing._text_scores": "TextScores",
}
"""The names that each module defines; a module is imported on first access to one of them."""

if not TYPE_CHECKING:
    # Type checkers read the imports above. Reading of columns does not need scikit-learn.
    __getattr__, __dir__ = lazy_names(globals(), _MODULES)
