"""Faults that tools/reliability.py causes, one kind per file."""
