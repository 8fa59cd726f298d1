"""What tools/results_table.py writes, one kind of content a file."""
