"""From records to a page: statistics, tables, figures and the ledger of claims."""
