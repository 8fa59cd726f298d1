"""The scripts that turn finished runs into rows, weights and the README's table."""

import csv
import json
import re
import shutil

import pytest
from scripts import TOOLS, release_weights, results_table

from elu_zoo import cards, errors, files, results
from elu_zoo.benchmark import report
from elu_zoo.weights import entries


def entry(sha256="a" * 64, seed=0, smoke=False):
    arguments = {"activation": {"name": "elu", "alpha": 1.0}, "batch_norm": False}
    content = b"weights"
    return {
        **dict.fromkeys(entries.FIELDS),
        "format": entries.FORMAT,
        "tag": entries.tag("mnist_mlp_8x128", "mnist", arguments, sha256),
        "model": "mnist_mlp_8x128",
        "dataset": "mnist",
        "arguments": arguments,
        "preprocessing": {},
        "classes": [],
        "sha256": sha256,
        "bytes": len(content),
        "config": {"name": "mnist_mlp_8x128", "smoke": smoke},
        "schedule": "paper",
        "schedule_share": 1.0,
        "epochs": 300,
        "seed": seed,
        "step": 20,
        "metrics": {
            "test_error_percent": 2.5 + seed,
            "test_loss": 0.1,
            "validation_error_percent": 2.0,
            "validation_loss": 0.2,
        },
        "wall_time_seconds": 120.0,
    }


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Points the scripts at an empty repository."""
    monkeypatch.setattr(release_weights, "_RESULTS", tmp_path / "results.csv")
    monkeypatch.setattr(release_weights, "_WEIGHTS", tmp_path / "weights")
    (tmp_path / "weights").mkdir()
    return tmp_path


def workdir(folder, made):
    """Makes the folder of a finished run with this entry."""
    folder.mkdir()
    rows = [{"step": 10, "train_loss": 0.9}, {"step": 20, "train_loss": 0.5}]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metrics.jsonl").write_text(text)
    (folder / (made["tag"] + entries.SUFFIX)).write_bytes(b"weights")
    return folder


def test_a_row_holds_the_last_training_loss_and_the_config_name(repository):
    folder = workdir(repository / "run", entry())
    row = results.row(folder, entry())
    of_images = {"validation_squared_error", "test_squared_error"}
    assert set(row) == set(results.COLUMNS) - of_images
    assert (row["train_loss"], row["config"]) == (0.5, "mnist_mlp_8x128")
    assert (row["test_error_percent"], row["steps"]) == (2.5, 20)


def test_rows_are_sorted_by_seed_and_a_run_is_added_once(repository):
    folder = workdir(repository / "run", entry())
    for seed, sha256 in ((1, "b" * 64), (0, "a" * 64), (1, "b" * 64)):
        results.add(release_weights._RESULTS, results.row(folder, entry(sha256, seed)))
    rows = list(csv.DictReader((repository / "results.csv").read_text().splitlines()))
    assert [row["seed"] for row in rows] == ["0", "1"]


def test_shipping_copies_the_file_and_lists_it(repository):
    made = entry()
    release_weights.ship(workdir(repository / "run", made), made)
    weights = repository / "weights"
    assert (weights / (made["tag"] + entries.SUFFIX)).read_bytes() == b"weights"
    listed = json.loads((weights / "manifest.json").read_text())["entries"]
    assert listed[made["tag"]] == entries.read(weights / f"{made['tag']}.json")


def test_smoke_runs_and_too_many_bytes_are_refused(repository, monkeypatch):
    smoke = entry(smoke=True)
    folder = workdir(repository / "run", smoke)
    with pytest.raises(errors.UsageError, match="smoke"):
        release_weights.ship(folder, smoke)
    monkeypatch.setattr(release_weights, "_LIMIT_BYTES", 6)
    with pytest.raises(errors.ResourceError, match="7 bytes.*6 is the limit"):
        release_weights.ship(folder, entry())
    assert list((repository / "weights").iterdir()) == []


def test_statistics_ship_with_the_weights_that_name_them(repository):
    made = entry()
    made["preprocessing"] = {"kind": "gcn_zca", "statistics": "images_zca-0"}
    folder = workdir(repository / "run", made)
    with pytest.raises(errors.UsageError, match="images_zca-0, which do not"):
        release_weights.ship(folder, made)
    (repository / "weights" / "images_zca-0.npz").touch()
    release_weights.ship(folder, made)
    assert (repository / "weights" / (made["tag"] + entries.SUFFIX)).is_file()


def test_a_row_of_an_autoencoder_leaves_the_error_open(repository):
    images = entry()
    images["metrics"] = {"test_squared_error": 4.1, "test_loss": 60.0}
    folder = workdir(repository / "run", images)
    results.add(release_weights._RESULTS, results.row(folder, images))
    (row,) = csv.DictReader((repository / "results.csv").read_text().splitlines())
    assert (row["test_squared_error"], row["test_error_percent"]) == ("4.1", "")


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([{"test_error_percent": "2.5"}], "2.50 %"),
        ([{"test_error_percent": "2"}, {"test_error_percent": "3"}], "2.50 ± 0.71 %"),
        ([{"test_error_percent": "", "test_squared_error": "4"}], "4.00, squared"),
    ],
)
def test_error(runs, text):
    assert results_table.error(runs) == text


@pytest.mark.parametrize(
    ("values", "text"), [([2.5], "2.50"), ([2.0, 3.0], "2.50 ± 0.71")]
)
def test_spread(values, text):
    assert results_table.spread(values) == text


def test_the_table_joins_the_seeds_of_an_activation(repository):
    folder = workdir(repository / "run", entry())
    rows = [
        {k: str(v) for k, v in results.row(folder, entry(s, seed)).items()}
        for seed, s in enumerate("ab")
    ]
    last = results_table.table(rows, []).splitlines()[-1]
    assert "| elu | 2 | 3.00 ± 0.71 % |  | 0.5 | paper, 300 epochs |" in last


@pytest.mark.parametrize(
    ("share", "text"),
    [("1.0", "fast, 24 epochs"), ("0.25", "fast, 24 epochs (25% of it)")],
)
def test_schedule(share, text):
    run = {"schedule": "fast", "epochs": "24", "schedule_share": share}
    assert results_table.schedule(run) == text


RUN = {
    "model": "elu_cifar_11",
    "dataset": "cifar100",
    "activation": "relu",
    "batch_norm": "False",
}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "31.56 ± 0.37 %"),
        ({"model": "elu_cifar_18", "activation": "elu"}, "24.28 %"),
        ({"model": "mnist_mlp_8x128"}, ""),
        ({"dataset": "cifar10"}, ""),
        ({"activation": "tanh"}, ""),
        ({"batch_norm": "True"}, ""),
    ],
)
def test_the_papers_figure(changed, text):
    paper = (TOOLS.parent / "configs/results/paper.csv").read_text().splitlines()
    rows = list(csv.DictReader(paper))
    assert results_table.published({**RUN, **changed}, rows) == text


def test_fine_tuned_runs_have_a_table_of_their_own():
    """Errors 30, 31, 32 with ELU, of the same seeds 33, 35, 34 with ReLU."""
    errors_of = {
        ("cifar100", "elu"): (30, 31, 32),
        ("cifar100", "relu"): (33, 35, 34),
        ("none", "elu"): (60, 60, 63),
    }
    rows = [
        {
            **RUN,
            "config": f"finetune-elu_cifar_11-{weights}-5000@cifar10",
            "activation": activation,
            "seed": str(seed),
            "test_error_percent": str(error),
        }
        for (weights, activation), values in errors_of.items()
        for seed, error in enumerate(values)
    ]
    title, _, row = results_table.finetuned(
        [{**RUN, "config": "other"}, *rows]
    ).splitlines()
    assert title == (
        "| labels | runs | from cifar100, elu | from cifar100, relu | "
        "from nothing, elu | elu - relu |"
    )
    # Of -3, -4, -2: the deviation is 1, t of two degrees of freedom is 4.303.
    half = 4.30265 / 3**0.5
    assert row == (
        "| 5,000 | 3 | 31.00 ± 1.00 % | 34.00 ± 1.00 % | 61.00 ± 1.73 % | "
        f"-3.00 ({-3 - half:+.2f} to {-3 + half:+.2f}) |"
    )
    assert results_table.table(rows[:-1], []).count("\n") == 1


def test_only_the_text_between_the_marks_changes():
    begin, end = (mark.format("results") for mark in results_table._MARKS)
    readme = f"before\n{begin}\nold\n{end}\nafter\n"
    changed = results_table.between(readme, "results", "new")
    assert changed == f"before\n{begin}\nnew\n{end}\nafter\n"


@pytest.mark.parametrize("index", [0, 1])
def test_a_readme_without_marks(index):
    marks = [mark.format("unit") for mark in results_table._MARKS]
    with pytest.raises(errors.UsageError, match="no marks <!-- unit: begin"):
        results_table.between(marks[index], "unit", "new")


def timed(part, case, form, ratio, unit="ms"):
    times = unit, 40, 2.0 * ratio, 1.0, 3.0
    return report.Row(part, case, form, *times, "ours, XLA", ratio, 0.5, 7.0, "a CPU")


TIMES = [
    timed("op", "forward, 1e6 elements", "relu", 0.4),
    timed("op", "forward, 1e7 elements", "relu", 0.5),
    timed("op", "errors", "ours, XLA", 1.0, "largest error"),
    timed("op", "errors", "Schraudolph's exponential, XLA", 1.5, "largest error"),
    timed("memory", "a net", "elu", 1.25, "MiB"),
    timed("step", "a net", "elu", 1.5),
    timed("serving", "a net, 1 client", "gRPC", 1.5),
    timed("serving", "a net, 1 client, p99", "gRPC", 3.5),
    timed("serving", "a net, 8 clients", "gRPC", 2.5),
    timed("serving", "a net, 8 clients, throughput", "gRPC", 60.0, "1/s"),
]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("machine", "Measured on: a CPU."),
        ("schraudolph", "Largest errors: ours 2, Schraudolph's 3."),
        ("memory", "| | a net |\n|---|---|\n| elu | 1.25 (0.50 to 7.00) |"),
        ("step", "| | a net |\n|---|---|\n| elu | 1.50 (0.50 to 7.00) |"),
        (
            "op",
            "| | forward, 1e7 elements |\n|---|---|\n| relu | 0.50 (0.50 to 7.00) |",
        ),
        (
            "serving",
            "| | a net, 1 client (ms) | a net, 8 clients, throughput (1/s) |\n"
            "|---|---|---|\n| gRPC | 3 | 120 |",
        ),
    ],
)
def test_speed(part, expected):
    assert results_table.speed(part, TIMES) == expected


def test_the_committed_files_are_up_to_date():
    root = TOOLS.parent
    assert [path.relative_to(root).as_posix() for path in results_table.made(root)] == [
        "README.md", "configs/results/cards.md",
    ]  # fmt: skip
    assert results_table.stale(root) == []


@pytest.fixture
def copy(tmp_path):
    """A copy of what the generated files are made of, and of themselves."""
    for name in ("README.md", "configs"):
        source = TOOLS.parent / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name", ["README.md", "configs/results/cards.md"])
def test_a_changed_file_is_found(copy, name):
    text = (copy / name).read_text()
    (copy / name).write_text(text.replace("±", "+"))
    assert results_table.stale(copy) == [name]


def test_a_missing_card_page_is_found(copy):
    (copy / "configs/results/cards.md").unlink()
    assert results_table.stale(copy) == ["configs/results/cards.md"]


@pytest.mark.parametrize("field", ["examples", "multiply_accumulates", "hardware"])
def test_an_entry_without_a_field_of_its_card_fails_the_check(copy, field, monkeypatch):
    tag, entry = next(iter(entries.manifest().items()))
    less = {key: value for key, value in entry.items() if key != field}
    monkeypatch.setattr(entries, "manifest", lambda: {tag: less})
    with pytest.raises(errors.CorruptError, match=f"{tag} lacks {field}, which"):
        results_table.stale(copy)


def test_the_card_page_has_a_linked_section_for_every_file():
    page = (TOOLS.parent / "configs/results/cards.md").read_text()
    titles = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert titles == entries.list_weights()
    # As GitHub and others make anchors of titles.
    anchors = [re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles]
    assert re.findall(r"^\| \[.*?\]\(#(.*?)\)", page, re.MULTILINE) == anchors
    assert len(re.findall(r"^### Limits$", page, re.MULTILINE)) == len(titles)


@pytest.mark.parametrize("name", ["README.md", "configs/results/cards.md"])
def test_the_licence_is_said_in_the_same_words(name):
    text = " ".join((TOOLS.parent / name).read_text().split())
    assert text.count(cards.LICENCE) == 1


def test_every_shipped_file_has_its_row_in_the_results():
    text = (TOOLS.parent / "configs/results/results.csv").read_text()
    rows = {row["sha256"]: row for row in csv.DictReader(text.splitlines())}
    for shipped in entries.manifest().values():
        row = rows[shipped["sha256"]]
        for name, value in shipped["metrics"].items():
            assert float(row[name]) == value
        assert row["commit"] == shipped["commit"]


def test_files_are_written_whole(repository, monkeypatch):
    folder = workdir(repository / "run", entry())
    results.add(release_weights._RESULTS, results.row(folder, entry()))
    before = (repository / "results.csv").read_bytes()

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        results.add(release_weights._RESULTS, results.row(folder, entry("c" * 64, 2)))
    assert (repository / "results.csv").read_bytes() == before
