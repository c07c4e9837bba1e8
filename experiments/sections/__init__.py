"""One file an experiment: tables, figures and verdicts, from its records."""
