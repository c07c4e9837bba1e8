"""Turn tables of mixed types into numbers on which kernels work well."""

from typing import TYPE_CHECKING

from mercer._data.lazy_names import lazy_names

if TYPE_CHECKING:
    from mercer.preprocessing._column_encoder import column_encoder as column_encoder
    from mercer.preprocessing._column_kinds import kind_of as kind_of
    from mercer.preprocessing._column_kinds import numbers_rows as numbers_rows
    from mercer.preprocessing._conversion import convert as convert
    from mercer.preprocessing._encoded_columns import encoded_columns as encoded_columns
    from mercer.preprocessing._letter_codes import LetterCodes as LetterCodes
    from mercer.preprocessing._letter_codes import repeated_prefix as repeated_prefix
    from mercer.preprocessing._odd_values import odd_value as odd_value
    from mercer.preprocessing._soft_clipping import SoftClippingScaler as SoftClippingScaler
    from mercer.preprocessing._table_encoder import column_encoders as column_encoders
    from mercer.preprocessing._table_encoder import table_encoder as table_encoder
    from mercer.preprocessing._text_columns import CellReading as CellReading
    from mercer.preprocessing._text_columns import cell_readings as cell_readings
    from mercer.preprocessing._text_columns import is_text as is_text
    from mercer.preprocessing._text_columns import missing_texts as missing_texts
    from mercer.preprocessing._text_columns import parse_cells as parse_cells
    from mercer.preprocessing._text_scores import TextScores as TextScores

_MODULES = {
    "mercer.preprocessing._column_encoder": "column_encoder",
    "mercer.preprocessing._column_kinds": "kind_of numbers_rows",
    "mercer.preprocessing._conversion": "convert",
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

__all__ = [name for names in _MODULES.values() for name in names.split()]

if not TYPE_CHECKING:
    # Type checkers read the imports above. Reading of columns does not need scikit-learn.
    __getattr__, __dir__ = lazy_names(globals(), _MODULES)
