"""The network of the paper's best results on CIFAR (section 4.3)."""

import keras

from elu_zoo.models.stacks import conv_stacks
from elu_zoo.registry import register_model

# Layers x units x kernel size (the paper's receptive field), without the classifier.
STACKS = (
    ((1, 384, 3),),
    ((1, 384, 1), (1, 384, 2), (2, 640, 2)),
    ((1, 640, 1), (3, 768, 2)),
    ((1, 768, 1), (2, 896, 2)),
    ((1, 896, 3), (2, 1024, 2)),
    ((1, 1024, 1), (1, 1152, 2)),
    ((1, 1152, 1),),
)
_PREPROCESSING = {"kind": "gcn_zca", "statistics": "cifar100"}


@register_model(
    section="4.3, table 1",
    preprocessing=_PREPROCESSING,
    any_size=True,
    training_only=("dropout", "init_scale", "initial_kernels", "kernel_decay"),
)
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
    initial_kernels="normal",
    conv_dtype="float32",
) -> keras.Model:
    """Eighteen convolutional layers and the classifier, in eight stacks.

    The paper speaks of 18 layers, but lists 19 layers including the classifier.
    The network has 39,330,404 parameters with 100 classes and 39,226,634 with 10. The
    paper's test errors are 6.55 % on CIFAR-10 and 24.28 % on CIFAR-100. The paper has
    seven dropout rates for eight stacks; here the seventh stack has the rate of the
    sixth. The paper's L2 weight decay is `kernel_decay=0.0005`.

    `padding="same"` needs less than half of the multiply-accumulates of "caffe".
    The arguments are documented in `elu_cifar_11` and `elu_zoo.get_model`.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    return conv_stacks(
        STACKS,
        name="elu_cifar_18",
        activation=activation,
        batch_norm=batch_norm,
        num_classes=num_classes,
        input_shape=input_shape,
        width=width,
        seed=seed,
        preprocessing=preprocessing,
        padding=padding,
        dropout=dropout,
        dropout_placement=dropout_placement,
        kernel_decay=kernel_decay,
        init_scale=init_scale,
        initial_kernels=initial_kernels,
        conv_dtype=conv_dtype,
    )
