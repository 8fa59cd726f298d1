"""The training step, on one device, several devices and JAX."""
