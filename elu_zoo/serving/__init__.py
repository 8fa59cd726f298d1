"""A server for one machine that speaks as TensorFlow Serving does, gRPC and REST."""
