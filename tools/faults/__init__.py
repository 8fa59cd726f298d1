"""Faults that tools/reliability.py makes, one kind a file, and what came of them."""
