"""Exports a model with its weights as a SavedModel, an ONNX or a LiteRT file.

elu-zoo-export --model=mnist_mlp_8x128 --weights=mnist --export_dir=exports

The export is <export_dir>/<name>/<version>/. A server loads the highest version.
"""

import functools

from absl import flags as absl_flags

from elu_zoo.bin import early, flags
from elu_zoo.export import versions

flags.define_path("export_dir", None, "Folder for <name>/<version>/.", required=True)
absl_flags.DEFINE_string("name", None, "Name on a server; by default the value of --model.")
_FORMATS = ["saved_model", "onnx", "litert"]
absl_flags.DEFINE_enum("format", "saved_model", _FORMATS, "Needs elu-zoo[onnx], elu-zoo[litert].")
absl_flags.DEFINE_enum("quantize", None, versions.QUANTIZATIONS, "Makes a LiteRT file smaller.")
absl_flags.DEFINE_integer("version", None, "Version; by default the next free number.", 1)
absl_flags.DEFINE_bool("replace", False, "Replace a version that has other weights.")
flags.define_model()
absl_flags.mark_flags_as_required(["model", "weights"])


def check(argv: list[str]) -> None:
    values = absl_flags.FLAGS
    early.check_flags(argv)
    versions.check_name(values.model if values.name is None else values.name)
    versions.check_quantize(values.quantize, values.format)


def main(_: list[str]) -> None:
    from elu_zoo import zoo
    from elu_zoo.export import interchange, origin, predictor, saved_model
    from elu_zoo.export.target import Target

    values, weights = absl_flags.FLAGS, flags.pretrained()
    name = values.name or values.model
    version = {"version": values.version, "replace": values.replace}
    version["source"] = origin.of_weights(weights)
    is_saved_model = values.format == "saved_model"
    file = versions.SAVED_MODEL if is_saved_model else interchange.FORMATS[values.format].file
    Target(values.export_dir, name, file, **version).check()

    model = zoo.get_model(values.model, weights=weights)
    described = predictor.description(model, values.model, weights)
    export = saved_model.export_saved_model
    if not is_saved_model:
        export = functools.partial(interchange.export_interchange, format=values.format)
        del described["classifier"]  # only for the signature `features`
        described["quantize"] = values.quantize
    print(export(model, values.export_dir, name=name, **version, **described))


run = flags.binary(main, check)

if __name__ == "__main__":
    run()
