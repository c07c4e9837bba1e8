"""Preparation of tables for kernels: encoding of columns of mixed types, and robust scaling."""

from mercer.preprocessing._column_kinds import convert, kind_of
from mercer.preprocessing._soft_clipping import SoftClippingScaler
from mercer.preprocessing._table_encoder import column_encoders, table_encoder

__all__ = ["SoftClippingScaler", "column_encoders", "convert", "kind_of", "table_encoder"]
