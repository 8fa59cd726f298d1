"""The ELU networks for CIFAR of the paper's sections 4.2 and 4.3."""

from typing import Any

import keras

from elu_zoo.models.stacks import conv_stacks
from elu_zoo.registry import register_model

# Layers x units x kernel size (the paper's receptive field), without the classifier.
STACKS_11 = (
    ((1, 192, 5),),
    ((1, 192, 1), (1, 240, 3)),
    ((1, 240, 1), (1, 260, 2)),
    ((1, 260, 1), (1, 280, 2)),
    ((1, 280, 1), (1, 300, 2)),
    ((1, 300, 1),),
)
STACKS_18 = (
    ((1, 384, 3),),
    ((1, 384, 1), (1, 384, 2), (2, 640, 2)),
    ((1, 640, 1), (3, 768, 2)),
    ((1, 768, 1), (2, 896, 2)),
    ((1, 896, 3), (2, 1024, 2)),
    ((1, 1024, 1), (1, 1152, 2)),
    ((1, 1152, 1),),
)
_FACTS: dict[str, Any] = {
    "preprocessing": {"kind": "gcn_zca", "statistics": "cifar100"},
    "any_size": True,
    "training_only": ("dropout", "init_scale", "kernel_decay"),
}


@register_model(**_FACTS)
def elu_cifar_11(
    activation="elu",
    *,
    batch_norm=False,
    num_classes=100,
    input_shape=(32, 32, 3),
    width=1.0,
    seed=0,
    preprocessing=None,
    padding="caffe",
    dropout=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.0),
    dropout_placement="last",
    kernel_decay=0.0,
    init_scale=2.0,
) -> keras.Model:
    """Eleven convolutional layers in seven stacks, including the classifier's stack.

    The network has 1,669,028 parameters with 100 classes and 1,641,938 with 10. The
    paper trains it on whitened CIFAR-100 for 165,000 iterations, with ELU, ReLU, leaky
    ReLU and shifted ReLU; the mean test error of ten runs with ELU is 28.75 %. The
    paper's L2 weight decay is `kernel_decay=0.0005`.

    The paper does not say how the 2 x 2 convolutions are padded. The shapes of the
    weights do not depend on `padding`.

    Args:
        padding: padding of convolutions with an even kernel size. `caffe` adds one
            row or column of zeros on each of the four sides, so that the output of a
            2 x 2 convolution has one row and one column more than the input. `same`
            keeps the size. `valid` adds no zeros: the output has one row and one column less.
        dropout: a dropout rate for each of the seven stacks.
        dropout_placement: `last` for dropout after the pooling of each stack; `all`
            for dropout after each activation inside a stack too; `before_pooling`, the
            paper's words, for dropout of the last activation of each stack.
        init_scale: variance of initial kernels times fan-in; He's initialisation has 2.
            With 2, the first loss of ELU is far above chance; with 1 it is close to it.

    The other arguments are documented in `elu_zoo.get_model`.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    return conv_stacks(**locals(), name="elu_cifar_11", stacks=STACKS_11)


@register_model(**_FACTS)
def elu_cifar_18(
    activation="elu",
    *,
    batch_norm=False,
    num_classes=100,
    input_shape=(32, 32, 3),
    width=1.0,
    seed=0,
    preprocessing=None,
    padding="caffe",
    dropout=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.0),
    dropout_placement="last",
    kernel_decay=0.0,
    init_scale=2.0,
) -> keras.Model:
    """Eighteen convolutional layers and the classifier, in eight stacks.

    The paper speaks of 18 layers, but lists 19 layers including the classifier.
    The network has 39,330,404 parameters with 100 classes and 39,226,634 with 10. The
    paper's test errors are 6.55 % on CIFAR-10 and 24.28 % on CIFAR-100. The paper has
    seven dropout rates for eight stacks; here the seventh stack has the rate of the
    sixth. The paper's L2 weight decay is `kernel_decay=0.0005`.

    `padding="same"` needs less than half of the multiply-accumulates of "caffe"; "valid" does not
    fit 32 x 32 images. The arguments are documented in `elu_cifar_11` and `elu_zoo.get_model`.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    return conv_stacks(**locals(), name="elu_cifar_18", stacks=STACKS_18)
