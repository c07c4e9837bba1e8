"""The best parameters within one family of kernels."""
