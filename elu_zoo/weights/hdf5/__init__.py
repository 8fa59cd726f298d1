"""Weight files: writing them, and reading those that may be damaged or forged."""
