"""A server for one machine, with TensorFlow Serving's gRPC and REST interfaces."""
