"""Every registered model has the number of parameters computed from the paper."""

import math

import pytest

import elu_zoo
from elu_zoo import registry
from elu_zoo.models import cost

pytestmark = pytest.mark.usefixtures("zero_weights")

# Each count is a sum over layers of (inputs + 1) * units for a dense layer, and of
# (k**2 * input channels + 1) * units for a convolution with a k x k field.
PARAMETERS = {
    "mnist_mlp_8x128": 217_354,
    "mnist_mlp_5x256": 466_698,
    "mnist_autoencoder": 2_837_314,
    "elu_cifar_11": 1_669_028,
    "elu_cifar_18": 39_330_404,
    "elu_imagenet_15": 164_867_528,
    "alexnet_cifar": 89_578,
    "nin": 966_986,
    "dsn": 966_986,
    "maxout": 16_247_830,
    "allcnn_c": 1_369_738,
    "highway_19": 2_256_838,
    "fmp": 79_247_530,
}
# network, arguments, number of parameters.
COUNTS_WITH_ARGUMENTS = [
    ("elu_cifar_11", {"num_classes": 10}, 1_641_938),
    ("elu_cifar_18", {"num_classes": 10}, 39_226_634),
    ("alexnet_cifar", {"num_classes": 100}, 181_828),
    ("nin", {"num_classes": 100}, 984_356),
    ("dsn", {"num_classes": 100}, 984_356),
    ("dsn", {"auxiliary_heads": True}, 3_547_496),
    ("dsn", {"auxiliary_heads": True, "num_classes": 100}, 26_789_456),
    ("maxout", {"num_classes": 100}, 16_292_920),
    ("maxout", {"activation": "relu"}, 4_525_670),
    ("allcnn_c", {"num_classes": 100}, 1_387_108),
    ("highway_19", {"num_classes": 100}, 2_265_928),
    ("fmp", {"num_classes": 100}, 79_449_220),
    ("fmp", {"filters": 32}, 3_176_490),
    ("fmp", {"filters": 32, "num_classes": 100}, 3_216_900),
]
# Parameters of each stack and each dense layer of elu_imagenet_15.
COUNTS_OF_IMAGENET = {
    "stack1": 10_464,
    "stack2": 5_162_496,
    "stack3": 24_776_448,
    "stack4": 25_955_328,
    "dense1": 88_084_480,
    "dense2": 16_781_312,
    "classifier": 4_097_000,
}


def test_the_table_has_every_registered_model():
    assert sorted(PARAMETERS) == sorted(registry.network_modules())


@pytest.mark.parametrize("name", PARAMETERS)
def test_number_of_parameters_with_the_default_arguments(name):
    model = elu_zoo.get_model(name, preprocessing=False)
    assert cost.parameters(model) == PARAMETERS[name]
    assert model.count_params() == PARAMETERS[name]
    if name == "elu_imagenet_15":
        check_imagenet(model)


def check_imagenet(model):
    """Checks the caller's model, because a second model would allocate 660 MB."""
    counts = dict.fromkeys(COUNTS_OF_IMAGENET, 0)
    for layer in model.layers:
        for weight in layer.weights:
            counts[layer.name.partition("_")[0]] += math.prod(weight.shape)
    assert counts == COUNTS_OF_IMAGENET
    # Keys: sides of maps. Values: kernel entries of all convolutions with such outputs.
    kernels = {
        112: 6 * 6 * 3 * 96,
        56: 9 * (96 * 512 + 2 * 512 * 512),
        28: 9 * (512 * 768 + 4 * 768 * 768),
        14: 9 * (768 * 1024 + 2 * 1024 * 1024),
    }
    dense = 21 * 1024 * 4096 + 4096 * 4096 + 4096 * 1000
    expected = sum(side * side * count for side, count in kernels.items()) + dense
    assert expected == 40_932_147_200
    assert cost.multiply_accumulates(model) == expected


@pytest.mark.parametrize(("name", "arguments", "parameters"), COUNTS_WITH_ARGUMENTS)
def test_number_of_parameters_with_other_arguments(name, arguments, parameters):
    model = elu_zoo.get_model(name, **arguments, preprocessing=False)
    assert cost.parameters(model) == parameters == model.count_params()
