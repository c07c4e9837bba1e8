"""Kernel regression and classification on Nyström features, fitted in one pass over blocks."""
