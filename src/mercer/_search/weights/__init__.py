"""Weights over a finite dictionary of kernels."""
