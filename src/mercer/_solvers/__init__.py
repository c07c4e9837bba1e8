"""Predictors on a Gram matrix: kernel ridge regression and support vector machines."""
