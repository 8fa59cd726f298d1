"""The zoo's front door: models by name, with or without weights, and what they are."""

import dataclasses
import fnmatch
import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any

import keras
from absl import logging

import elu_zoo.models  # noqa: F401  (registers the networks)
from elu_zoo import activations, errors, registry
from elu_zoo.models import cost
from elu_zoo.weights import entries, h5, store


def get_model(
    name: str,
    *,
    weights: str | os.PathLike | None = None,
    preprocessing: bool | str | Mapping[str, Any] | None = None,
    include_top: bool = True,
    features: str | Sequence[str] | None = None,
    classifier_activation: str | None = None,
    allow_unverified: bool = False,
    **builder_arguments: Any,
) -> keras.Model:
    """Returns a network of the zoo as an ordinary Keras model.

    Args:
        name: a name of `list_models()`.
        weights: None for the seeded initial weights; a data set's name
            (`"mnist"`: the activation picks the file), a tag of `list_weights()`,
            the path of a `.weights.h5` file, or a finished run's folder.
        preprocessing: whether the model takes raw 0..255 images. True by default
            when `weights` is given, else False. Without weights, a network that
            whitens its input takes the statistics of `"cifar100"`, or of the data
            set named here; a description of `elu_zoo.layers.preprocessing_layers`
            is taken as it is.
        include_top: False returns the classifier's input instead of logits, of an
            autoencoder the code.
        features: the name of a layer, or several, whose outputs are returned
            instead of logits: one tensor, or a dict by layer name.
        classifier_activation: an activation on the logits, `"softmax"` for
            probabilities; `"sigmoid"` for an autoencoder's reconstructions.
        allow_unverified: load a file that has no entry beside it.
        **builder_arguments: `activation`, `batch_norm`, `num_classes`,
            `input_shape`, `width`, `seed` and what else the builder takes. With
            weights, what is left out is taken from them; another `num_classes`
            keeps the body and leaves the classifier at its initial weights;
            anything else that differs from the weights is refused.

    Returns:
        A model from `(batch, height, width, channels)` to `(batch, num_classes)`, of
        an autoencoder to `(batch, height, width, channels)`.

    Raises:
        UsageError: an unknown name or an argument out of its range.
        CorruptError: the weight file is damaged or of another network.

    Example:
        >>> model = elu_zoo.get_model("mnist_mlp_8x128", weights="mnist")
        >>> model(images)  # uint8, (batch, 28, 28, 1)
    """
    registered = registry.entry(name)
    arguments = {k: v for k, v in builder_arguments.items() if v is not None}
    _check_arguments(registered, arguments)
    cuts = [features is not None, not include_top, classifier_activation is not None]
    if sum(cuts) > 1:
        raise errors.UsageError(
            "features, include_top=False and classifier_activation exclude each other."
        )
    found = None
    if weights is not None:
        found = store.find_weights(
            name,
            weights,
            activation=arguments.get("activation"),
            batch_norm=arguments.get("batch_norm"),
            allow_unverified=allow_unverified,
        )
    entry = found.entry if found else None
    if entry:
        _check_arguments(registered, entry["arguments"])
        arguments = _merged(arguments, entry, registered.any_size)
    if registered.is_autoencoder and classifier_activation is not None:
        _check_readout(registered, entry, classifier_activation)
    if preprocessing or (preprocessing is None and found):
        if not registered.takes("preprocessing"):
            raise errors.UsageError(
                f"The builder of {name} has no argument 'preprocessing', so that its "
                "model cannot take raw images. See elu_zoo.register_model."
            )
        own = entry["preprocessing"] if entry else registered.preprocessing
        arguments["preprocessing"] = _preprocessing(name, own, preprocessing)
        if entry and arguments["preprocessing"] != own:
            raise errors.UsageError(
                f"The weights {entry['tag']} were trained on {own}. Received: "
                f"preprocessing={preprocessing!r}. Leave it out, or pass False."
            )
    model = registered.builder(**arguments)
    if found:
        _load(model, registered, found, arguments)
    return _cut(model, registered, include_top, features, classifier_activation)


def _check_arguments(registered: registry.ModelEntry, arguments: dict) -> None:
    known = [*inspect.signature(registered.builder).parameters, "weights"]
    known = [argument for argument in known if argument != "preprocessing"]
    for argument in arguments:
        if argument == "num_classes" and registered.is_autoencoder:
            raise errors.UsageError(
                f"{registered.name} is an autoencoder and has no classes. Leave "
                "num_classes out."
            )
        if argument not in known:
            raise errors.unknown(f"argument of {registered.name}", argument, known)


def _preprocessing(
    name: str, own: dict[str, Any], asked: bool | str | Mapping[str, Any] | None
) -> dict[str, Any]:
    """Returns the description of what was asked for."""
    if isinstance(asked, Mapping):
        # As the entries of weights are read, where there are no tuples.
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asked.items()}
    if not isinstance(asked, str):
        return own
    if "statistics" not in own:
        raise errors.UsageError(
            f"{name} takes no statistics of a data set; preprocessing is True or "
            f"False. Received: {asked!r}."
        )
    return {**own, "statistics": asked}


def _check_readout(
    registered: registry.ModelEntry, entry: entries.Entry | None, activation: str
) -> None:
    """Refuses an activation that gives no pixels: a wrong picture says nothing."""
    if entry:
        origin, fits = entry["tag"], [registry.READOUTS[entries.loss(entry)]]
    else:
        origin, fits = f"an untrained {registered.name}", ["sigmoid", "linear"]
    if activation not in fits:
        raise errors.UsageError(
            f"classifier_activation turns the output of {origin} into pixels in [0, 1]:"
            f" {' or '.join(map(repr, fits))}. Received: {activation!r}."
        )


