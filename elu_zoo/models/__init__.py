"""The networks of the paper, one file a network or family, found by `elu_zoo.registry`."""
