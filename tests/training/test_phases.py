"""Phases of a run: ranges of iterations with constant dropout and auxiliary heads."""

import types

import keras
import numpy as np
import pytest
from sections import complete

from elu_zoo import errors, layers, zoo
from elu_zoo.configs import elu_cifar_18
from elu_zoo.data import load, order
from elu_zoo.models import stacks
from elu_zoo.training import phases
from elu_zoo.training.config import resolve
from elu_zoo.training.phases import Phases
from elu_zoo.training.step import resident

RATES = ((0.1, 0.2), (0.3, 0.4), (0.5, 0.6))


def make_phases(boundaries=(3, 5), dropout=RATES, placement=("last", "last", "last")):
    entries = {"phase_boundaries": boundaries, "dropout": dropout}
    return Phases(complete(train={**entries, "dropout_placement": placement}).train, 9)


@pytest.mark.parametrize(
    "placement, built",
    [
        (("last", "last", "last"), "last"),
        (("all", "last", "last"), "all"),
        (("last", "last", "all"), "all"),
        (("before_pooling",) * 3, "before_pooling"),
    ],
)
def test_the_network_is_built_for_dropout_in_all_phases(placement, built):
    arguments = make_phases(placement=placement).builder_arguments
    assert arguments == {"dropout": (0.1, 0.2), "dropout_placement": built}


def test_a_config_without_phases_is_one_phase():
    run_phases = Phases(complete(train={}).train, 9)
    assert run_phases.builder_arguments == {}
    assert [run_phases.end(iteration) for iteration in (0, 8)] == [9, 9]
    assert not run_phases.enter(None, 0)


def test_heads_can_end_inside_a_phase_of_dropout(monkeypatch):
    entries = {"phase_boundaries": (3, 5), "dropout": RATES, "heads_until": 4 / 9}
    placement = {"dropout_placement": ("last", "last", "last")}
    run_phases = Phases(complete(train={**entries, **placement}).train, 9)
    assert [run_phases.end(iteration) for iteration in range(9)] == [*(3, 3, 3, 4, 5, 9, 9, 9, 9)]
    dropout, layer = [], types.SimpleNamespace(active=True)
    model = types.SimpleNamespace(get_layer={"heads": layer}.__getitem__)
    monkeypatch.setattr(stacks, "set_dropout", lambda *args: dropout.append(args[1]))
    states = []
    for iteration in (0, 3, 4, 5):
        assert run_phases.enter(model, iteration)
        states.append((dropout[-1], layer.active))
    assert states == [*((RATES[0], True), (RATES[1], True), (RATES[1], False), (RATES[2], False))]


def rates(model):
    """Returns {layer: dropout rate} of a model."""
    return {x.name: x.rate for x in model.layers if isinstance(x, layers.Dropout)}


def expected_rates(stacks, placement):
    """Returns {layer: dropout rate} of `small_stacks` for one rate per stack.

    Only the second stack has two layers, and therefore a dropout layer inside.
    """
    names = ("stack1_drop", "stack2_conv1_drop", "stack2_drop", "stack3_drop")
    inside = stacks[1] if placement == "all" else 0.0
    return dict(zip(names, (stacks[0], inside, *stacks[1:]), strict=True))


@pytest.mark.parametrize("start", [0, 4, 5, 8])
def test_enter_changes_the_rates_at_the_start_of_a_phase(phased, start):
    train = phased().train
    run_phases = Phases(complete(train={**train, "phase_boundaries": (3, 5)}).train, 9)
    model = zoo.get_model("small_stacks", **run_phases.builder_arguments)
    assert list(rates(model)) == list(expected_rates(train.dropout[0], "all"))
    for iteration in range(start, 9):
        entered = run_phases.enter(model, iteration)
        assert entered == (iteration in (start, 3, 5))
        phase = (iteration >= 3) + (iteration >= 5)
        chosen = train.dropout[phase], train.dropout_placement[phase]
        assert rates(model) == expected_rates(*chosen)


THREE = ((0.1,) * 8,) * 3


