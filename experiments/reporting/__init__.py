"""From records to a page: statistics, tables, figures, and claims with their verdicts."""
