"""elu-zoo-predict --prefetch: downloads and errors."""

import loopback
import published_weights as made_weights
import pytest

from elu_zoo.weights import manifest


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Tags of two weight files by activation; only the file of relu is on the disk."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    content = {}

    class Handler(loopback.Handler):
        def do_GET(self):
            self.answer(content[self.path[1:]])

    with loopback.serve(Handler) as server:
        made = [
            made_weights.make(activation=name, sources=[server.address]) for name in ("relu", "elu")
        ]
        made_weights.publish(monkeypatch, tmp_path / "home", *made)
        tags = {e["arguments"]["activation"]["name"]: e["tag"] for e, _, _ in made}
        for entry, data, _ in made:
            content[entry["tag"] + manifest.SUFFIX] = data
        path(tmp_path, tags["elu"]).unlink()
        yield tags


def path(folder, tag):
    return folder / "home" / "weights" / (tag + manifest.SUFFIX)


def test_missing_weights_are_downloaded(cli, published, tmp_path):
    paths = [path(tmp_path, published[name]) for name in ("elu", "relu")]
    result = cli("predict", "--prefetch=mnist_mlp_*")
    assert (result.code, result.err) == (0, "")
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


def test_a_failed_download_is_an_error(cli, tmp_path, monkeypatch):
    made = made_weights.make(sources=["http://127.0.0.1:1"])
    made_weights.publish(monkeypatch, tmp_path / "home", made)
    path(tmp_path, made[0]["tag"]).unlink()
    result = cli("predict", "--prefetch=*")
    assert result.code == 1
    assert "Connection refused" in result.error
