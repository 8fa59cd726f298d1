"""The networks of the paper. The import of this package registers the builders."""

# ruff: noqa: F401

from elu_zoo.models.alexnet_cifar import alexnet_cifar
from elu_zoo.models.allcnn_c import allcnn_c
from elu_zoo.models.dsn import dsn
from elu_zoo.models.elu_cifar_11 import elu_cifar_11
from elu_zoo.models.elu_cifar_18 import elu_cifar_18
from elu_zoo.models.elu_imagenet_15 import elu_imagenet_15
from elu_zoo.models.fmp import fmp
from elu_zoo.models.highway_19 import highway_19
from elu_zoo.models.maxout import maxout
from elu_zoo.models.mnist import mnist_autoencoder, mnist_mlp_5x256, mnist_mlp_8x128
from elu_zoo.models.nin import nin
