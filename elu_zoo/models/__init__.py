"""The networks of the paper: importing this package registers them."""

from elu_zoo.models.elu_cifar import elu_cifar_11, elu_cifar_18
from elu_zoo.models.elu_imagenet import elu_imagenet_15
from elu_zoo.models.mnist import mnist_autoencoder, mnist_mlp_5x256, mnist_mlp_8x128

__all__ = [
    "elu_cifar_11",
    "elu_cifar_18",
    "elu_imagenet_15",
    "mnist_autoencoder",
    "mnist_mlp_5x256",
    "mnist_mlp_8x128",
]
