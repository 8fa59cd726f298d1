"""Lists networks and weights that fit a pattern, prints model cards, downloads weights.

elu-zoo-models cifar100
elu-zoo-models elu_cifar_11.cifar100_elu-defd2541 --card
elu-zoo-models 'mnist_mlp_*' --fetch
"""

import json

from absl import flags as absl_flags

from elu_zoo import errors, registry, results
from elu_zoo.bin import flags, table
from elu_zoo.weights import card, fetch, manifest

_DO = {
    "card": "Print the card of each weight file; instead of a pattern, a run's folder may be set.",
    "fetch": "Download the weight files and print their paths.",
    "json": "Print one JSON object per row.",
}
absl_flags.DEFINE_string("data", None, "Only weights that were trained on this data set.")
for _name, _help in _DO.items():
    absl_flags.DEFINE_bool(_name, False, _help)


def check(argv: list[str]) -> None:
    """Checks that at most one pattern and one of `_DO` are set."""
    flags.no_arguments(argv[1:])
    values = absl_flags.FLAGS
    if sum(values[name].value for name in _DO) > 1:
        raise errors.UsageError(f"Set one of --{', --'.join(_DO)}.")
    datasets = {entry["dataset"] for entry in manifest.published().values()}
    if values.data and values.data not in datasets:
        raise errors.unknown_name_error("data set", values.data, sorted(datasets))


def main(argv: list[str]) -> None:
    values, pattern = absl_flags.FLAGS, argv[1] if argv[1:] else "*"
    listed = manifest.published()
    entries = [listed[tag] for tag in manifest.list_weights(pattern)]
    entries = [entry for entry in entries if values.data in (None, entry["dataset"])]
    tags = [entry["tag"] for entry in entries] or [pattern]  # the functions below know more
    if values.card:
        for tag in tags:
            card.model_card(tag)
    elif values.fetch:
        paths = [path for tag in tags for path in fetch.fetch_weights(tag)]
        print(*dict.fromkeys(paths), sep="\n")
    else:
        rows = [_row(entry) for entry in entries]
        if not values.data:
            trained = {entry["model"] for entry in listed.values()}
            names = manifest.matching(registry.names(), pattern)
            rows += [{"network": name} for name in names if name not in trained]
        if not rows:
            raise errors.unknown_name_error("network or weights", pattern, registry.names())
        if values.json:
            print("\n".join(map(json.dumps, rows)))
        else:
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
