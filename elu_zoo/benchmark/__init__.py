"""Measurements of speed that anyone can repeat: ours beside what else there is."""
