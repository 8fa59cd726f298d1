"""Writing of weight files, and reading of files that may be damaged or forged."""
