"""The zoo's front door: models by name, with or without weights, and what they are."""

import concurrent.futures
import contextvars
import dataclasses
import fnmatch
import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from absl import logging

import elu_zoo.models  # noqa: F401  (registers the networks)
from elu_zoo import activations, errors, registry
from elu_zoo.models import cost, cut
from elu_zoo.models import preprocessing as preprocessing_of
from elu_zoo.weights import entries, h5, opening, store


def get_model(
    name: str,
    *,
    weights: str | os.PathLike | None = None,
    preprocessing: bool | str | Mapping[str, Any] = True,
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
        preprocessing: whether the model takes raw 0..255 images, with weights or
            without; False for images that are preprocessed already, see
            `preprocess_input`. Without weights, a network that takes statistics of a
            data set takes those that it was registered with, or those of the data set
            named here; a description of `elu_zoo.layers.preprocessing_layers` is
            taken as it is.
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
        UsageError: an unknown name, an argument out of its range, or images of another
            size than the network's statistics are of.
        NotFoundError: the network's statistics are not on this machine.
        CorruptError: the weight file is damaged or of another network.
        ResourceError: the weights do not fit the memory.

    Example:
        >>> model = elu_zoo.get_model("mnist_mlp_8x128", weights="mnist")
        >>> model(images)  # uint8, (batch, 28, 28, 1)
    """
    registered = registry.entry(name)
    arguments = {
        k: v.item() if isinstance(v, np.generic) else v  # Keras takes Python's numbers
        for k, v in builder_arguments.items()
        if v is not None
    }
    _check_arguments(registered, arguments)
    cut.check(include_top, features, classifier_activation)
    errors.check_bool("allow_unverified", allow_unverified)
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
    layers = preprocessing_of.chosen(
        registered, preprocessing, entry, arguments.get("input_shape")
    )
    if layers is not None:
        arguments["preprocessing"] = layers
    if entry and not found.is_published:
        model = _build_carefully(registered, found, arguments)
    else:
        model = _build(registered, arguments)
    _warn_of_float16(model)
    if found:
        _load(model, registered, found, arguments)
    return cut.cut(model, registered, include_top, features, classifier_activation)


def _check_arguments(registered: registry.ModelEntry, arguments: dict) -> None:
    known = [name for name in registered.parameters if name != "preprocessing"]
    for argument in arguments:
        if argument == "num_classes" and registered.is_autoencoder:
            raise errors.UsageError(
                f"{registered.name} is an autoencoder and has no classes. Leave "
                "num_classes out."
            )
        if argument not in known:
            # Those of get_model itself may have been meant.
            known += [each for each in _own_arguments() if each not in known]
            raise errors.unknown(f"argument of {registered.name}", argument, known)


def _own_arguments() -> list[str]:
    """Returns the names of the arguments that `get_model` does not pass on."""
    parameters = inspect.signature(get_model).parameters.values()
    return [x.name for x in parameters if x.kind is inspect.Parameter.KEYWORD_ONLY]


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
    if arguments.get("auxiliary_heads"):
        raise errors.UsageError(
            f"The weights {entry['tag']} are of the network without its auxiliary heads"
            ", which only training has. Leave auxiliary_heads out."
        )
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


def _build(registered: registry.ModelEntry, arguments: dict[str, Any]) -> keras.Model:
    try:
        return registered.builder(**arguments)
    except errors.NotFoundError as error:  # before any weight is drawn
        raise errors.NotFoundError(
            f"{registered.name} makes its input of raw images by statistics that are "
            f"not on this machine. {error} Pass preprocessing=False for a network that "
            "takes images which are preprocessed already."
        ) from error
    except MemoryError as error:
        raise errors.ResourceError(
            f"The weights of this {registered.name} do not fit the memory: {error}. "
            "Take a smaller width, input_shape or num_classes."
        ) from error


def _warn_of_float16(model: keras.Model) -> None:
    """Says what a policy of Keras that was set for another machine does on a CPU."""
    if any(layer.compute_dtype == "float16" for layer in model.layers):
        devices = keras.distribution.list_devices()
        if all(device.startswith("cpu") for device in devices):
            logging.warning(
                "%s computes in float16 on a CPU, which takes longer there than "
                "float32. Before it is built, keras.config.set_dtype_policy("
                '"float32") or "mixed_bfloat16".',
                model.name,
            )


def _build_carefully(
    registered: registry.ModelEntry, found: store.Weights, arguments: dict[str, Any]
) -> keras.Model:
    """Builds the network of an entry that nobody has published."""
    trained = found.entry["arguments"].get("num_classes")
    of_file = {k: v for k, v in arguments.items() if k != "preprocessing"}
    if trained is not None:
        of_file["num_classes"] = trained
    try:
        found.check_fits(_shapes(registered, of_file))
        return _build(registered, arguments)
    except errors.EluZooError:
        raise
    # Whatever Keras makes of arguments that no builder has seen before.
    except Exception as error:
        raise errors.CorruptError(
            f"The arguments of the entry {found.entry['tag']} make no {registered.name}"
            f": {opening.printable(str(error), 300)}. The entry is damaged, or of a "
            "newer version of elu_zoo."
        ) from error


def _shapes(registered: registry.ModelEntry, arguments: dict[str, Any]) -> h5.Shapes:
    """Returns the shapes of a network's weights, without the memory for them."""

    def sketch() -> h5.Shapes:
        with keras.StatelessScope(initialize_variables=False):
            return h5.shapes(registered.builder(**arguments))

    # A thread of its own: Keras would make up for these variables later, in this one.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, sketch).result()


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
    if registered.classifier is None:
        raise errors.UsageError(
            f"{registered.name} was registered without a classifier, so that its "
            f"weights fit num_classes={trained} alone. Received: "
            f"num_classes={arguments['num_classes']}."
        )
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
        **builder_arguments: as of `get_model`; the builder's defaults otherwise, and
            `preprocessing=False`: sizes and costs are those of the network alone.
    """
    registered = registry.entry(name)
    model = get_model(name, **{"preprocessing": False, **builder_arguments})
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
