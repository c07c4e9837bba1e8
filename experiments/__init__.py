"""The experiments of four papers on kernel learning, run again: ``python -m experiments``."""
