"""Writing weight files, and reading weight files that may be damaged or forged."""
