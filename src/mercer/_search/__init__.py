"""Searches for the best parameters within one family of kernels."""
