"""The paper's experiments, theory, statistics and plots."""
