"""Time of the training loop on the host, around a training step that does nothing."""

import json
import tempfile
from pathlib import Path

import keras
import numpy as np

from elu_zoo import zoo
from elu_zoo.configs import elu_cifar_11
from elu_zoo.data.dataset import ImageData, Split
from elu_zoo.training import backends
from elu_zoo.training.config import resolve
from elu_zoo.training.loop import loop
from elu_zoo.training.phases import Phases
from elu_zoo.training.record.checkpoint import Checkpoints, TrainState
from elu_zoo.training.record.checkpoint_writer import CheckpointWriter
from elu_zoo.training.record.outputs import open_outputs
from elu_zoo.training.record.signals import stop_on_signal
from elu_zoo.training.run import Learner, Length, Run
from elu_zoo.training.step import augmentation, optimizer
from elu_zoo.training.workers import cluster

BASELINE = "a checkpoint every 30 s"
# Form: the argument `checkpoint_seconds` of `train`.
_FORMS = {BASELINE: 30.0, "a checkpoint every 500 iterations": 0.0}
_LENGTH = Length(50_000, 100, 3)


def measure(rounds: int) -> dict[str, np.ndarray]:
    """Returns the seconds of 1,000 iterations of elu_cifar_11, `(rounds,)` a form."""
    resolved = resolve(elu_cifar_11.get_config())
    run, found = _build(resolved.config), {form: [] for form in _FORMS}
    for _ in range(rounds + 1):
        for form, every in _FORMS.items():
            state = TrainState()
            found[form].append(_seconds(run, state, every))
    # The first round compiles.
    return {form: np.array(seconds[1:]) for form, seconds in found.items()}


def _build(config) -> Run:
    """Returns the run of a config on few images, of which its step uses none."""
    place = backends.choose_devices(False, "one", None)
    images = Split(np.zeros((1, 32, 32, 3), "uint8"), np.zeros(1, "int32"))
    names = tuple(map(str, range(100)))
    data = ImageData("cifar100", images, images, images, names, "", "", "")
    preprocessing = {"kind": "none"}
    model = zoo.get_model("elu_cifar_11", preprocessing=False, num_classes=len(names))
    updater = optimizer.create(config, model, _LENGTH.total)
    crops = augmentation.create(config.data, preprocessing, data.image_shape, 3)
    compilation = place.choose_compilation(model, 1, "on", 100)
    learner = Learner(model, updater, None, _LENGTH.batch_size, crops)
    return Run(
        seed=0,
        train=config.train,
        length=_LENGTH,
        data=data,
        validation=None,
        preprocessing=preprocessing,
        model=model,
        optimizer=updater,
        phases=Phases(config.train, _LENGTH.total),
        augmentation=crops,
        compilation=compilation,
        step=_idle(place.step)(learner, images, place.strategy, compilation),
        evaluator=None,
        parent=None,
    )


def _idle(step: type) -> type:
    """Returns a class of training steps that compute nothing, with losses of 0."""

    def on_tensorflow(self, first, count, batches, *_):
        return keras.ops.zeros(batches.shape[0])

    def on_jax(self, state, data, first, count, batches, *_):
        return state, keras.ops.zeros(batches.shape[0])

    iterate = on_jax if keras.backend.backend() == "jax" else on_tensorflow
    return type("IdleStep", (step,), {"_iterate": iterate})


def _seconds(run: Run, state: TrainState, checkpoint_seconds: float) -> float:
    """Returns the seconds from the end of the first epoch to that of the last."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkpoints = Checkpoints(folder, run.variables, run.train.checkpoints_kept)
        config = folder / "config.json"
        writer = CheckpointWriter(checkpoints, config, checkpoint_seconds)
        arguments = folder, True, writer, (), None, run, state
        peers = cluster.OneMachine()
        with stop_on_signal(peers, str) as stop, open_outputs(*arguments) as outputs:
            loop(run, state, outputs, stop)
        lines = (folder / "timing.jsonl").read_text().splitlines()
    first, *_, last = (json.loads(line)["seconds"] for line in lines)
    return last - first
