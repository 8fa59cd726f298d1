"""Theorems and measures of the paper as functions of arrays and models."""
