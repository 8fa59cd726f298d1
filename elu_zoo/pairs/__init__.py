"""Paired runs: spec, worker, store, statistics, tables and plots."""
