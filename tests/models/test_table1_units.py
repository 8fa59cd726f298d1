"""The networks of table 1 have the originals' activations and dropout rates."""

import keras
import pytest

import elu_zoo
from elu_zoo.activations import ELU
from elu_zoo.layers import Dropout, FeatureMapDropout


def numbered(prefix, count):
    return [f"{prefix}{i}" for i in range(1, count + 1)]


BLOCKS = [
    "block1_conv", "block1_cccp1", "block1_cccp2",
    "block2_conv", "block2_cccp1", "block2_cccp2", "block3_conv", "block3_cccp1",
]  # fmt: skip
# network: layers that are followed by an activation; in nin and allcnn_c also the
# classifier.
SITES = {
    "alexnet_cifar": numbered("conv", 3),
    "nin": [*BLOCKS, "classifier"],
    "dsn": BLOCKS,
    "maxout": ["h0", "h1", "h2", "h3"],
    "allcnn_c": [*numbered("conv", 8), "classifier"],
    "highway_19": numbered("conv", 18),
    "fmp": numbered("conv", 14),
}
# For the n-th convolution of fmp, which has 5 n blocks of 32 maps: the number of blocks
# that dropout sets to zero.
DROPPED = [0, 0, 1, 2, 4, 6, 8, 11, 14, 17, 21, 25, 30, 35]
# network: {dropout layer: rate}.
RATES = {
    "alexnet_cifar": {},
    "nin": {"block1_drop": 0.5, "block2_drop": 0.5},
    "dsn": {"block1_drop": 0.5, "block2_drop": 0.5},
    "maxout": {
        "input_drop": 0.2, "h0_drop": 0.5, "h1_drop": 0.5, "h2_drop": 0.5,
        "h3_drop": 0.5,
    },
    "allcnn_c": {"input_drop": 0.2, "conv3_drop": 0.5, "conv6_drop": 0.5},
    "highway_19": dict.fromkeys(
        ["input_drop", "pool1_drop", "pool2_drop", "average_drop"], 0.2
    ),
    "fmp": {f"conv{n}_drop": x / (5 * n) for n, x in enumerate(DROPPED, 1)},
}  # fmt: skip
each_net = pytest.mark.parametrize("name", SITES)


def layers(model, kinds):
    return [layer for layer in model.layers if isinstance(layer, kinds)]


@pytest.mark.parametrize("batch_norm", [False, True])
@each_net
def test_activations_follow_the_linear_layers_or_their_normalisation(name, batch_norm):
    model = elu_zoo.get_model(
        name, activation="elu", width=0.02, batch_norm=batch_norm, preprocessing=False
    )
    assert [x.name for x in layers(model, ELU)] == [f"act_{x}" for x in SITES[name]]
    normalised = [x for x in SITES[name] if batch_norm and x != "classifier"]
    norms = layers(model, keras.layers.BatchNormalization)
    assert [x.name for x in norms] == [f"norm_{x}" for x in normalised]
    for site in SITES[name]:
        # In alexnet_cifar the first activation follows the pooling.
        follows_pool = name == "alexnet_cifar" and site == "conv1"
        source = model.get_layer("pool1" if follows_pool else site)
        if site in normalised:
            norm = model.get_layer(f"norm_{site}")
            assert norm.input is source.output
            source = norm
        assert model.get_layer(f"act_{site}").input is source.output
    functions = {x.activation for x in model.layers if hasattr(x, "kernel")}
    assert functions == {keras.activations.linear}


def test_pieces_of_maxout_are_normalised_separately():
    model = elu_zoo.get_model("maxout", width=0.02, batch_norm=True, preprocessing=False)
    for name in SITES["maxout"]:
        norm, act = model.get_layer(f"norm_{name}"), model.get_layer(f"act_{name}")
        assert norm.input is model.get_layer(name).output
        assert act.input is norm.output
        assert act.pieces == (5 if name == "h3" else 2)


@each_net
def test_default_activations(name):
    model = elu_zoo.get_model(name, width=0.02, preprocessing=False)
    for site in SITES[name]:
        layer = model.get_layer(f"act_{site}")
        if name == "maxout":
            assert isinstance(layer, elu_zoo.layers.Maxout)
        elif name == "fmp":
            assert layer.alpha == pytest.approx(1 / 3)
        else:
            assert layer.activation is keras.activations.relu


@each_net
def test_default_dropout_rates(name):
    model = elu_zoo.get_model(name, width=0.02, preprocessing=False)
    dropouts = layers(model, (Dropout, FeatureMapDropout))
    assert {x.name: x.rate for x in dropouts} == pytest.approx(RATES[name])
    assert [x.name for x in dropouts] == list(RATES[name])
    assert len({x.seed for x in dropouts}) == len(dropouts)
    assert {isinstance(x, FeatureMapDropout) for x in dropouts} <= {name == "fmp"}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("nin", {"dropout": 0.25}, [0.25, 0.25]),
        ("dsn", {"dropout": 0.25}, [0.25, 0.25]),
        ("maxout", {"dropout": (0, 0.1, 0.2, 0.3, 0.4)}, [0, 0.1, 0.2, 0.3, 0.4]),
        ("allcnn_c", {"dropout": (0, 0.1, 0.2)}, [0, 0.1, 0.2]),
        ("highway_19", {"dropout": 0}, [0, 0, 0, 0]),
        ("fmp", {"dropout": 0}, [0] * 14),
        ("fmp", {"dropout": 0.13, "filters": 100}, [0.01 * i for i in range(14)]),
    ],
)
def test_the_argument_dropout_sets_the_rates(name, arguments, expected):
    model = elu_zoo.get_model(name, **arguments, width=0.02, preprocessing=False)
    dropouts = layers(model, (Dropout, FeatureMapDropout))
    assert [x.rate for x in dropouts] == pytest.approx(expected)


@pytest.mark.parametrize("regions", ["pseudorandom", "random"])
def test_pooling_layers_of_fmp_have_separate_seeds(regions):
    model = elu_zoo.get_model("fmp", regions=regions, width=0.02, preprocessing=False)
    pools = layers(model, elu_zoo.layers.FractionalMaxPooling2D)
    assert [x.name for x in pools] == numbered("pool", 12)
    assert {x.regions for x in pools} == {regions}
    assert len({x.seed for x in pools}) == 12
