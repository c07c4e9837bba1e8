"""Files, splits, methods and measures of the experiment `tables`."""
