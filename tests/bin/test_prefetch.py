"""elu-zoo-predict --prefetch: downloads and errors."""

import hub_stand_in
import published_weights as made_weights
import pytest

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
    result = cli("predict", "--prefetch=mnist_mlp_*")
    assert result.code == 0
    assert result.out == "".join(f"{p}\n" for p in paths)
    assert all(p.is_file() for p in paths)
    result = cli("predict", "--prefetch", published["relu"])
    assert (result.code, result.out) == (0, f"{paths[1]}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a.png"], 2, "without other flags and arguments. Received: a.png."),
        (["--model=x", "--json", "a"], 2, "arguments. Received: --json --model a."),
        (["--prefetch=mnist_mpl*"], 2, "Unknown weights 'mnist_mpl*'. Did you mean"),
        (["--prefetch="], 2, "Unknown weights ''."),
    ],
)
def test_a_mistake_is_refused(cli, published, arguments, code, message):
    result = cli("predict", "--prefetch=*", *arguments)
    assert result.code == code and message in result.error


def test_a_failed_download_is_an_error(cli, published, tmp_path, monkeypatch):
    made = made_weights.make(sources=["hf:owner/absent"])
    made_weights.publish(monkeypatch, tmp_path / "home", made)
    path(tmp_path, made[0]["tag"]).unlink()
    result = cli("predict", "--prefetch=*")
    assert result.code == 1
    assert "hf:owner/absent was not read" in result.error
