"""Runs of the experiments: specs, worker processes, stored rows."""
