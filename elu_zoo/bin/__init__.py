"""Absl binaries, one per command; shared modules: config, early, flags, streams."""
