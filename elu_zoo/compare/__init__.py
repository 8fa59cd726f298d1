"""Comparison of activations: equal tuning, paired runs, one table."""
