"""Absl binaries: train, evaluate, predict, export."""
