"""The same networks and training, written in other libraries."""
