"""Export of models to SavedModel, ONNX and LiteRT."""
