"""One file an experiment: problems, methods, and the section with its tables and claims."""
