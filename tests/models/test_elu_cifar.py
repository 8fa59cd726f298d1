"""The ELU networks for CIFAR have the paper's layers, map sizes, costs and dropout rates."""

import keras
import pytest

import elu_zoo

# network: for each stack except the classifier's, (kernel size, units) of its layers.
KERNELS = {
    "elu_cifar_11": [
        [(5, 192)],
        [(1, 192), (3, 240)],
        [(1, 240), (2, 260)],
        [(1, 260), (2, 280)],
        [(1, 280), (2, 300)],
        [(1, 300)],
    ],
    "elu_cifar_18": [
        [(3, 384)],
        [(1, 384), (2, 384), (2, 640), (2, 640)],
        [(1, 640), (2, 768), (2, 768), (2, 768)],
        [(1, 768), (2, 896), (2, 896)],
        [(3, 896), (2, 1024), (2, 1024)],
        [(1, 1024), (2, 1152)],
        [(1, 1152)],
    ],
}
# (network, padding): multiply-accumulates per image, in units of 10^9.
COSTS = {
    ("elu_cifar_11", "same"): 0.158,
    ("elu_cifar_11", "caffe"): 0.173,
    ("elu_cifar_18", "same"): 1.497,
    ("elu_cifar_18", "caffe"): 3.277,
}
# network, padding, and for each stack the sides of the maps after the convolutions and,
# if a pooling layer follows, ">" and the side after the pooling.
SIZES = [
    ("elu_cifar_11", "same", "32>16 16,16>8 8,8>4 4,4>2 2,2>1 1 1"),
    ("elu_cifar_11", "caffe", "32>16 16,16>8 8,9>5 5,6>3 3,4>2 2>1 1"),
    ("elu_cifar_11", "valid", "32>16 16,16>8 8,7>4 4,3>2 2,1 1 1"),
    ("elu_cifar_11", "caffe", "64>32 32,32>16 16,17>9 9,10>5 5,6>3 3>2 2>1"),
    (
        "elu_cifar_18",
        "same",
        "32>16 16,16,16,16>8 8,8,8,8>4 4,4,4>2 2,2,2>1 1,1 1 1",
    ),
    (
        "elu_cifar_18",
        "caffe",
        "32>16 16,17,18,19>10 10,11,12,13>7 7,8,9>5 5,6,7>4 4,5>3 3>2 2>1",
    ),
]
each_net = pytest.mark.parametrize("name", KERNELS)


@pytest.fixture(scope="module")
def models(zero_weights):
    return {name: elu_zoo.get_model(name, preprocessing=False) for name in KERNELS}


def convolutions(model):
    return [x for x in model.layers if isinstance(x, keras.layers.Conv2D)]


@each_net
def test_kernels_have_the_shapes_of_the_paper(models, name):
    expected, channels = {}, 3
    stacks = [*KERNELS[name], [(1, 100)]]
    for i, stack in enumerate(stacks, 1):
        for j, (size, units) in enumerate(stack, 1):
            layer = f"stack{i}_conv{j}" if i < len(stacks) else "classifier"
            expected[layer] = (size, size, channels, units)
            channels = units
    shapes = {x.name: tuple(x.kernel.shape) for x in convolutions(models[name])}
    assert shapes == expected
    assert len(shapes) == {"elu_cifar_11": 11, "elu_cifar_18": 19}[name]
    assert all(x.use_bias and x.strides == (1, 1) for x in convolutions(models[name]))


@pytest.mark.parametrize(("name", "padding"), COSTS)
def test_multiply_accumulates_per_image(zero_weights, name, padding):
    cost = elu_zoo.model_info(name, padding=padding).multiply_accumulates
    assert cost == pytest.approx(COSTS[name, padding] * 1e9, abs=0.5e6)


def parse(sizes):
    """Yields the map sizes of each stack, and the pooled size or None."""
    for stack in sizes.split():
        maps, _, pooled = stack.partition(">")
        yield [int(size) for size in maps.split(",")], int(pooled) if pooled else None


@pytest.mark.parametrize(("name", "padding", "sizes"), SIZES)
def test_maps_have_the_expected_sizes(name, padding, sizes):
    side = int(sizes[:2])
    model = elu_zoo.get_model(
        name, width=0.01, padding=padding, input_shape=(side, side, 3), preprocessing=False
    )
    actual = {x.name: tuple(x.output.shape[1:3]) for x in model.layers}
    stacks = list(parse(sizes))
    for i, (maps, pooled) in enumerate(stacks, 1):
        for j, size in enumerate(maps, 1):
            layer = f"stack{i}_conv{j}" if i < len(stacks) else "classifier"
            assert actual[layer] == (size, size), layer
        assert actual.get(f"stack{i}_pool") == (pooled and (pooled, pooled)), i
    assert actual["stack1_drop"] == actual["stack1_pool"]
    assert model.output_shape == (None, 100)


def _ends(stack, pooled, placement):
    """Returns the names of the last layers of a stack."""
    names = [f"stack{stack}_pool"] * bool(pooled) + [f"stack{stack}_drop"]
    return names[::-1] if placement == "before_pooling" else names


@pytest.mark.parametrize(
    ("case", "placement", "batch_norm"),
    [
        (SIZES[1], "last", False),
        (SIZES[2], "before_pooling", False),
        (SIZES[4], "all", False),
        (SIZES[5], "last", True),
    ],
)
def test_layers_are_a_chain_in_this_order(case, placement, batch_norm):
    name, padding, sizes = case
    model = elu_zoo.get_model(
        name, width=0.01, padding=padding, dropout_placement=placement,
        batch_norm=batch_norm, preprocessing=True
    )  # fmt: skip
    names = ["image", "normalize", "whiten"]
    *stacks, (_, last_pooled) = parse(sizes)
    for i, (sizes, (_, pooled)) in enumerate(zip(KERNELS[name], stacks, strict=True), 1):
        for j, (size, _) in enumerate(sizes, 1):
            layer = f"stack{i}_conv{j}"
            names += [f"{layer}_pad"] * (size == 2 and padding == "caffe")
            names += [layer, *[f"norm_{layer}"] * batch_norm, f"act_{layer}"]
            names += [f"{layer}_drop"] * (placement == "all" and j < len(sizes))
        names += _ends(i, pooled, placement)
    names += ["classifier", *_ends(len(stacks) + 1, last_pooled, placement)]
    assert [layer.name for layer in model.layers] == [*names, "average"]
    for before, after in zip(model.layers, model.layers[1:], strict=False):
        assert after.input is before.output, after.name
    assert model.output is model.layers[-1].output
    activations = {x.activation for x in model.layers if hasattr(x, "kernel")}
    assert activations == {keras.activations.linear}
