"""register_model: names, defaults, clashes."""

import pytest

import elu_zoo.models
from elu_zoo import errors, registry


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))


SOURCE = """
def {name}(activation="elu", *, batch_norm=False, num_classes):
    return "{name}"
"""


def builder(name, module="theirs", file="net.py"):
    scope = {"__name__": module}
    exec(compile(SOURCE.format(name=name), file, "exec"), scope)
    return scope[name]


def test_plain_decorator():
    net = builder("net")
    assert elu_zoo.register_model(net) is net
    entry = registry.entry("net")
    assert (entry.name, entry.builder, entry.section) == ("net", net, "")
    assert entry.preprocessing == {"kind": "rescale", "scale": 1 / 255}
    assert entry.classifier == "classifier"
    assert "net" in registry.names() and "net" in elu_zoo.list_models()


def test_decorator_with_arguments():
    net = builder("net")
    how = {"kind": "rescale", "scale": 1.0}
    decorate = registry.register_model(section="4.2", preprocessing=how, classifier="c")
    assert decorate(net) is net
    entry = registry.entry("net")
    assert (entry.section, entry.preprocessing, entry.classifier) == ("4.2", how, "c")


@pytest.mark.parametrize(
    ("argument", "default"),
    [("activation", "elu"), ("batch_norm", False), ("num_classes", None), ("x", None)],
)
def test_default(argument, default):
    registry.register_model(builder("net"))
    assert registry.entry("net").default(argument) == default


def test_a_name_belongs_to_one_module():
    registry.register_model(builder("net", "first"))
    with pytest.raises(
        errors.UsageError, match="'net' is registered already, by first"
    ):
        registry.register_model(builder("net", "second", "other.py"))
    assert registry.entry("net").builder.__module__ == "first"


@pytest.mark.parametrize(
    ("module", "file"), [("theirs", "net.py"), ("theirs", "cell 2"), ("ours", "net.py")]
)
def test_code_may_be_run_again(module, file):
    registry.register_model(builder("net"))
    again = builder("net", module, file)
    registry.register_model(again)
    assert registry.entry("net").builder is again


@pytest.mark.parametrize("name", [None, 3, b"nin", ["nin"]])
def test_name_of_another_type(name):
    with pytest.raises(TypeError, match=f"is a string.*{type(name).__name__}"):
        registry.entry(name)


def test_unknown_name():
    registry.register_model(builder("elu_cifar_18"))
    message = "Unknown model 'elu_cifar18'.*mean 'elu_cifar_18'.*Known: .*mlp"
    with pytest.raises(errors.UsageError, match=message):
        registry.entry("elu_cifar18")
