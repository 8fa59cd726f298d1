"""Puts the numbers of configs/ into README.md, and the model cards into configs/.

python tools/results_table.py           writes the tables and the cards
python tools/results_table.py --check   fails where they are not up to date
"""

import csv
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from absl import app, flags

from elu_zoo import cards, errors, files, results
from elu_zoo.benchmark import report
from elu_zoo.experiments import report as reproduction
from elu_zoo.weights import entries

_ROOT = Path(__file__).resolve().parent.parent
_CHECK = flags.DEFINE_bool("check", False, "Write nothing; exit 1 if out of date.")
_MARKS = "<!-- {}: begin (tools/results_table.py) -->", "<!-- {}: end -->"
_SPEED = (
    *("machine", "step", "unit", "memory", "op", "schraudolph", "inference"),
    *("serving", "start_up"),
)
_FINETUNED = re.compile(r"finetune-\w+-(?P<weights>\w+)-(?P<labels>\d+)@cifar10")
# Fine-tuned networks have a table of their own, depths a figure.
_ELSEWHERE = re.compile("finetune-|mnist_depth-")
_ORDER = ["elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu"]
_CARDS = f"""# Model cards

Written by `python tools/results_table.py` from the entries beside the weights and from
[results.csv](results.csv), as `elu_zoo.model_card(tag)` prints them. "This file" is the
error of a file's weights on the test images and Wilson's 95 % interval, for the draw of
those images; "its recipe" is the mean ± standard deviation of all runs that differ by
the seed alone and Student's 95 % interval of the mean, for the draw of the seeds.

{cards.LICENCE}

| weights | this file | its recipe | the paper | schedule | size |
|---|---|---|---|---|---|"""

Rows = list[dict[str, str]]


def table(rows: Rows, paper: Rows) -> str:
    """Returns one Markdown row for each config, activation and normalisation.

    Runs of a part of their schedule are left out.

    Args:
        rows: of configs/results/results.csv.
        paper: of configs/results/paper.csv, the paper's own figures.
    """
    groups = defaultdict(list)
    for row in rows:
        key = row["config"], row["dataset"], row["batch_norm"], row["activation"]
        if not _ELSEWHERE.match(row["config"]) and float(row["schedule_share"]) == 1:
            groups[key].append(row)
    lines = [
        "| config | data | activation | runs | test error | the paper's | "
        "training loss | schedule |",
        "|---|---|---|---|---|---|---|---|",
    ]
    place = {name: index for index, name in enumerate(_ORDER)}
    for key in sorted(groups, key=lambda k: (*k[:3], place.get(k[3], 99), k[3])):
        config, dataset, batch_norm, activation = key
        runs = groups[key]
        name = activation + " + batch norm" * (batch_norm == "True")
        schedules = {schedule(run) for run in runs}
        losses = statistics.mean(float(r["train_loss"]) for r in runs)
        lines.append(
            f"| {config} | {dataset} | {name} | {len(runs)} | "
            f"{error(runs)} | {published(runs[0], paper)} | {losses:.3g} | "
            f"{' / '.join(sorted(schedules))} |"
        )
    return "\n".join(lines)


def finetuned(rows: Rows) -> str:
    """Returns the errors of fine-tuned networks, a row for each number of labels.

    The last column is the mean difference between runs of one seed, ELU's body minus
    ReLU's, with Student's 95 % interval.

    Args:
        rows: of results.csv; others than of the config finetune are left out.
    """
    arms = defaultdict(dict)  # (number of labels, weights, activation): error by seed
    for row in rows:
        if found := _FINETUNED.fullmatch(row["config"]):
            key = int(found["labels"]), found["weights"], row["activation"]
            arms[key][row["seed"]] = float(row["test_error_percent"])
    kinds = sorted({key[1:] for key in arms})
    titles = [f"from {w}, {a}".replace("none", "nothing") for w, a in kinds]
    pair = [("cifar100", "elu"), ("cifar100", "relu")]
    lines = [
        f"| labels | runs | {' | '.join(titles)} | elu - relu |",
        "|---|---" + "|---" * len(titles) + "|---|",
    ]
    for labels in sorted({key[0] for key in arms}):
        of_labels = [arms[labels, *kind] for kind in kinds]
        means = [spread(list(runs.values())) + " %" for runs in of_labels]
        elu, relu = (arms[labels, *kind] for kind in pair)
        differences = [elu[seed] - relu[seed] for seed in elu if seed in relu]
        low, high = results.student(differences)
        mean = statistics.mean(differences)
        counts = " / ".join(sorted({str(len(runs)) for runs in of_labels}))
        lines.append(
            f"| {labels:,} | {counts} | {' | '.join(means)} | "
            f"{mean:+.2f} ({low:+.2f} to {high:+.2f}) |"
        )
    return "\n".join(lines)


def error(runs: Rows) -> str:
    """Returns what the runs measure on the test images, with its unit."""
    if runs[0].get("test_squared_error"):
        return spread([float(r["test_squared_error"]) for r in runs]) + ", squared"
    return spread([float(r["test_error_percent"]) for r in runs]) + " %"


