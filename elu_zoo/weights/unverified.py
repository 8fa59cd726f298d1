"""Files without an entry, as `model.save` writes them.

A `.keras` file is read as data: the configs of its layers are compared with those of
the network, and its arrays are read like a weight file. Nothing in it is executed.
"""

import dataclasses
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elu_zoo import errors, registry
from elu_zoo.weights import hdf5

if TYPE_CHECKING:
    import keras

_INPUT = "image"
# For the preprocessing layers of a network, in order, the kind of the preprocessing.
_KINDS = {
    ("rescale",): "rescale",
    ("normalize",): "gcn",
    ("normalize", "whiten"): "gcn_zca",
    ("subtract_mean",): "mean",
    ("normalize", "subtract_mean"): "gcn_mean",
    ("subtract_mean", "centre_crop"): "mean_crop",
}
_PREPROCESSING = {name for names in _KINDS for name in names}
_ADDED = {"predictions", "avg_pool", "max_pool"}  # by arguments of `get_model`
# Entries of a layer and of its config that change no prediction, and endings of such entries.
_FREE = "config module inbound_nodes name trainable dtype seed momentum synchronized jit_compile"
_FREE_ENDS = ("_initializer", "_regularizer", "_constraint", "_config")
_NUMBER = "shared_object_id"  # which `save` gives to what layers share, and `to_json` does not

Layer = dict[str, Any]
Layers = dict[str, Layer]


@dataclasses.dataclass(frozen=True)
class Saved:
    """Statements of a `.keras` file."""

    path: Path
    arguments: dict[str, Any]  # of the builder
    has_classifier: bool
    layers: Layers  # class, config and inputs of each layer by name
    preprocessing: dict[str, Any]  # the kind is None without such layers

    def check(self, model: "keras.Model", classifier: str | None) -> None:
        """Raises `UsageError` if the file's layers are not those of a network."""
        built = _by_name(json.loads(model.to_json()))
        ignored = {*_PREPROCESSING, *_ADDED, _INPUT}
        if classifier in built and not self.has_classifier:
            ignored |= set(list(built)[list(built).index(classifier) :])
        differing = [
            name
            for name in {**built, **self.layers}
            if name not in ignored
            and _differ(self.layers.get(name), built.get(name), name == classifier)
        ]
        if differing:
            shown = errors.printable(", ".join(differing[:5]), 500)
            raise errors.UsageError(
                f"{self.path} is not {model.name} with these arguments: the layers {shown} "
                "differ. Pass the arguments with which the model was built, or load the "
                "file with keras.models.load_model."
            )


def _differ(old: Layer | None, new: Layer | None, is_classifier: bool) -> bool:
    if not old or not new:
        return True
    old, new = ({**x, **x["config"]} for x in (old, new))
    scales = new["class_name"] == "FeatureMapDropout"  # by its rate
    free = [*_FREE.split(), *["rate"] * (not scales), *["units", "filters"] * is_classifier]
    compared = [x for x in old if x in new and x not in free and not x.endswith(_FREE_ENDS)]
    return any(old[key] != new[key] for key in compared)


def find(path: Path, registered: registry.ModelEntry, allowed: bool) -> Saved:
    """Returns what a file without an entry states, if such a file is `allowed`."""
    if not path.name.endswith(hdf5.KERAS):
        raise errors.UsageError(
            f"{path} has no entry beside it (the .json file of a run), so that its activation and "
            "preprocessing are unknown. Load it with get_model(...).load_weights(<file>); that "
            "model, saved as a .keras file, states both."
        )
    if not allowed:
        raise errors.UsageError(
            f"{path} is a model of keras.Model.save without an entry of the zoo, so its content "
            "is not verified. To load it, pass allow_unverified=True to get_model, or set "
            "--allow_unverified; a training run starts only from weights with an entry."
        )
    text = hdf5.member(path, "config.json")
    try:
        if len(text) > 16 << 20:  # JSON takes 24 times as much memory
            raise ValueError("it is too large")
        config = json.loads(text, object_hook=lambda x: {k: x[k] for k in x if k != _NUMBER})
        kind = errors.printable(str(config["class_name"]), 100)
        layers, name = _by_name(config) if kind == "Functional" else {}, registered.classifier
        if _INPUT in layers:
            arguments = _arguments(layers)
            if classifier := layers.get(name):
                units = {"units", "filters"} & classifier["config"].keys()
                arguments["num_classes"] = classifier["config"][units.pop()]
            has_classifier = registered.is_autoencoder or name in layers
            return Saved(path, arguments, has_classifier, layers, _preprocessing(layers))
    except Exception as error:  # a damaged config raises errors of many types
        reason = errors.printable(repr(error), 100)
        raise errors.CorruptError(f"{path} has a damaged config: {reason}.") from None
    raise errors.UsageError(
        f"{path} is a {kind}, not a network that get_model returned. Load it with "
        "keras.models.load_model."
    )


def _by_name(config: dict[str, Any]) -> Layers:
    listed = config["config"]["layers"]
    layers = {x["config"]["name"]: {**x, "inputs": _inputs(x)} for x in listed}
    if len(layers) < len(listed):
        raise ValueError("two layers have one name")
    return layers


def _inputs(layer: Layer) -> list[str]:
    """Returns the names of the layers before a layer, `image` for preprocessing."""
    names = re.findall(r'"keras_history": \["([^"]*)"', json.dumps(layer["inbound_nodes"]))
    return [_INPUT if name in _PREPROCESSING else name for name in names]


def _arguments(layers: Layers) -> dict[str, Any]:
    """Returns the builder arguments that the configs of layers state."""
    from elu_zoo.activations import table

    height, width, channels = layers[_INPUT]["config"]["batch_shape"][1:]
    if crop := layers.get("centre_crop"):
        (top, bottom), (left, right) = crop["config"]["cropping"]
        height, width = height - top - bottom, width - left - right
    normed = "BatchNormalization" in {layer["class_name"] for layer in layers.values()}
    arguments: Layer = {"input_shape": [height, width, channels], "batch_norm": normed}
    first = next((n for n in layers if n.startswith("act_")), None)
    if first and (activation := table.of_config(layers[first])):
        arguments["activation"] = activation
    return arguments


def _preprocessing(layers: Layers) -> dict[str, Any]:
    """Returns the description of the preprocessing layers; the kind None for none."""
    names = tuple(name for name in layers if name in _PREPROCESSING)
    description = {"kind": _KINDS.get(names)}
    for config in (layers[name]["config"] for name in names):
        description |= {k: config[k] for k in ("scale", "offset", "statistics") if k in config}
    if not description.get("offset", 1):
        del description["offset"]  # 0, as in a description without it
    if "centre_crop" in names:
        description["crop"] = _arguments(layers)["input_shape"][:2]
    return description
