"""Samples, with their targets and weights."""