@pytest.mark.parametrize(
    ("entries", "word"),
    [
        ({"phase_boundaries": (0, 14)}, "phase_boundaries must increase"),
        ({"phase_boundaries": (8, 20)}, "20 iterations"),
        ({"phase_boundaries": (8,)}, "dropout must have 2 entries"),
        ({"dropout": THREE[:2]}, "dropout must have 3 entries"),
        ({"dropout_placement": ("all",) * 4}, "dropout_placement must have 3"),
        ({"dropout": ((0.1,) * 7,) * 3}, "8 rates"),
        ({"dropout": (*THREE[:2], (1.0,) * 8)}, r"\[0, 1\)"),
        ({"dropout_placement": ("last", "before_pooling", "all")}, "before_pooling"),
        ({"dropout_placement": ("last", "al", "all")}, "'all'"),
    ],
)
def test_wrong_phases_are_refused(entries, word):
    config = resolve(elu_cifar_18.get_config("smoke=True")).config
    phases.check_phases(config, 20)
    config.train.update(entries)
    with pytest.raises(errors.UsageError, match=word):
        phases.check_phases(config, 20)


def reference(config, count):
    """Returns losses, variables and dropout rates of a run, by eager steps of Keras."""
    data, size, train = load.load("mnist_5k"), config.train.batch_size, config.train
    arguments = {"dropout": train.dropout[0], "dropout_placement": "all"}
    arguments |= {key: config.model[key] for key in ("kernel_decay", "init_scale")}
    model = zoo.get_model("small_stacks", preprocessing=True, **arguments)
    optimizer = keras.optimizers.SGD(momentum=train.momentum)
    crops, losses, used_rates = layers.PadCropFlip(), [], []
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    examples, corners = config.data.train_examples, 2 * crops.padding + 1
    for iteration in range(count):
        epoch, offset = divmod(iteration, examples // size)
        batch = order.epoch_batches(0, epoch, examples, size)[offset]
        draws = order.crops_and_flips(0, epoch, examples, corners)[batch]
        phase = sum(iteration >= b for b in train.phase_boundaries)
        for name, rate in expected_rates(
            train.dropout[phase], train.dropout_placement[phase]
        ).items():
            model.get_layer(name).rate = rate
        used_rates.append(rates(model))
        images = crops(data.train.images[batch].astype("float32"), draws)
        with layers.keyed(iteration, batch), resident.tf.GradientTape() as tape:
            logits = model(images, training=True)
            value = cross_entropy(data.train.labels[batch], logits)
            total = value + sum(model.losses)
        optimizer.learning_rate = train.learning_rates[iteration >= train.boundaries[0]]
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(total, [w.value for w in weights]), weights)
        losses.append(float(value))
    return losses, [*model.variables, *optimizer.variables], used_rates


@pytest.mark.slow
def test_weights_and_slots_of_a_run_in_phases_equal_eager_steps(
    phased, train, tmp_path, monkeypatch, last_arrays, rows
):
    config, run_rates, run = phased(), [], resident.ResidentStep.run

    def recorded(self, batches, *arguments):
        model = self._update._model
        run_rates.extend([rates(model)] * len(batches))
        names = [layer.name for layer in model.chain]  # pooling before activations
        assert names.index("stack1_pool") < names.index("act_stack1_conv1")
        return run(self, batches, *arguments)

    monkeypatch.setattr(resident.ResidentStep, "run", recorded)
    train(config, tmp_path)
    losses, variables, used_rates = reference(config, 16)
    assert run_rates == used_rates
    metrics = rows(tmp_path / "metrics.jsonl")
    for row, part in zip(metrics, (losses[:8], losses[8:]), strict=True):
        assert row["train_loss"] == pytest.approx(np.mean(part), rel=1e-5)
    arrays = last_arrays(tmp_path)
    assert len(arrays) == len(variables)
    for variable, array in zip(variables, arrays, strict=True):
        np.testing.assert_allclose(array, np.asarray(variable), 0, 1e-5, variable.path)
