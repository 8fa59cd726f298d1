"""Exports a model with its weights, as a SavedModel, for ONNX Runtime or LiteRT.

elu-zoo-export --model=mnist_mlp_8x128 --weights=mnist --export_dir=exports
"""

import functools

from absl import flags as absl_flags

from elu_zoo.bin import flags

_EXPORT_DIR = absl_flags.DEFINE_string(
    "export_dir", None, "Gets <model>/<version>/.", required=True
)
_FORMAT = absl_flags.DEFINE_enum(
    "format",
    "saved_model",
    ["saved_model", "onnx", "litert"],
    "What is written; all but a SavedModel needs the extra of its name.",
)
_VERSION = absl_flags.DEFINE_integer(
    "version", None, "The next free one by default.", lower_bound=1
)
flags.define(*flags.OF_MODELS)
absl_flags.mark_flags_as_required(["model", "weights"])


def main(argv: list[str]) -> None:
    flags.no_arguments(argv)
    values = absl_flags.FLAGS

    from elu_zoo import zoo
    from elu_zoo.export import origin, predictor
    from elu_zoo.export.interchange import export_interchange
    from elu_zoo.export.saved_model import export_saved_model

    arguments = flags.weights_arguments()
    model = zoo.get_model(values.model, **arguments)
    described = predictor.description(model, values.model, **arguments)
    export = export_saved_model
    if _FORMAT.value != "saved_model":
        export = functools.partial(export_interchange, format=_FORMAT.value)
        del described["classifier"]  # of the signature `features`
    path = export(
        model,
        _EXPORT_DIR.value,
        name=values.model,
        source=origin.of_weights(values.model, **arguments),
        version=_VERSION.value,
        **described,
    )
    print(path)


def run() -> None:
    flags.run(main)


if __name__ == "__main__":
    run()
