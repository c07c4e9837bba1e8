"""The commands: a module for each, with a function `run` of its parsed options."""
