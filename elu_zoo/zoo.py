"""Models by name: `get_model`, `list_models` and `model_info`."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import keras
import numpy as np

from elu_zoo import errors, registry
from elu_zoo.models import building
from elu_zoo.models import preprocessing as preprocessing_of
from elu_zoo.models.building import BuilderArguments
from elu_zoo.weights import manifest, pretrained
from elu_zoo.weights.pretrained import Pretrained


def get_model(
    name: str,
    *,
    weights: str | os.PathLike | Pretrained | None = None,
    preprocessing: bool | str | Mapping[str, Any] = True,
    include_top: bool = True,
    pooling: str | None = None,
    features: str | Sequence[str] | None = None,
    classifier_activation: str | None = None,
    model_name: str | None = None,
    allow_unverified: bool = False,
    **builder_arguments: Unpack[BuilderArguments],
) -> keras.Model:
    """Returns a network of the zoo as an ordinary Keras model.

    Args:
        name: a name from `list_models()`.
        weights: None for the seeded initial weights; a data set's name, such as `"mnist"`, for the
            weights trained on it with this activation (by default the network's own or, if that has
            none, another, with a warning); a tag of `list_weights()`; a finished run's folder; the
            path of a `.weights.h5` or `.keras` file; `"hf:owner/repo[@revision]"`, a repository of
            the Hugging Face Hub; or a result of `elu_zoo.weights.pretrained.find`.
        preprocessing: True for a model of raw 0..255 images, with weights or without; False for a
            model of preprocessed images, see `preprocess_input`. Without weights, `preprocessing`
            may also be the name of the data set whose statistics the network uses, or a
            description, see `elu_zoo.layers.preprocessing_layers`.
        include_top: False for a model that returns the input of the classifier instead
            of logits, or the code of an autoencoder.
        pooling: with `include_top=False`, `"avg"` or `"max"` for the means or maxima of
            maps, `(batch, channels)`; None for the maps.
        features: the name of a layer whose output the model returns instead of logits, or a list
            of names, for a dict of outputs; not with `include_top=False`, `classifier_activation`.
        classifier_activation: an activation on the logits: `"softmax"` for
            probabilities, `"sigmoid"` for reconstructions (of `mse=True`: None).
        model_name: the name of the Keras model; None for `name`. Models that are
            joined in one model need different names.
        allow_unverified: whether to load a `.keras` file, which has no entry. It states
            activation, `batch_norm`, preprocessing, input shape and classes; all its
            layers are compared with the network, and no code in it runs.
        **builder_arguments: the arguments below, and further arguments of the network,
            see its module, for instance `help("elu_zoo.models.nin")`. With weights, arguments that
            are not passed are those of the weights, except those of training, such as `dropout`,
            which have the defaults of the network. A different `num_classes` keeps the body and
            leaves the classifier at its initial weights. Other differences raise an error, except
            of arguments of training and of a size that the preprocessing fits.

            - activation: a name, a mapping `{"name": ..., "alpha": ...}`, a Layer class, a
              registered function or a factory; see `elu_zoo.activations.make`.
            - batch_norm: whether batch normalisation (momentum .9, epsilon 1e-5, ours: the paper
              states neither) is between each hidden layer and its activation.
            - num_classes: number of logits; not of an autoencoder.
            - input_shape: `(height, width, channels)` of an image. Networks whose weights fit
              images of any size, except `fmp`, accept `(None, None, channels)`, with
              `preprocessing=False` if theirs is `gcn` or has statistics.
            - width: factor on the number of units of every hidden layer.
            - seed: equal seeds give bit-equal initial weights for every activation,
              with or without batch normalisation (but `maxout` has more kernels with its own);
              `keras.utils.set_random_seed` changes nothing. Defaults to `0`.
            - kernel_decay (not of `maxout`, `fmp` and the MNIST networks): d of the penalty
              d / 2 * |kernel|^2, whose gradient is d * kernel. Biases have no penalty.

    Returns:
        A model from `(batch, height, width, channels)` to `(batch, num_classes)`, or
        to `(batch, height, width, channels)` for an autoencoder.

    Raises:
        UsageError: the name is unknown, an argument is out of range, the weights are
            unverified or belong to another network, or the size of the images differs
            from that of the network's statistics.
        NotFoundError: the path of weights does not exist; or weights, or statistics, are not on
            this machine, and no repository offers them.
        CorruptError: the weight file is damaged.
        ResourceError: the memory is too small, a file is unreadable, or a download failed.

    Example:
        >>> model = elu_zoo.get_model("mnist_mlp_8x128", weights="mnist")
        >>> model(images)  # uint8, (batch, 28, 28, 1)
    """
    registered = registry.entry(name)
    arguments: dict[str, Any] = {
        k: v.item() if isinstance(v, np.generic) else v  # Keras expects Python numbers
        for k, v in builder_arguments.items()
        if v is not None
    }
    _check_arguments(registered, arguments)
    cuts = include_top, pooling, features, classifier_activation
    if is_cut := cuts != (True, None, None, None):
        from elu_zoo.models import cut

        cut.check(*cuts)
    is_text = isinstance(model_name, str) and model_name and "/" not in model_name
    if not (is_text or model_name is None):
        raise errors.UsageError(
            f"model_name must be a text without '/', such as 'first_net'. Received: {model_name!r}."
        )
    errors.check_bool("allow_unverified", allow_unverified)
    trained = pretrained.find(
        name,
        weights,
        activation=arguments.get("activation"),
        batch_norm=arguments.get("batch_norm"),
        allow_unverified=allow_unverified,
    )
    if trained:
        _check_arguments(registered, trained.arguments)
        requested, arguments = arguments, trained.merged(arguments, preprocessing is not False)
        if trained.saved:
            from elu_zoo.models import loading

            used = {features} if isinstance(features, str) else {*(features or [""])}
            is_new = "num_classes" in requested  # a new classifier, which the file need not have
            needs_classifier = include_top and not (is_new or used <= trained.saved.layers.keys())
            loading.check_saved(registered, arguments, trained, needs_classifier)
    layers = preprocessing_of.resolve(registered, preprocessing, trained)
    if layers is not None:
        arguments["preprocessing"] = layers
    model = building.build(registered, arguments, trained)
    if is_cut:
        model = cut.cut(model, registered, *cuts)
    model.name = model_name or model.name
    return model


def _check_arguments(registered: registry.ModelEntry, arguments: dict) -> None:
    if "pretrained" in arguments:  # the name in other zoos
        raise errors.UsageError(
            f"get_model has no argument 'pretrained'. Use weights=. "
            f"{manifest.offer(registered.name)}"
        )
    known = [name for name in registered.parameters if name != "preprocessing"]
    for argument in arguments:
        if argument not in known:
            # Misspelt arguments of get_model are among the builder's arguments, too.
            known += get_model.__kwdefaults__ or ()
            raise errors.unknown_name_error(f"argument of {registered.name}", argument, known)


def list_models(pattern: str = "*", *, pretrained: bool | str = False) -> list[str]:
    """Returns the names of the zoo's models, in natural order.

    Args:
        pattern: part of a name, such as `"elu"`, or a shell pattern such as `"mnist_*"`.
        pretrained: True for models with weights only; a data set for those trained on it.
    """
    published = manifest.published().values()
    if isinstance(pretrained, str):
        errors.check_choice("data set", pretrained, sorted({e["dataset"] for e in published}))
    trained = {e["model"] for e in published if pretrained in (True, e["dataset"])}
    names = manifest.matching(registry.names(), pattern)
    return [name for name in names if name in trained] if pretrained else names


class ModelInfo(NamedTuple):
    """Size and cost of a network.

    Attributes:
        parameters: number of weights, without preprocessing.
        multiply_accumulates: number in dense and convolution layers, for one image.
    """

    parameters: int
    multiply_accumulates: int


def model_info(name: str, **builder_arguments: Unpack[BuilderArguments]) -> ModelInfo:
    """Returns the size and the cost of a model without preprocessing.

    Args:
        name: a name from `list_models()`.
        **builder_arguments: arguments of `get_model` except `preprocessing`.
    """
    from elu_zoo.models import cost

    model = get_model(name, **builder_arguments, preprocessing=False)
    return ModelInfo(cost.parameters(model), cost.multiply_accumulates(model))
