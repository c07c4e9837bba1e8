"""Preparation of tables for kernels: encoding of columns of mixed types, and robust scaling."""

from mercer.preprocessing._soft_clipping import SoftClippingScaler
from mercer.preprocessing._table_encoder import table_encoder

__all__ = ["SoftClippingScaler", "table_encoder"]
