"""Phases of a run, between which dropout rates and auxiliary heads change."""

import keras
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.training import schedules


class Phases:
    """The phases of a run. Most runs have one phase.

    Entry i of `train.dropout` and `train.dropout_placement` sets the dropout of the
    model's stacks until `train.phase_boundaries[i]`. Auxiliary heads are trained until
    `train.heads_until`. A new phase does not change weights or optimizer.
    """

    def __init__(self, train: ConfigDict, iterations: int):
        self._dropout_ends = schedules.in_iterations(train.phase_boundaries, iterations)
        # 0.0 means iteration 0, but `in_iterations` turns fractions into 1 or more.
        until = [train.heads_until or 0] if train.heads_until < 1 else []
        self._heads_ends = schedules.in_iterations(until, iterations)
        self._ends = sorted({*self._dropout_ends, *self._heads_ends, iterations})
        self._dropout = list(zip(train.dropout, train.dropout_placement, strict=True))
        self._current: int | None = None

    @property
    def builder_arguments(self) -> dict:
        """Arguments that build a network with the dropout layers of all phases."""
        if not self._dropout:
            return {}
        placements = [placement for _, placement in self._dropout]
        return {
            "dropout": self._dropout[0][0],
            "dropout_placement": "all" if "all" in placements else placements[0],
        }

    def end(self, iteration: int) -> int:
        """Returns the first iteration after the phase of an iteration."""
        return self._ends[self._index(iteration)]

    def enter(self, model: keras.Model, iteration: int) -> bool:
        """Sets the model to an iteration's phase; returns whether the model changed."""
        index = self._index(iteration)
        if index == self._current or not (self._dropout or self._heads_ends):
            return False
        self._current = index
        if self._dropout:
            from elu_zoo.models import stacks

            current = sum(end <= iteration for end in self._dropout_ends)
            stacks.set_dropout(model, *self._dropout[current])
        for end in self._heads_ends:
            from elu_zoo.models.blocks import HEADS

            model.get_layer(HEADS).active = iteration < end
        return True

    def _index(self, iteration: int) -> int:
        return next(i for i, end in enumerate(self._ends) if iteration < end)


def check_phases(config: ConfigDict, iterations: int) -> None:
    """Checks that the phases of a config fit the network and the run."""
    train = config.train
    if 0 < train.heads_until < 1:
        schedules.check_boundaries("train.heads_until", (train.heads_until,), iterations)
    schedules.check_boundaries("train.phase_boundaries", train.phase_boundaries, iterations)
    # A config without these fields has one phase, with the builder's dropout rates.
    if not (train.phase_boundaries or train.dropout or train.dropout_placement):
        return
    count = len(train.phase_boundaries) + 1
    for key in ("dropout", "dropout_placement"):
        if len(train[key]) != count:
            raise errors.UsageError(
                f"train.{key} must have {count} entries, one for each phase of "
                f"train.phase_boundaries. Received: {len(train[key])} entries."
            )
    from elu_zoo.models import stacks

    stacks_of_network = len(registry.entry(config.model.name).default("dropout"))
    for rates, placement in zip(train.dropout, train.dropout_placement, strict=True):
        stacks.check_dropout(rates, stacks_of_network)
        errors.check_choice("dropout_placement", placement, stacks.PLACEMENTS)
    before = [each == "before_pooling" for each in train.dropout_placement]
    if any(before) and not all(before):
        raise errors.UsageError(
            "train.dropout_placement must be 'before_pooling' in all phases or in "
            f"none, because layers cannot move. Received: {train.dropout_placement}."
        )
