"""Every form of `weights=` selects an entry and a file, or raises an error."""

import os
from pathlib import Path

import published_weights as made_weights
import pytest

from elu_zoo import errors, registry, zoo
from elu_zoo.weights import fetch, manifest, pretrained

MODEL = made_weights.MODEL


@pytest.fixture(scope="module")
def runs():
    """Runs by name, as tuples (entry, bytes of the weight file, model)."""
    return {
        "elu": made_weights.make(),
        "relu": made_weights.make(activation="relu"),
        "elu_bn": made_weights.make(batch_norm=True),
        "foreign": made_weights.make(model="nin"),
    }


@pytest.fixture
def published(runs, tmp_path, monkeypatch):
    """Entries by name of the run, published except "foreign"; the cwd is empty."""
    made_weights.publish(monkeypatch, tmp_path / "home", runs["elu"], runs["relu"], runs["elu_bn"])
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    return {name: entry for name, (entry, _, _) in runs.items()}


def find(weights, model=MODEL, **arguments):
    return pretrained.find(model, weights, **arguments)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [({}, "elu"), ({"activation": {"name": "relu"}}, "relu"), ({"batch_norm": True}, "elu_bn")],
)
def test_arguments_select_the_weights(published, tmp_path, arguments, name):
    selected = find("mnist", **arguments)
    assert selected.entry == published[name]
    file = published[name]["tag"] + manifest.SUFFIX
    assert selected.path == tmp_path / "home" / "weights" / file


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("relu", {}, True),
        ("relu", {"activation": {"name": "elu"}}, False),
        ("relu", {"activation": {"name": "tanh"}}, False),
        ("relu", {"batch_norm": True}, False),
        ("elu_bn", {}, False),
    ],
)
def test_only_the_default_activation_gives_way(runs, tmp_path, monkeypatch, name, arguments, found):
    made_weights.publish(monkeypatch, tmp_path, runs[name])
    if found:
        assert find("mnist", **arguments).entry == runs[name][0]
        return
    with pytest.raises(errors.UsageError, match=f"no 'mnist' weights .*for: {name}"):
        find("mnist", **arguments)


def test_files_of_the_package_come_first(published, tmp_path, monkeypatch):
    package = tmp_path / "package" / "files"
    file = published["elu"]["tag"] + manifest.SUFFIX
    package.mkdir(parents=True)
    (package / file).write_bytes(b"")
    monkeypatch.setattr(fetch.resources, "files", lambda name: package.parent)
    assert find("mnist").path == package / file
    (package / file).unlink()
    assert find("mnist").path == tmp_path / "home" / "weights" / file
    (tmp_path / "home" / "weights" / file).unlink()
    with pytest.raises(errors.NotFoundError, match=f"neither in .*Copy {file} to"):
        find("mnist")


def test_a_published_name_hides_a_folder_of_the_same_name(published):
    for weights in ("mnist", published["elu"]["tag"]):
        Path(weights).mkdir()
        assert find(weights).entry == published["elu"]


def test_weights_are_found_by_file_or_folder(runs, tmp_path, published):
    entry, content, _ = runs["relu"]
    path = made_weights.write(tmp_path / "run", entry, content)
    relative = os.path.relpath(path)
    for form in (path, path.parent, str(path), relative, os.path.dirname(relative)):
        selected = find(form)
        assert (selected.path.resolve(), selected.entry) == (path, entry)


@pytest.mark.parametrize(
    ("weights", "word"),
    [("minst", "mean 'mnist'.*list_weights"), ("", "weights='mnist'"), (3, "type int")],
)
def test_unknown_names_are_refused(published, weights, word):
    kind = errors.UsageError if isinstance(weights, str) else errors.UsageTypeError
    with pytest.raises(kind, match=word):
        find(weights)


def test_weights_of_another_model_are_refused(runs, published, tmp_path):
    with pytest.raises(errors.UsageError, match="belong to the model .mnist_mlp_8x128"):
        find(published["elu"]["tag"], "nin")
    message = "weights of nin 'mnist'.*network with weights: mnist_mlp"
    with pytest.raises(errors.UsageError, match=message):
        find("mnist", "nin")
    path = made_weights.write(tmp_path / "run", *runs["foreign"][:2])
    with pytest.raises(errors.UsageError, match="'nin', not to 'mnist_mlp_8x128'"):
        find(path)


def test_the_outcome_names_the_weight_file_of_a_run(runs, tmp_path, published):
    """A run that was killed during the write of weights may leave a second file."""
    for name in ("elu", "relu"):
        path = made_weights.write(tmp_path / "run", *runs[name][:2])
    entry = path.with_name(published["relu"]["tag"] + ".json")
    (tmp_path / "run" / "outcome.json").write_text(entry.read_text())
    assert find(tmp_path / "run").entry == published["relu"]


def test_the_loss_comes_from_the_entry(monkeypatch, tmp_path):
    squared = made_weights.make(config={"train": {"loss": "half_squared_error"}})
    made_weights.publish(monkeypatch, tmp_path, squared)
    for weights in ("mnist", squared[0]["tag"]):
        assert find(weights).loss == "half_squared_error"


def test_without_an_entry_the_loss_comes_from_the_registry(tmp_path):
    zoo.get_model("mnist_autoencoder").save(tmp_path / "mine.keras")
    selected = find(tmp_path / "mine.keras", "mnist_autoencoder", allow_unverified=True)
    assert selected.loss == registry.entry("mnist_autoencoder").loss
    assert (selected.classes, selected.dataset) == ((), None)


def test_a_pretrained_object_is_returned_unchanged(published, monkeypatch):
    assert find(None) is None
    selected = find("mnist", activation="relu")
    monkeypatch.setattr(manifest, "published", lambda: pytest.fail("manifest read"))
    assert find(selected) is selected
    with pytest.raises(errors.UsageError, match="belong to the model .mnist_mlp_8x128"):
        find(selected, "nin")


@pytest.mark.parametrize("arguments", [{"activation": "relu"}, {"batch_norm": True}])
def test_arguments_that_contradict_a_tag_are_refused(published, arguments):
    with pytest.raises(errors.UsageError, match="trained with .*Remove the argument .*, or pass"):
        find(published["elu"]["tag"], **arguments)
