"""CIFAR-100 with eleven convolutional layers: section 4.2, figures 4 and 5.

Commands:  elu-zoo-train --config=elu_cifar_11:activation=elu,seed=0
           elu-zoo-train --config=elu_cifar_11:schedule=fast,activation=elu,seed=0
Arguments: dataset (cifar100, cifar10, cifar100_coarse), activation, batch_norm, seed,
           schedule, epochs, validation, smoke
Paper:     165,000 iterations; learning rate 0.01 to 35,000, then 0.005 to 85,000,
           0.0005 to 135,000, 0.00005; momentum 0.9, L2 decay 0.0005, dropout
           (0, .1, .2, .3, .4, .5, 0); whitened images, padded by 4, cropped and
           mirrored. CIFAR-100 test error, ten runs: ELU 28.75 +- 0.24 %, shifted ReLU
           29.35 +- 0.29 %, leaky ReLU 30.59 +- 0.29 %, ReLU 31.56 +- 0.37 %.
Ours:      results/runs.md, from results/results.csv.
Time:      paper: 10 to 16 hours a run on two CPU cores. fast: 1 to 2 hours.

`schedule=paper` is the paper's, to the letter; `epochs` of it are its first ones.
`schedule=fast` is our own for machines without a GPU: 30 epochs, or as many as `epochs`
says, in which the learning rate rises to its peak and falls to zero on straight lines,
with Nesterov's momentum and half of the paper's dropout; the rest is as in the paper.
`schedule=quick` is `fast` with convolutions that move by Muon at a constant norm, and
no decay of theirs. Its rates and initial kernels are those of pilots and not chosen
yet; no weights of it ship.

Not in the paper: batches of 100, which make its iterations 330 epochs; "caffe" padding
of the 2 x 2 convolutions; dropout after the pooling; biases zero and free of decay;
convolutions that multiply in bfloat16, which processors without it do slowly
(`--config.train.precision=float32`). Boundaries are made for the run's length: change
it by `epochs`, not by --config.train.epochs. All 50,000 images are trained on;
`validation=True` leaves 5,000 out and measures on them after every epoch.

Kernels start normal with variance 2 / fan-in, He's, the only initialisation that the
paper names (section 4.1). At the paper's learning rate two epochs of a network of half
the width do not tell it from 1 / fan-in (errors on those 5,000, one seed): ELU 93.6 and
92.4 %, ReLU 98.0 and 98.0 %. How `fast` was chosen: results/tuning.md.
"""

from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.configs import arguments, mnist_mlp_8x128

# Dropout of each stack.
DROPOUT = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.0)
HALF_DROPOUT = tuple(rate / 2 for rate in DROPOUT)


def get_config(arg: str = "") -> ConfigDict:
    args = arguments.parse(
        arg,
        dataset="cifar100",
        activation="elu",
        batch_norm=False,
        seed=0,
        schedule="paper",
        epochs=0,
        validation=False,
        smoke=False,
    )
    shared = "activation", "batch_norm", "seed", "smoke"
    config = mnist_mlp_8x128.get_config(",".join(f"{k}={args[k]}" for k in shared))
    if args["schedule"] not in ("paper", "fast", "quick"):
        raise errors.unknown("schedule", args["schedule"], ["paper", "fast", "quick"])
    paper, quick = (args["schedule"] == name for name in ("paper", "quick"))
    config.schedule = args["schedule"]
    config.schedule_epochs = 330 if paper else args["epochs"] or 30
    epochs = args["epochs"] or config.schedule_epochs
    config.name = f"elu_cifar_11-{args['dataset']}"
    if not paper or epochs != 330:  # a folder and rows of their own
        config.name += f"-{args['schedule']}{epochs}"
    if args["validation"]:
        config.name += "-validation"

    config.model.name = "elu_cifar_11"
    config.model.width = 0.1 if config.smoke else 1.0
    config.model.padding = "caffe"  # or "same"
    # Caffe's: added to gradients, times the kernel.
    config.model.kernel_decay = 0.0 if quick else 0.0005
    config.model.init_scale = 2.0  # variance of kernels times fan-in; 2 is He's
    config.model.initial_kernels = "normal"  # or "orthogonal", of the same norm

    config.data.name = args["dataset"]
    config.data.train_examples = 1000 if config.smoke else 0
    config.data.train_on_validation = not args["validation"]
    config.data.measure_test = True  # False: a trial, which looks at validation alone
    config.data.augmentation = "pad_crop_flip"

    config.train.batch_size = 100
    config.train.epochs = 2 if config.smoke else epochs
    config.train.label_smoothing = 0.0  # in what is minimised, not what is recorded
    config.train.precision = "bfloat16_conv"
    config.train.momentum = 0.9
    config.train.nesterov = not paper
    config.train.optimizer = "muon" if quick else "sgd"
    # Of muon: the rate of biases and classifier, times that of kernels; the decay of
    # the classifier's kernel.
    config.train.sgd_factor = 2.5 if quick else 1.0
    config.train.sgd_decay = 0.0005 if quick else 0.0
    config.train.checkpoint_every = 5 if config.smoke else 500

    examples = config.data.train_examples or (45_000 if args["validation"] else 50_000)
    iterations = examples // config.train.batch_size * config.train.epochs
    if not paper:
        config.train.boundaries = (round(0.15 * iterations),)
        config.train.learning_rates = (0.0, 0.02 if quick else 0.05, 0.0)
        config.train.learning_rate_shape = "linear"
    else:
        boundaries = (4, 8, 12) if config.smoke else (35_000, 85_000, 135_000)
        reached = [b for b in boundaries if b < iterations]
        config.train.boundaries = tuple(reached)
        rates = 0.01, 0.005, 0.0005, 0.00005
        config.train.learning_rates = rates[: len(reached) + 1]
    # Phase i holds until iteration phase_boundaries[i].
    config.train.phase_boundaries = ()
    config.train.dropout = (DROPOUT if paper else HALF_DROPOUT,)
    config.train.dropout_placement = ("last",)  # layer of a stack, or "all"
    return config
