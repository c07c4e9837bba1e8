"""From experiments to records: processes, progress, and files that survive interruptions."""
