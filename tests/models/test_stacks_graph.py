"""The graphs of the ELU networks for CIFAR have the paper's layers and map sizes."""

import keras
import pytest

import elu_zoo

# network: kernel sizes of each stack except the classifier's.
KERNEL_SIZES = {
    "elu_cifar_11": [[5], [1, 3], [1, 2], [1, 2], [1, 2], [1]],
    "elu_cifar_18": [
        [3],
        [1, 2, 2, 2],
        [1, 2, 2, 2],
        [1, 2, 2],
        [3, 2, 2],
        [1, 2],
        [1],
    ],
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
    for i, (sizes, (_, pooled)) in enumerate(zip(KERNEL_SIZES[name], stacks, strict=True), 1):
        for j, size in enumerate(sizes, 1):
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
