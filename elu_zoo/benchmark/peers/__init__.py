"""The networks and the training of elu_zoo, written in other libraries."""
