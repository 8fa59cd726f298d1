"""SavedModels that servers take unchanged."""
