"""Computation of explanations: contributions of players to fitted functions, and variances."""
