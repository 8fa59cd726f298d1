"""Phases of a run: how much is dropped, and which heads learn, until when."""

import keras
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.models import stacks
from elu_zoo.models.blocks import HEADS
from elu_zoo.training import schedules


class Phases:
    """The phases of a run, of which each sets what layers of the model do.

    Weights and optimizer go on through all of them. `train.dropout` and
    `train.dropout_placement` have an entry a phase; at `train.heads_until`, a share of
    the run, auxiliary heads are dropped. Most runs are one phase.

    Args:
        train: the config's entry `train`.
        iterations: of the run.
    """

    def __init__(self, train: ConfigDict, iterations: int):
        boundaries = train.get("phase_boundaries", ())
        self._of_dropout = schedules.in_iterations(boundaries, iterations)
        # 0 is an iteration and no share, of which a short run has at least one.
        until = [train.heads_until or 0] if "heads_until" in train else []
        self._of_heads = schedules.in_iterations(until, iterations)
        self._ends = sorted({*self._of_dropout, *self._of_heads, iterations})
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
        """Sets what holds for an iteration; returns whether that is something else."""
        index = self._index(iteration)
        if index == self._current or not (self._dropout or self._of_heads):
            return False
        self._current = index
        if self._dropout:
            past = sum(end <= iteration for end in self._of_dropout)
            stacks.set_dropout(model, *self._dropout[past])
        for end in self._of_heads:
            model.get_layer(HEADS).active = iteration < end
        return True

    def _index(self, iteration: int) -> int:
        return next(i for i, end in enumerate(self._ends) if iteration < end)


def check(config: ConfigDict, iterations: int) -> None:
    """Checks the phases of a config against network and run.

    Raises:
        UsageError: rates that do not fit the network's stacks, counts or boundaries
            that do not fit, or heads that the network has not.
    """
    registered = registry.entry(config.model.name)
    train = config.train
    if "heads_until" in train:
        until = (train.heads_until,) if train.heads_until else ()
        schedules.check_boundaries("train.heads_until", until, iterations)
        if not config.model.get("auxiliary_heads"):
            raise errors.UsageError(
                "train.heads_until needs model.auxiliary_heads=True, of a network that "
                f"has them. Received: model.name {config.model.name}."
            )
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
        errors.check_choice("dropout_placement", placement, stacks.PLACEMENTS)