def schedule(run: Mapping[str, Any]) -> str:
    """Returns whose schedule a run followed, how long, and what share of it that is.

    Args:
        run: a row of configs/results/results.csv, or an entry.
    """
    share = float(run["schedule_share"])
    part = f" ({share:.0%} of it)" if share < 1 else ""
    return f"{run['schedule']}, {run['epochs']} epochs{part}"


def published(run: dict[str, str], paper: Rows) -> str:
    """Returns the paper's own figure for what a run is, "" where it has none."""
    row = results.published(run, paper)
    return results.published_error(row) if row else ""


def spread(values: list[float]) -> str:
    """Returns `mean ± standard deviation`, or the value of a single run."""
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"


def speed(part: str, rows: list[report.Row]) -> str:
    """Returns what was measured of a part of the benchmark, in Markdown.

    Args:
        part: `machine`, `schraudolph`, or a part of elu-zoo-benchmark.
        rows: of configs/results/benchmark.csv.
    """
    if part == "machine":
        return f"Measured on: {rows[0].machine}."
    if part == "schraudolph":
        found = {row.form: row for row in rows if row.unit == "largest error"}
        ours, other = found["ours, XLA"], found["Schraudolph's exponential, XLA"]
        return (
            f"Largest errors: ours {ours.value:.1g}, Schraudolph's {other.value:.1g}."
        )
    if part == "serving":
        shown = [r for r in rows if r.case.endswith((" 1 client", "s, throughput"))]
        return report.markdown_of_values(r for r in shown if r.part == part)
    chosen = [r for r in rows if r.part == part and r.unit in ("ms", "MiB")]
    # Of the smaller tensors the file tells.
    largest = [row for row in chosen if "1e7" in row.case]
    return report.markdown(largest if part == "op" else chosen)


def survived(rows: Rows) -> str:
    """Returns what reliability.csv counts, in Markdown, a line a fault."""
    counts: dict[str, dict[str, list[int]]] = {}
    for row in rows:
        what = row["what"].partition(", ")[0]  # of whatever kind of run
        found = counts.setdefault(row["fault"], {}).setdefault(what, [0, 0])
        found[0] += int(row["as_promised"])
        found[1] += int(row["tried"])
    return "\n".join(
        f"- **{fault}**: "
        + "; ".join(f"{what} {good} of {tried}" for what, (good, tried) in of.items())
        for fault, of in counts.items()
    )


def between(text: str, name: str, content: str) -> str:
    """Returns a text with what stands between the marks of a name made anew."""
    begin, end = (mark.format(name) for mark in _MARKS)
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise errors.UsageError(f"README.md has no marks {begin} and {end}.")
    return f"{before}{begin}\n{content}\n{end}{after}"


def updated(readme: str, rows: Rows, paper: Rows, times: list[report.Row]) -> str:
    """Returns the README with its tables made anew."""
    readme = between(readme, "results", table(rows, paper))
    readme = between(readme, "finetune", finetuned(rows))
    for part in _SPEED:
        readme = between(readme, part, speed(part, times))
    return readme


def card_page(rows: Rows, paper: Rows) -> str:
    """Returns cards.md: a table of the published weights, and their cards."""
    published = [entries.manifest()[tag] for tag in entries.list_weights()]
    # A card's title is a section of this page. Made first: they check the entries.
    sections = [re.sub("(?m)^#", "##", cards.text(e, rows)) for e in published]
    lines = []
    for entry in published:
        tag, file = entry["tag"], results.of_file(entry)
        anchor = tag.lower().replace(".", "")
        recipe = results.of_recipe(entry, rows)
        theirs = results.of_paper(entry, paper)
        lines.append(
            f"| [{tag}](#{anchor}) | {_cell(file)} | {_cell(recipe)} | {theirs.value} "
            f"| {schedule(entry)} | {entry['bytes'] / 1e6:.1f} MB |"
        )
    return "\n".join([_CARDS, *lines, "", *sections])


def _cell(found: results.Measured) -> str:
    return f"{found.value} ({found.interval})" if found.interval else found.value


def made(root: Path) -> dict[Path, str]:
    """Returns what the generated files of a repository are to hold."""
    measured = root / "configs" / "results"
    rows, paper, survival, judged = (
        list(csv.DictReader((measured / name).read_text().splitlines()))
        for name in ("results.csv", "paper.csv", "reliability.csv", "claims.csv")
    )
    times = report.read(measured / "benchmark.csv")
    readme = root / "README.md"
    text = updated(readme.read_text(), rows, paper, times)
    return {
        readme: between(
            between(text, "reliability", survived(survival)),
            "claims",
            reproduction.tally(judged, "configs/results/reproduction.md"),
        ),
        measured / "cards.md": card_page(rows, paper),
    }


def stale(root: Path) -> list[str]:
    """Returns the names of the generated files that are not up to date."""
    return [
        str(path.relative_to(root))
        for path, text in made(root).items()
        if not path.is_file() or path.read_text() != text
    ]


def main(argv: list[str]) -> None:
    if _CHECK.value:
        names = stale(_ROOT)
        remedy = "Run python tools/results_table.py."
        sys.exit(f"Not up to date: {', '.join(names)}. {remedy}" if names else 0)
    for path, text in made(_ROOT).items():
        files.write_bytes(path, text.encode())


if __name__ == "__main__":
    app.run(main)
