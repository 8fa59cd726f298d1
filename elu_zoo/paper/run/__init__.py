"""Runs of the experiments: specs, worker processes, results stores."""
