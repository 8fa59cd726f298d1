"""register_model: names, defaults, and checks of names and arguments."""

import math

import keras
import pytest

import elu_zoo
from elu_zoo import errors, registry

pytestmark = pytest.mark.usefixtures("restored_models")


def builder(name, module="theirs"):
    def build(activation="elu", *, batch_norm=False, num_classes):
        return name

    build.__name__, build.__module__ = name, module
    return build


def test_the_decorator_without_arguments_uses_defaults():
    net = builder("net")
    registered = elu_zoo.register_model(net)
    assert registered.__wrapped__ is net and registered.__name__ == "net"
    assert registered(num_classes=3) == "net"
    entry = registry.entry("net")
    assert (entry.name, entry.builder) == ("net", registered)
    assert entry.preprocessing == {"kind": "rescale", "scale": 1 / 255}
    assert entry.loss == "softmax_cross_entropy" and not entry.is_autoencoder
    assert "net" in registry.names() and "net" in elu_zoo.list_models()
    assert entry.takes("activation") and not entry.takes("width")
    defaults = [entry.default(name) for name in ("activation", "num_classes", "width")]
    assert defaults == ["elu", None, None]


def test_a_name_that_another_module_uses_is_refused(monkeypatch):
    monkeypatch.setattr(registry, "_MODELS", {})  # nin's module is not imported yet
    with pytest.raises(errors.UsageError, match="by elu_zoo.models.nin"):
        registry.register_model(builder("nin"))
    registry.register_model(builder("net", "first"))
    with pytest.raises(errors.UsageError, match="'net' is registered already, by first"):
        registry.register_model(builder("net", "second"))
    again = builder("net", "first")  # as if a notebook ran a cell again
    registry.register_model(again)
    assert registry.entry("net").builder.__wrapped__ is again


def test_unknown_names_get_a_hint():
    registry.register_model(builder("elu_cifar_99"))
    with pytest.raises(errors.UsageError, match="mean 'elu_cifar_99'.*Known: .*mlp.* --module"):
        registry.entry("elu_cifar99")
    with pytest.raises(errors.UsageError, match="Unknown loss 'softmax'"):
        registry.register_model(loss="softmax")


def shaped(activation="elu", *, input_shape=(28, 28, 1), **others):
    return input_shape


REFUSED = [
    ("batch_norm", 1, "batch_norm must be True or False. Received: 1"),
    ("width", math.nan, "must be finite and > 0. Received: nan"),
    ("input_shape", 28, r"\(height, width, channels\).*Received: 28"),
    ("input_shape", (3, 32, 32), r"channels first.*\(32, 32, 3\)"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_shared_arguments_out_of_range_are_refused(name, value, message):
    with pytest.raises(errors.UsageError, match=message):
        registry.register_model(shaped)(**{name: value})


def test_networks_need_channels_last(monkeypatch):
    monkeypatch.setattr(keras.config, "image_data_format", lambda: "channels_first")
    with pytest.raises(errors.UsageError, match=r'_format\("channels_last"\)'):
        registry.register_model(shaped)()


def test_image_shapes_become_tuples():
    build = registry.register_model(shaped)
    for shape in [28, 28, 1], (3, 32, 3), (3, 28, 4):
        assert build(input_shape=shape) == registry.check_image_shape(shape) == tuple(shape)
