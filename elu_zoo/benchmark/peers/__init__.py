"""The same networks and updates as users of other libraries write them."""
