"""Puts this folder on the path of its tests, for the modules of synthetic rows."""
