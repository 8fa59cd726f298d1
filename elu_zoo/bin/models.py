"""Lists networks and weights that fit a pattern, prints model cards, downloads weights.

elu-zoo-models cifar100
elu-zoo-models elu_cifar_11.cifar100_elu-defd2541 --card
elu-zoo-models 'mnist_mlp_*' --fetch
"""

from absl import flags as absl_flags

from elu_zoo import errors, registry, results
from elu_zoo.bin import flags, table
from elu_zoo.weights import card, fetch, manifest

absl_flags.DEFINE_string("data", None, "Only weights that were trained on this data set.")
absl_flags.DEFINE_bool("card", False, "Print cards, of weights or of the run in a folder.")
absl_flags.DEFINE_bool("fetch", False, "Download the weight files and print their paths.")


def check(argv: list[str]) -> None:
    """Checks that there is one pattern at most, and --data."""
    flags.no_arguments(argv[1:])
    if (data := absl_flags.FLAGS.data) is not None:
        datasets = sorted({entry["dataset"] for entry in manifest.published().values()})
        errors.check_choice("data set", data, datasets)


def main(argv: list[str]) -> None:
    values, pattern = absl_flags.FLAGS, argv[1] if argv[1:] else "*"
    listed = manifest.published()
    known = [tag for tag in listed if values.data in (None, listed[tag]["dataset"])]
    is_folder = "/" in pattern or not pattern.strip(".")
    names, tags = manifest.matching(registry.names(), pattern), manifest.matching(known, pattern)
    tags += [tag for tag in known if listed[tag]["model"] in names]
    tags = [] if values.card and is_folder else manifest.matching({*tags}, "*")
    if values.data and not tags:
        raise errors.unknown_name_error("weights", pattern, known)
    if values.card:
        for tag in tags or [pattern]:  # it may be a folder
            card.model_card(tag)
    if values.fetch:
        paths = [path for tag in tags or [pattern] for path in fetch.fetch_weights(tag)]
        print(*dict.fromkeys(paths), sep="\n")
    if values.card or values.fetch:
        return
    trained = {entry["model"] for entry in listed.values()}
    rows = [_row(listed[tag]) for tag in tags]
    rows += [{"network": name} for name in names if not (values.data or name in trained)]
    if not rows:
        raise errors.unknown_name_error("network or weights", pattern, registry.names())
    table.show(rows)


def _row(entry: manifest.Entry) -> dict[str, str]:
    return {
        "network": entry["model"],
        "data": entry["dataset"],
        "test error": results.file_error(entry).value,
        "recipe": f"{entry['schedule']}, {entry['epochs']} epochs",
        "MB": f"{entry['bytes'] / 1e6:.2g}",
        "weights": entry["tag"],
    }


run = flags.binary(main, check, imports=False)

if __name__ == "__main__":
    run()
