"""register_model: names, defaults, clashes."""

import pytest

import elu_zoo.models
from elu_zoo import errors, registry
from elu_zoo.training import loss


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
    assert (entry.classifier, entry.code) == ("classifier", None)
    assert entry.loss == "softmax_cross_entropy"
    assert "net" in registry.names() and "net" in elu_zoo.list_models()


def test_decorator_with_arguments():
    net = builder("net")
    how = {"kind": "rescale", "scale": 1.0}
    decorate = registry.register_model(section="4.2", preprocessing=how, classifier="c")
    assert decorate(net) is net
    entry = registry.entry("net")
    assert (entry.section, entry.preprocessing, entry.classifier) == ("4.2", how, "c")


def test_an_autoencoder():
    net = builder("net")
    registry.register_model(classifier=None, code="middle", loss="half_squared_error")(
        net
    )
    entry = registry.entry("net")
    assert (entry.classifier, entry.code) == (None, "middle")
    assert entry.loss == "half_squared_error"


@pytest.mark.parametrize(
    ("name", "section", "classifier", "code", "loss"),
    [
        ("mnist_mlp_8x128", "4.1.1", "classifier", None, "softmax_cross_entropy"),
        ("mnist_mlp_5x256", "appendix C", "classifier", None, "softmax_cross_entropy"),
        ("mnist_autoencoder", "4.1.2", None, "code", "sigmoid_cross_entropy"),
    ],
)
def test_the_papers_networks(name, section, classifier, code, loss):
    entry = registry.entry(name)
    assert entry.name == name == entry.builder.__name__ and section in entry.section
    assert (entry.classifier, entry.code, entry.loss) == (classifier, code, loss)
    assert entry.preprocessing == {"kind": "rescale", "scale": 1 / 255}
    assert entry.takes("num_classes") == bool(classifier)
    assert entry.default("num_classes") == (10 if classifier else None)


def test_every_loss_is_one_of_the_trainers():
    for name in registry.names():
        entry = registry.entry(name)
        assert loss.get(entry.loss).of_images == bool(entry.code), name


@pytest.mark.parametrize(
    ("argument", "taken"),
    [("activation", True), ("num_classes", True), ("width", False), ("", False)],
)
def test_takes(argument, taken):
    registry.register_model(builder("net"))
    assert registry.entry("net").takes(argument) is taken


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
    registry.register_model(builder("elu_cifar_99"))
    message = (
        "Unknown model 'elu_cifar99'.*mean 'elu_cifar_99'.*Known: .*mlp.* One of your "
        "own is registered before: elu_zoo.register_model, in commands --module"
    )
    with pytest.raises(errors.UsageError, match=message):
        registry.entry("elu_cifar99")


def test_a_loss_that_does_not_exist():
    with pytest.raises(errors.UsageError, match="Unknown loss 'softmax'"):
        registry.register_model(loss="softmax")


def test_a_network_with_a_code_has_no_classifier(monkeypatch):
    monkeypatch.setattr(registry, "_MODELS", {})

    def coder(activation="elu"):
        return activation

    registry.register_model(code="code")(coder)
    entry = registry.entry("coder")
    assert (entry.code, entry.classifier, entry.is_autoencoder) == ("code", None, True)
