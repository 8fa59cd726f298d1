"""Every form of `weights=` selects an entry and a file, or raises an error."""

from pathlib import Path

import published_weights as made_weights
import pytest

from elu_zoo import errors, registry
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
    [
        ({}, "elu"),
        ({"activation": {"name": "relu"}}, "relu"),
        ({"batch_norm": True}, "elu_bn"),
    ],
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
        ("relu", {"activation": {"name": "relu"}}, True),
        ("relu", {"activation": {"name": "elu"}}, False),
        ("relu", {"batch_norm": True}, False),
        ("elu_bn", {}, False),
        ("elu_bn", {"activation": {"name": "elu"}}, False),
        ("elu_bn", {"batch_norm": True}, True),
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
    with pytest.raises(errors.UsageError, match="Unknown weights of elu_cifar_11 'mn"):
        find("mnist", "elu_cifar_11")


def test_weights_are_found_by_file_or_folder(runs, tmp_path, published):
    entry, content, _ = runs["relu"]
    path = made_weights.write(tmp_path / "run", entry, content)
    for form in (path, path.parent, str(path), str(path.parent)):
        selected = find(form)
        assert (selected.path, selected.entry) == (path, entry)


def test_paths_in_the_current_folder_are_found(runs, published):
    entry, content, _ = runs["relu"]
    path = made_weights.write(Path("run"), entry, content)
    assert find("run").path == path
    path = made_weights.write(Path("."), entry, content)
    assert find(path.name).path == path


@pytest.mark.parametrize("count", [0, 2])
def test_a_folder_without_exactly_one_file_is_refused(runs, tmp_path, published, count):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ["elu", "relu"][:count]:
        made_weights.write(folder, *runs[name][:2])
    with pytest.raises(errors.UsageError, match=f"with {count} weight files.*finished"):
        find(folder)


def test_an_activation_without_weights_is_refused(published):
    with pytest.raises(
        errors.UsageError, match="no 'mnist' weights with.*tanh.*for: elu, elu_bn, relu"
    ):
        find("mnist", activation={"name": "tanh"})


def test_a_data_set_of_other_networks_is_no_spelling_mistake(runs, tmp_path, monkeypatch):
    other = made_weights.make(model="nin", dataset="mnist_5k")
    made_weights.publish(monkeypatch, tmp_path, runs["elu"], other)
    with pytest.raises(errors.UsageError) as raised:
        find("mnist_5k")
    assert str(raised.value) == (
        f"{MODEL} has no weights for 'mnist_5k'. There are weights for: mnist."
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("minst", "Unknown weights of mnist.*mean 'mnist'.*Known: mnist, mnist_"),
        ("", "weights='mnist'"),
    ],
)
def test_unknown_names_are_refused(published, weights, message):
    with pytest.raises(errors.UsageError, match=message):
        find(weights)


def test_weights_of_another_type_are_refused(published):
    with pytest.raises(TypeError, match="a tag or a path. Received: 3 of type int"):
        find(3)


def test_weights_of_another_model_are_refused(runs, published, tmp_path):
    with pytest.raises(errors.UsageError, match="belong to the model .mnist_mlp_8x128"):
        find(published["elu"]["tag"], "nin")
    message = "Unknown weights of nin.*Known: none. Networks with weights: mnist_mlp"
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
    squared, relu = (
        made_weights.make(activation=activation, config={"train": {"loss": loss}}, seed=seed)
        for activation, loss, seed in (
            ("elu", "half_squared_error", 3),
            ("relu", "sigmoid_cross_entropy", 4),
        )
    )
    made_weights.publish(monkeypatch, tmp_path, squared, relu)
    for weights, arguments, loss in (
        ("mnist", {}, "half_squared_error"),
        (squared[0]["tag"], {}, "half_squared_error"),
        ("mnist", {"activation": "relu"}, "sigmoid_cross_entropy"),
    ):
        assert find(weights, **arguments).loss == loss


@pytest.mark.parametrize("model", [MODEL, "mnist_autoencoder"])
def test_without_an_entry_attributes_come_from_the_registry(runs, tmp_path, model):
    path = tmp_path / "mine.weights.h5"
    path.write_bytes(runs["elu"][1])
    selected = find(path, model, allow_unverified=True)
    registered = registry.entry(model)
    assert selected.loss == registered.loss
    assert selected.preprocessing == registered.preprocessing
    assert (selected.classes, selected.dataset) == ([], None)
    assert selected.activation == {"name": "elu", "alpha": 1.0}


def test_a_pretrained_object_is_returned_unchanged(published, monkeypatch):
    assert find(None) is None
    selected = find("mnist", activation="relu")
    monkeypatch.setattr(manifest, "published", lambda: pytest.fail("manifest read"))
    assert find(selected) is selected
    with pytest.raises(errors.UsageError, match="belong to the model .mnist_mlp_8x128"):
        find(selected, "nin")


@pytest.mark.parametrize("arguments", [{"activation": "relu"}, {"batch_norm": True}])
def test_arguments_that_contradict_a_tag_are_refused(published, arguments):
    message = "trained with .*Remove the argument .*, or pass other"
    with pytest.raises(errors.UsageError, match=message):
        find(published["elu"]["tag"], **arguments)
