"""Combinations of kernels grown greedily from continuous families."""
