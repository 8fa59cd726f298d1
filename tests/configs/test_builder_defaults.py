"""The defaults of the paper's networks are what `schedule=paper` passes."""

import pytest
from fake_runs import get_config

from elu_zoo import registry
from elu_zoo.bin.config import installed
from elu_zoo.configs.table1_baselines import NETS

# Arguments that only penalise or help training. They are off by default.
OFF = "kernel_decay", "classifier_decay", "constrained", "auxiliary_heads"
ARGUMENTS = {name: f"net={name},dataset=cifar10" for name in NETS}


@pytest.mark.parametrize("name", sorted({*registry.network_modules()} & {*NETS, *installed()}))
def test_defaults_of_builders_are_those_of_the_schedule_of_the_paper(name):
    config = get_config("table1_baselines" if name in NETS else name, ARGUMENTS.get(name, ""))
    network, passed = registry.entry(name), dict(config.model)
    assert (config.schedule, passed.pop("name")) == ("paper", name)
    passed["activation"] = passed["activation"].name
    for field in ("dropout", "dropout_placement"):
        if field in config.train:
            passed[field] = config.train[field][0]  # of the first phase
    defaults = {argument: network.default(argument) for argument in passed}
    for argument in set(OFF) & set(passed):
        assert passed.pop(argument) and not defaults.pop(argument), argument
    assert defaults == passed
