"""The paper's theorems and measures as functions on arrays."""
