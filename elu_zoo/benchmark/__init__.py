"""Benchmarks of elu_zoo and of other libraries."""
