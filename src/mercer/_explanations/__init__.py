"""Arithmetic of explanations: contributions of players to fitted functions, and their variance."""
