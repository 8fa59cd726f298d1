"""Sections of configs with every field of the table."""

from ml_collections import ConfigDict

from elu_zoo.training import fields


def complete(**sections):
    """Returns a config of the given sections, with neutral values of other fields."""
    config = ConfigDict({"model": {"name": "elu_cifar_11"}, **sections})
    fields.complete(config)
    return config
