"""Estimators: they validate, call numerical functions, and store the results."""
