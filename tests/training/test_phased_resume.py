"""A run with crops, dropout and phases that is stopped in each of them and resumed."""

import signal

import pytest

from elu_zoo import errors
from elu_zoo.configs import elu_cifar_11, elu_cifar_18
from elu_zoo.data import load
from elu_zoo.layers import Dropout
from elu_zoo.training import step_resident

# Inside the first phase of small_stacks, at its end, inside the others.
STOPS = 3, 5, 7, 13


def check_equal(workdirs, entries, last_arrays, assert_same_bits):
    """Runs are equal to the last bit: weights, slots, metrics."""
    (one, *others), (entry, *found) = workdirs, entries
    arrays = last_arrays(one)
    for other, other_entry in zip(others, found, strict=True):
        assert other_entry["sha256"] == entry["sha256"]
        assert other_entry["metrics"] == entry["metrics"]
        assert_same_bits(last_arrays(other), arrays)
        contents = [(f / "metrics.jsonl").read_bytes() for f in (one, other)]
        assert contents[0] == contents[1]


def stopped(config, workdir, stops, train, stop_after, **arguments):
    """Stops the run after each of these iterations, and lets it end."""
    for iteration in stops:
        stop_after(iteration, lambda: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(errors.Interrupted):
            train(config, workdir, **arguments)
    return train(config, workdir, **arguments)


def test_stopped_in_each_phase(
    phased, train, tmp_path, stop_after, last_arrays, assert_same_bits, rows
):
    """Although it was also cut into other calls."""
    config, (cut, whole) = phased(), (tmp_path / "cut", tmp_path / "whole")
    since = [b - a for a, b in zip((0, *STOPS), STOPS, strict=False)]
    entries = [
        train(config, whole),
        stopped(config, cut, since, train, stop_after, steps_per_call=1),
    ]
    starts = [r["step"] for r in rows(cut / "timing.jsonl") if "strategy" in r]
    assert starts == [0, *STOPS]
    assert len(last_arrays(cut)) > 2 * 8  # with the optimizer's slots
    check_equal((whole, cut), entries, last_arrays, assert_same_bits)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [{"compile": "on"}, {"strategy": "mirrored", "num_devices": 2}]
)
def test_stopped_elsewhere(
    phased, train, tmp_path, stop_after, last_arrays, assert_same_bits, arguments
):
    config, (cut, whole) = phased(), (tmp_path / "cut", tmp_path / "whole")
    entries = [
        train(config, whole, steps_per_call=10, **arguments),
        stopped(config, cut, (6,), train, stop_after, steps_per_call=2, **arguments),
    ]
    check_equal((whole, cut), entries, last_arrays, assert_same_bits)


@pytest.fixture
def rates(monkeypatch):
    """Records, of each iteration of a run, the rate of each layer of dropout."""
    found, run = [], step_resident.ResidentStep.run

    def recorded(self, batches, *arguments):
        drops = [x for x in self._update._model.layers if isinstance(x, Dropout)]
        found.extend([{x.name: x.rate for x in drops}] * len(batches))
        return run(self, batches, *arguments)

    monkeypatch.setattr(step_resident.ResidentStep, "run", recorded)
    return found


@pytest.fixture
def cifar(monkeypatch):
    """Lets runs measure on 100 images only."""
    whole = load.load

    def shortened(*arguments):
        data = whole(*arguments)
        object.__setattr__(data, "test", data.test.first(100))
        return data

    monkeypatch.setattr(load, "load", shortened)


@pytest.mark.slow
@pytest.mark.data("cifar10", "cifar100")
@pytest.mark.parametrize("dataset", ["cifar10", "cifar100"])
@pytest.mark.parametrize("module", [elu_cifar_11, elu_cifar_18])
def test_smoke_runs_of_cifar(
    cifar, train, tmp_path, stop_after, last_arrays, assert_same_bits, module, dataset,
    rates, rows,
):  # fmt: skip
    """They pass all of their phases, and resume in each."""
    config = module.get_config(f"dataset={dataset},smoke=True")
    config.model.width = 0.03
    entries = [
        train(config, tmp_path / "whole"),
        stopped(
            *(config, tmp_path / "cut", (3, 6, 5), train, stop_after),
            steps_per_call=4,
        ),
    ]
    check_equal(
        (tmp_path / "whole", tmp_path / "cut"), entries, last_arrays, assert_same_bits
    )
    starts = [r["step"] for r in rows(tmp_path / "cut/timing.jsonl") if "strategy" in r]
    assert starts == [0, 4, 10, 15]
    losses = [row["train_loss"] for row in rows(tmp_path / "whole" / "metrics.jsonl")]
    assert len(rates) == 40 and rates[:20] == rates[20:]
    inside = [step.get("stack2_conv1_drop") for step in rates[:20]]
    after = [step["stack3_drop"] for step in rates[:20]]
    if module is elu_cifar_11:
        assert (set(inside), set(after)) == ({None}, {0.2})
        assert losses[1] < losses[0]
    else:
        assert inside == [0.0] * 8 + [0.1] * 6 + [0.15] * 6
        assert after == [0.2] * 14 + [0.3] * 6
