"""elu-zoo-models: lists, cards, downloads and errors; and --version."""

import hub_stand_in
import published_weights as made_weights
import pytest

from elu_zoo import registry
from elu_zoo.weights import manifest


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Tags of two weight files by activation; only the file of relu is on the disk."""
    names = "relu", "elu"
    made = [made_weights.make(activation=name, sources=["hf:owner/repo"]) for name in names]
    made_weights.publish(monkeypatch, tmp_path / "home", *made)
    tags = {name: entry["tag"] for name, (entry, _, _) in zip(names, made, strict=True)}
    with hub_stand_in.serve(tmp_path / "cache") as hub:
        for entry, content, _ in made:
            hub.files[entry["tag"] + manifest.SUFFIX] = content
        path(tmp_path, tags["elu"]).unlink()
        yield tags


def path(folder, tag):
    return folder / "home" / "weights" / (tag + manifest.SUFFIX)


def test_missing_weights_are_downloaded(cli, published, tmp_path):
    paths = [path(tmp_path, published[name]) for name in ("elu", "relu")]
    result = cli("models", "*_8x12?", "--fetch")
    assert result.code == 0
    assert result.out == "".join(f"{p}\n" for p in paths)
    assert all(p.is_file() for p in paths)
    result = cli("models", published["relu"], "--fetch")
    assert (result.code, result.out) == (0, f"{paths[1]}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "b.png"], "Unexpected arguments: b.png."),
        (["--data=mnits"], "Did you mean 'mnist'?"),
        (["nin", "--data=mnist", "--fetch"], "Unknown weights 'nin'. Known: mnist_mlp"),
        (["nett"], "Unknown network or weights 'nett'."),
        (["mnist_mpl*", "--fetch"], "Unknown weights 'mnist_mpl*'. Did you mean"),
        (["mnist_mpl", "--card"], "Unknown weights 'mnist_mpl'. Known: mnist_mlp"),
        (["--crad"], "Did you mean '--card'? Known: --card, --data, --debug, --fetch."),
    ],
)
def test_a_mistake_is_refused(cli, published, arguments, message):
    result = cli("models", *arguments)
    assert result.code == 2 and message in result.error


def test_networks_and_weights_are_listed(cli):
    _, _, _, *rows, _ = cli("models").out.splitlines()
    rows = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    tags = [row[-1] for row in rows if row[-1]]
    assert tags == manifest.list_weights()
    assert {row[0] for row in rows} == {*registry.names()}
    entry = manifest.published()[tags[0]]
    assert rows[0][2] == f"{entry['metrics']['test_error_percent']:.2f} %"
    of_mnist = cli("models", "mlp", "--data=mnist").out
    assert all((tag in of_mnist) == ("mlp" in tag) for tag in tags)
    assert "elu_imagenet_15" in cli("models", "elu_*").out


def test_cards_are_printed(cli, tmp_path, monkeypatch):
    card = cli("models", "nin.", "--card").out
    assert card.startswith(f"# {manifest.list_weights('nin.')[0]}")
    monkeypatch.chdir(tmp_path)
    assert cli("models", ".", "--card").code == 2  # the folder of no run


@pytest.mark.parametrize(("command", "code"), [("models", 0), ("serve", 0), ("export", 2)])
def test_version_is_printed_but_by_the_command_with_such_a_flag(cli, command, code):
    result = cli(command, "--version")
    assert result.code == code and ("elu_zoo" in result.out) == (code == 0)


def test_a_failed_download_is_an_error(cli, published, tmp_path, monkeypatch):
    made = made_weights.make(sources=["hf:owner/absent"])
    made_weights.publish(monkeypatch, tmp_path / "home", made)
    path(tmp_path, made[0]["tag"]).unlink()
    result = cli("models", "--fetch")
    assert result.code == 1
    assert "hf:owner/absent was not read" in result.error
