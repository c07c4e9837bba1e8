"""Contributions of players to fitted functions, and variances of their effects."""
