"""One Python file an experiment of the paper."""
