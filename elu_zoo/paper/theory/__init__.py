"""The theorems of the paper, and measures of its arguments, as functions."""
