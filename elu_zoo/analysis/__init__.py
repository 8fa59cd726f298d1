"""Arrays and models in, numbers out."""
