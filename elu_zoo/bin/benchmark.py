"""Times the ELU op, training and predictions against other libraries.

elu-zoo-benchmark                       everything (needs the extra serving), half an hour
elu-zoo-benchmark --parts=op,step --models=mnist_mlp_8x128 --rounds=5

Each round runs every implementation once. Printed times are medians over the rounds.
Printed ratios are medians of the ratios of two times in the same round, with a 95 %
bootstrap interval. Other load on the machine changes times and ratios.
"""

from absl import flags as absl_flags

from elu_zoo.bin import early, flags

_PARTS = "Some of op, fit, step, unit, replicas, inference, serving; by default all."
absl_flags.DEFINE_list("parts", None, _PARTS)
absl_flags.DEFINE_list("models", None, "By default two dense and one convolutional network.")
_SIZE = "Images per step; by default 64, for convolutional nets 100."
absl_flags.DEFINE_integer("batch_size", None, _SIZE, 1)
absl_flags.DEFINE_integer("rounds", None, "Rounds of each part; by default for a fixed time.", 1)
flags.define_path("csv", None, "CSV file for the results; only rows of measured cases change.")


def main(_: list[str]) -> None:
    from elu_zoo.benchmark import case, measuring, parts
    from elu_zoo.bin import table

    values = absl_flags.FLAGS
    scope = parts.Scope(values.models or case.MODELS, values.batch_size, values.rounds)
    measuring.run(values.parts, scope, values.csv, table.show)


run = flags.binary(main, early.check_networks)

if __name__ == "__main__":
    run()
