"""Passes over the rows of a table in blocks: sources, statistics, samples."""
