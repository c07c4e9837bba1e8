"""One file an experiment: its data, splits, methods with their grids, and measures."""
