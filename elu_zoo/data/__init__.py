"""Data sets as arrays, their order, and the batches of an epoch."""
