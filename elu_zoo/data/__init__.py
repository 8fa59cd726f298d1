"""Data sets: loading, splits, the order of examples, and statistics."""
