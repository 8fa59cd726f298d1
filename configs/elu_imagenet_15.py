"""ImageNet with fifteen layers: section 4.4, figure 6.

Commands:  elu-zoo-train --config=elu_imagenet_15:activation=elu,seed=0
           elu-zoo-train --config=elu_imagenet_15 --config.data.folder=<folder>
Arguments: activation, batch_norm, seed, smoke
Paper:     random 224 x 224 crops of images resized to 256 x 256, mirrored at random,
           with the mean of each pixel subtracted; L2 decay 0.0005, dropout 0.5 in the
           two layers of 4096 units. On the centre crops of 5,000 random validation
           images, ELU reaches 20 % top-5 error after 160,000 iterations, ReLU after
           200,000. The final top-5 error of ELU is below 10 %. 10,000 iterations took
           12.15 hours with ELU and 11.48 hours with ReLU.
Ours:      not trained. Time, memory and speed of reading: results/tuning.md.

Not in the paper: 80 epochs of batches of 256, about 400,000 iterations; momentum 0.9;
learning rate 0.01 in the first half of the run, 0.001 in the third quarter and 0.0001
in the last; a stride of 2 in the first layer; pyramid levels (1, 2, 4); zero biases
without decay; activations and products in bfloat16; initial kernels normal with
variance 1 / fan-in (reason: results/tuning.md). An untrained model of `get_model`
subtracts ILSVRC's channel means, 123.68, 116.779 and 103.939, not the mean image.

The images can be imagenet2012 of tensorflow-datasets, or a folder <class>/<file>.JPEG
(or train/<class>/ and val/<class>/).
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common

ARGUMENTS = {"activation": "elu", "batch_norm": False, "seed": 0, "smoke": False}


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    config = common.base(args)
    config.name = config.model.name = "elu_imagenet_15"
    config.schedule_epochs = 80

    config.model.width = 0.05 if config.smoke else 1.0
    config.model.stem_stride = 2
    config.model.spp_levels = (1, 2, 4)  # bins along each side of the last map
    config.model.dropout = 0.5
    config.model.kernel_decay = 0.0005
    config.model.init_scale = 1.0

    config.data.name = "imagenet2012"
    config.data.folder = ""
    config.data.image_size = 256
    config.data.crop_size = 224
    config.data.validation_images = 50 if config.smoke else 5000
    config.data.train_examples = 100 if config.smoke else 0
    config.data.augmentation = "crop_flip"  # with "none": the centre crop

    config.train.batch_size = 20 if config.smoke else 256
    config.train.epochs = 2 if config.smoke else 80
    config.train.precision = "mixed_bfloat16"
    config.train.momentum = 0.9
    config.train.boundaries = (0.5, 0.75)
    rate = 0.001 if config.smoke else 0.01  # for batches of 20 and 256
    config.train.learning_rates = (rate, rate / 10, rate / 100)
    config.train.checkpoint_every = 5 if config.smoke else 1000
    return config
