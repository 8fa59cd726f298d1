"""ImageNet with fifteen layers: section 4.4, figure 6.

Command:   elu-zoo-train --config=elu_imagenet_15:activation=elu,seed=0
           elu-zoo-train --config=elu_imagenet_15 --config.data.folder=<folder>
Arguments: activation, batch_norm, seed, smoke
Paper:     crops of 224 x 224 out of images resized to 256 x 256, mirrored at random,
           the mean of every pixel subtracted; L2 decay 0.0005, dropout 0.5 in the two
           layers of 4096. On 5,000 random validation images, centre crop, ELU reaches
           20 % top-5 error after 160,000 iterations, ReLU after 200,000; in the end
           ELU's top-5 error is below 10 %. 10,000 iterations took 12.15 hours with ELU
           and 11.48 hours with ReLU.
Ours:      not trained.
Time:      about 63e12 floating-point operations an iteration, 2.5e19 in all. A step of
           10 images takes 4.1 s on two CPU cores with bfloat16 convolutions.
Memory:    there 4.3 GiB, and 60 MiB an image: 20 GiB for 256; --accumulate=8, which
           computes a batch in 8 parts, 6 GiB.
Reading:   on one core 1,700 prepared images a second (0.65 of their decoding alone),
           550 of a folder of small photographs. A device that reaches 400 TFLOP/s takes
           1,600.

Not in the paper: 80 epochs of batches of 256, about 400,000 iterations; momentum 0.9;
the learning rate, 0.01 in the first half of the run, 0.001 in the third quarter, then
0.0001, whatever the number of images; a stride of 2 in the first layer, the pyramid's
levels (1, 2, 4); zero biases, free of decay; activations and products in bfloat16.
Initial kernels are normal with variance 1 / fan-in: pixels with a standard deviation of
57 then give first losses close to chance, 6.9, and He's 2 / fan-in does not (16 images,
one seed, a quarter of the width):

    g          1      1.5    2
    ELU        7.2    57     488
    ReLU       7.0    56     485

The images are those of tensorflow-datasets' imagenet2012, of any folder
<class>/<file>.JPEG (or train/<class>/ and val/<class>/), or, fastest, of what
`python tools/prepare_data.py` makes of either.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, mnist_mlp_8x128


def get_config(arg: str = "") -> ConfigDict:
    args = arguments.parse(arg, activation="elu", batch_norm=False, seed=0, smoke=False)
    config = mnist_mlp_8x128.get_config(",".join(f"{k}={v}" for k, v in args.items()))
    config.name = "elu_imagenet_15"
    config.schedule_epochs = 80

    config.model.name = "elu_imagenet_15"
    config.model.width = 0.05 if config.smoke else 1.0
    config.model.stem_stride = 2
    config.model.spp_levels = (1, 2, 4)  # bins along each side of the last map
    config.model.dropout = 0.5
    config.model.kernel_decay = 0.0005  # Caffe's: added to gradients, times the kernel
    config.model.init_scale = 1.0  # variance of kernels times fan-in

    config.data.name = "imagenet2012"
    config.data.folder = ""  # of images; "" is tensorflow-datasets' imagenet2012
    config.data.image_size = 256  # pixels, to which height and width are resized
    config.data.crop_size = 224
    config.data.validation_images = 50 if config.smoke else 5000
    config.data.train_examples = 100 if config.smoke else 0
    config.data.augmentation = "crop_flip"  # or none: the centre crop

    config.train.batch_size = 20 if config.smoke else 256
    config.train.epochs = 2 if config.smoke else 80
    config.train.precision = "mixed_bfloat16"
    config.train.momentum = 0.9
    config.train.boundaries = (0.5, 0.75)  # shares of the run
    rate = 0.001 if config.smoke else 0.01  # of batches of 20, of 256
    config.train.learning_rates = (rate, rate / 10, rate / 100)
    config.train.checkpoint_every = 5 if config.smoke else 1000
    return config
