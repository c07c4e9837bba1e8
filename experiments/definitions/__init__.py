"""Definitions of experiments: data, splits, methods with their grids, and measures."""
