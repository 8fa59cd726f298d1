"""Phases of a run: where in the network how much is dropped, and until when."""

import keras
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.models import stacks
from elu_zoo.models.arguments import check_choice
from elu_zoo.training import schedules


class Phases:
    """The phases of a run, of which each sets the rates of the model's dropout.

    Weights and optimizer go on through all of them; a run of a network without
    dropout is one phase.

    Args:
        train: the config's entry `train`.
        iterations: of the run.
    """

    def __init__(self, train: ConfigDict, iterations: int):
        boundaries = train.get("phase_boundaries", ())
        self._ends = [*schedules.in_iterations(boundaries, iterations), iterations]
        settings = train.get("dropout", ()), train.get("dropout_placement", ())
        self._dropout = list(zip(*settings, strict=True))
        self._current: int | None = None

    @property
    def builder_arguments(self) -> dict[str, object]:
        """What the network is built with, so that it has a place for every phase."""
        if not self._dropout:
            return {}
        placements = [placement for _, placement in self._dropout]
        return {
            "dropout": self._dropout[0][0],
            "dropout_placement": "all" if "all" in placements else "last",
        }

    def end(self, iteration: int) -> int:
        """Returns the first iteration after the phase that holds this one."""
        return self._ends[self._index(iteration)]

    def enter(self, model: keras.Model, iteration: int) -> bool:
        """Sets the rates for an iteration; returns whether they are other ones."""
        index = self._index(iteration)
        if index == self._current or not self._dropout:
            return False
        self._current = index
        stacks.set_dropout(model, *self._dropout[index])
        return True

    def _index(self, iteration: int) -> int:
        return next(i for i, end in enumerate(self._ends) if iteration < end)


def check(config: ConfigDict, iterations: int) -> None:
    """Checks the phases of a config against network and run.

    Raises:
        UsageError: rates that do not fit the network's stacks, or counts or
            boundaries that do not fit.
    """
    registered = registry.entry(config.model.name)
    train = config.train
    if not registered.is_phased or "dropout" not in train:
        return
    schedules.check_boundaries(
        "train.phase_boundaries", train.phase_boundaries, iterations
    )
    count = len(train.phase_boundaries) + 1
    for key in ("dropout", "dropout_placement"):
        if len(train[key]) != count:
            raise errors.UsageError(
                f"train.{key} has one entry for each of the {count} phases that "
                f"train.phase_boundaries makes. Received: {len(train[key])}."
            )
    for rates, placement in zip(train.dropout, train.dropout_placement, strict=True):
        stacks.check_dropout(rates, len(registered.default("dropout")))
        check_choice("dropout_placement", placement, stacks.PLACEMENTS)
