"""The call of the training step that runs while the host prepares the next call."""

from typing import Any

import numpy as np

from elu_zoo.training.calls import Call
from elu_zoo.training.outputs import Outputs
from elu_zoo.training.run import Run
from elu_zoo.training.state import TrainState


class PendingCall:
    """The last call of the training step, whose losses have not been read yet.

    Losses are read after the next call has begun, so that a device does not wait for
    the host. The train state and the records have iterations with read losses only.
    """

    def __init__(self, run: Run, state: TrainState, outputs: Outputs):
        self._run = run
        self._state = state
        self._outputs = outputs
        self._pending: tuple[Call, Any] | None = None

    def begin(self, call: Call) -> None:
        """Begins a call, and then reads the losses of the previous call."""
        self._outputs.timer.start(call.batches.size)
        losses = self._run.step.run(
            call.batches, call.learning_rates, call.first, call.draws
        )
        self._read()
        self._pending = call, losses

    def finish(self) -> None:
        """Waits for the last call, reads its losses, and updates the variables."""
        self._read()
        self._run.step.sync()
        self._outputs.timer.stop()

    def save(self) -> None:
        """Saves a checkpoint after the last call."""
        self.finish()
        self._outputs.save(self._state)

    def _read(self) -> None:
        if self._pending is None:
            return
        (call, losses), self._pending = self._pending, None
        losses = np.asarray(losses)  # waits for the device
        call.check(losses)
        self._state.add(losses)
        self._outputs.recorder.add(losses)
        self._outputs.display.update(self._state.step)
