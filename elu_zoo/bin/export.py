r"""Exports a model with its weights as a SavedModel, an ONNX or a LiteRT file.

elu-zoo-export --model=mnist_mlp_8x128 --weights=mnist --export_dir=exports
elu-zoo-export --model=elu_cifar_11 --weights=runs/my_photos --name=my_photos \
    --export_dir=exports

The export is <export_dir>/<name>/<version>/. A server loads the highest version.
"""

import functools

from absl import flags as absl_flags

from elu_zoo.bin import early, flags
from elu_zoo.export import versions

_EXPORT_DIR = flags.define_path("export_dir", None, "Folder for <name>/<version>/.", required=True)
_NAME = absl_flags.DEFINE_string(
    "name", None, "Name of the model on a server; by default the value of --model."
)
_FORMAT = absl_flags.DEFINE_enum(
    "format",
    "saved_model",
    ["saved_model", "onnx", "litert"],
    "File format; onnx needs the extra elu-zoo[onnx], litert needs elu-zoo[litert].",
)
_QUANTIZE = absl_flags.DEFINE_enum(
    "quantize", None, versions.QUANTIZATIONS, "Makes a LiteRT file smaller. Default: float32."
)
_VERSION = absl_flags.DEFINE_integer(
    "version", None, "Version number; by default the next free number.", lower_bound=1
)
_REPLACE = absl_flags.DEFINE_bool(
    "replace", False, "Replace the current version even if it has other weights."
)
flags.define_model()
absl_flags.mark_flags_as_required(["model", "weights"])


def check(argv: list[str]) -> None:
    early.check_flags(argv)
    versions.check_name(_name())
    versions.check_quantize(_QUANTIZE.value, _FORMAT.value)


def _name() -> str:
    return absl_flags.FLAGS.model if _NAME.value is None else _NAME.value


def main(_: list[str]) -> None:
    values, name = absl_flags.FLAGS, _name()

    from elu_zoo import zoo
    from elu_zoo.export import interchange, origin, predictor, saved_model
    from elu_zoo.export.target import Target

    weights = flags.pretrained()
    version = {"version": _VERSION.value, "replace": _REPLACE.value}
    version["source"] = origin.of_weights(weights)
    export, file = saved_model.export_saved_model, versions.SAVED_MODEL
    if _FORMAT.value != "saved_model":
        export = functools.partial(interchange.export_interchange, format=_FORMAT.value)
        file = interchange.FORMATS[_FORMAT.value].file
    Target(_EXPORT_DIR.value, name, file, **version).check()

    model = zoo.get_model(values.model, weights=weights)
    described = predictor.description(model, values.model, weights)
    if _FORMAT.value != "saved_model":
        del described["classifier"]  # only for the signature `features`
        described["quantize"] = _QUANTIZE.value
    path = export(model, _EXPORT_DIR.value, name=name, **version, **described)
    print(path)


def run() -> None:
    flags.run(main, check)


if __name__ == "__main__":
    run()
