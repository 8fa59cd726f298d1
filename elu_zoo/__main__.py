"""`python -m elu_zoo` is elu-zoo-models."""

from elu_zoo.bin.models import run

run()
