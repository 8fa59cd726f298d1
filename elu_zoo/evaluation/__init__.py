"""Measures of a model on images: loss, errors, calibration, corruptions."""
