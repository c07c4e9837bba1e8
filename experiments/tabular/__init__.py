"""Tables of mixed types: files, splits, compared methods and measures of the experiment `tables`."""
