"""Records of a run: metrics, checkpoints, resuming, signals."""
