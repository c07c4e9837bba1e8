"""Sections of the report, one for each experiment: tables, figures and verdicts."""
