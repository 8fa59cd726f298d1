"""Exports a model with its weights as a SavedModel, an ONNX or a LiteRT file.

elu-zoo-export --model=mnist_mlp_8x128 --weights=mnist --export_dir=exports
elu-zoo-export --model=elu_cifar_11 --weights=runs/photos --push=hf:me/photos
"""

from absl import flags as absl_flags

from elu_zoo import errors
from elu_zoo.bin import early, flags
from elu_zoo.export import versions
from elu_zoo.weights import hub

flags.define_path("export_dir", None, "Folder for <name>/<version>/. Servers load the highest.")
absl_flags.DEFINE_string("push", None, "hf:owner/repo, to publish the run in --weights there.")
absl_flags.DEFINE_string("name", None, "Name on a server; by default the value of --model.")
absl_flags.DEFINE_enum("format", "saved_model", list(versions.FILES), "Extras: onnx, litert.")
absl_flags.DEFINE_enum("quantize", None, versions.QUANTIZATIONS, "Makes a LiteRT file smaller.")
absl_flags.DEFINE_integer("version", None, "Version; by default the highest plus 1.", 1)
absl_flags.DEFINE_bool("replace", False, "Add a version although the name has other weights.")
flags.define_model()
absl_flags.mark_flags_as_required(["model", "weights"])
absl_flags.mark_flags_as_mutual_exclusive(["export_dir", "push"], required=True)


def check(argv: list[str]) -> None:
    values = absl_flags.FLAGS
    early.check_flags(argv)
    if values.push:
        hub.check(values.push, revision=False)
        others = "name", "format", "quantize", "version", "replace"
        if unused := [f"--{flag}" for flag in others if values[flag].present]:
            raise errors.UsageError(f"--push publishes weights. Remove {', '.join(unused)}.")
    versions.check_name(values.model if values.name is None else values.name)
    versions.check_format(values.format, values.quantize)


def main(_: list[str]) -> None:
    from elu_zoo import zoo
    from elu_zoo.export import interchange, origin, predictor, release, saved_model
    from elu_zoo.export.target import Target

    values, weights = absl_flags.FLAGS, flags.pretrained()
    if values.push:
        return print(release.push_weights(weights.path, values.push))
    name, file = values.name or values.model, versions.FILES[values.format]
    version: dict = {"version": values.version, "replace": values.replace}
    version["source"] = origin.of_weights(weights)
    Target(values.export_dir, name, file, **version).check()
    model = zoo.get_model(values.model, weights=weights)
    described = predictor.description(model, values.model, weights)
    export = saved_model.export_saved_model
    if file != versions.SAVED_MODEL:
        export = interchange.export_interchange
        described |= {"format": values.format, "quantize": values.quantize}
        del described["classifier"]  # only for the signature `features`
    print(export(model, values.export_dir, name=name, **version, **described))


run = flags.binary(main, check)

if __name__ == "__main__":
    run()
