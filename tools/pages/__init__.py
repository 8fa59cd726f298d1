"""Contents of the pages that tools/results_table.py writes, one kind per file."""
