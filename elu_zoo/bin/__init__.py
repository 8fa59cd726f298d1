"""Absl binaries, one per command, and the modules that the binaries share."""