def _merged(
    arguments: dict[str, Any], entry: entries.Entry, any_size: bool
) -> dict[str, Any]:
    """The entry's arguments, after checking that nothing asked for contradicts."""
    merged = dict(entry["arguments"])
    for key, value in arguments.items():
        if key not in ("num_classes", "seed") and key in merged:
            asked = activations.describe(value) if key == "activation" else value
            trained = merged[key]
            if isinstance(asked, tuple):
                asked = list(asked)
            sized = isinstance(asked, list) and len(asked) == 3
            if key == "input_shape" and any_size and sized:
                trained = [*asked[:2], trained[2]]
            if asked != trained:
                raise errors.UsageError(
                    f"The weights {entry['tag']} were trained with {key}={trained}. "
                    f"Received: {key}={asked}. Leave {key} out, or name other weights."
                )
        merged[key] = value
    return merged


def _load(
    model: keras.Model,
    registered: registry.ModelEntry,
    found: store.Weights,
    arguments: dict[str, Any],
) -> None:
    trained = found.entry["arguments"].get("num_classes") if found.entry else None
    if trained is None or trained == arguments.get("num_classes", trained):
        h5.assign(model, found.load(model))
        return
    body = registered.builder(**{**arguments, "num_classes": trained})
    arrays = found.load(body)
    del arrays[registered.classifier]
    h5.assign(model, arrays)
    logging.info(
        "%s has %d classes, num_classes is %d: the layer %r starts from its initial "
        "weights, every other layer is loaded.",
        found.entry["tag"],
        trained,
        arguments["num_classes"],
        registered.classifier,
    )


def _cut(model, registered, include_top, features, classifier_activation):
    if features is not None:
        names = [features] if isinstance(features, str) else list(features)
        known = [layer.name for layer in model.layers]
        for layer_name in names:
            if layer_name not in known:
                raise errors.unknown(f"layer of {model.name}", layer_name, known)
        outputs = {n: model.get_layer(n).output for n in names}
        if isinstance(features, str):
            outputs = outputs[features]
        return keras.Model(model.input, outputs, name=model.name)
    if not include_top:
        if registered.is_autoencoder:
            body = model.get_layer(registered.code).output
        elif registered.classifier:
            body = model.get_layer(registered.classifier).input
        else:
            raise errors.UsageError(
                f"{model.name} was registered without a classifier or a code, so that "
                "include_top=False means nothing. Name a layer: features=..."
            )
        return keras.Model(model.input, body, name=model.name)
    if classifier_activation is not None:
        layer = _classifier_activation(classifier_activation)
        return keras.Model(model.input, layer(model.output), name=model.name)
    return model


def _classifier_activation(name: str) -> keras.layers.Layer:
    try:
        return keras.layers.Activation(name, name="predictions", dtype="float32")
    except ValueError:
        raise errors.unknown(
            "classifier_activation", name, ["softmax", "sigmoid", "log_softmax"]
        ) from None


def list_models(pattern: str = "*", *, weights: bool | str = False) -> list[str]:
    """Returns the names of the zoo's models, in natural order.

    Args:
        pattern: shell wildcards, `"mnist_*"`.
        weights: True for models that have pretrained weights, or the data set
            that they must have been trained on.
    """
    names = fnmatch.filter(registry.names(), pattern)
    if weights:
        published = entries.manifest().values()
        trained = {e["model"] for e in published if weights in (True, e["dataset"])}
        names = [name for name in names if name in trained]
    return sorted(names, key=entries.natural)


@dataclasses.dataclass(frozen=True)
class ModelInfo:
    """What `model_info` tells of a network.

    Attributes:
        name: the model's name.
        section: where the paper describes it.
        parameters: trained and running values, preprocessing apart.
        multiply_accumulates: of dense and convolution layers, for one image.
        input_shape: `(height, width, channels)`.
        output_shapes: of each layer, by name, without the batch axis.
        weights: the metrics of each published weight file, by tag.
        defaults: the tags that `weights=<data set>` takes, one an activation.
    """

    name: str
    section: str
    parameters: int
    multiply_accumulates: int
    input_shape: tuple[int, int, int]
    output_shapes: dict[str, tuple[int, ...]]
    weights: dict[str, dict[str, float]]
    defaults: tuple[str, ...]


def model_info(name: str, **builder_arguments: Any) -> ModelInfo:
    """Returns size, cost, shapes, source and published weights of a model.

    Args:
        name: a name of `list_models()`.
        **builder_arguments: as of `get_model`; the builder's defaults otherwise.
    """
    registered = registry.entry(name)
    model = get_model(name, **builder_arguments)
    published = entries.manifest()
    tags = [t for t in entries.list_weights() if published[t]["model"] == name]
    return ModelInfo(
        name=name,
        section=registered.section,
        parameters=cost.parameters(model),
        multiply_accumulates=cost.multiply_accumulates(model),
        input_shape=tuple(model.input_shape[1:]),
        output_shapes={x.name: tuple(x.output.shape[1:]) for x in model.layers},
        weights={tag: published[tag]["metrics"] for tag in tags},
        defaults=tuple(tag for tag in tags if entries.is_default(published[tag])),
    )
