"""Runs of the experiments: specs, worker processes and results stores."""
