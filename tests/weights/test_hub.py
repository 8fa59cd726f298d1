"""Repositories of the Hugging Face Hub, by a stand-in of the hub."""

import importlib.util

import hub_stand_in
import huggingface_hub.constants
import numpy as np
import published_weights as made_weights
import pytest
from weight_files import present

import elu_zoo
from elu_zoo import errors
from elu_zoo.weights import hub as hubs
from elu_zoo.weights import manifest, pretrained

MODEL = made_weights.MODEL


@pytest.fixture
def repository(hub, run, run_parts):
    """The stand-in of the hub, with the weights and the entry of `run`."""
    entry, content, _ = run_parts
    hub.files[entry["tag"] + manifest.SUFFIX] = content
    hub.files[f"{entry['tag']}.json"] = (run.parent / f"{entry['tag']}.json").read_bytes()
    return hub


@pytest.mark.parametrize("revision", ["", "@main", f"@{hub_stand_in.COMMIT}"])
def test_models_load_weights_from_a_repository(repository, home, run_parts, revision):
    model = elu_zoo.get_model(MODEL, weights=f"hf:owner/repo{revision}")
    for value, expected in zip(model.get_weights(), run_parts[2].get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected.astype(np.float16))
    assert present(home) == []


def test_without_a_network_the_last_download_is_used(repository, home, run_parts, monkeypatch):
    path = pretrained.find(MODEL, "hf:owner/repo").path
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert pretrained.find(MODEL, "hf:owner/repo").path == path
    with pytest.raises(errors.ResourceError, match="hf:owner/other was not read"):
        pretrained.find(MODEL, "hf:owner/other")
    path.resolve().write_bytes(b"damaged")  # a link to it would be made again
    with pytest.raises(errors.CorruptError, match=f"{path.resolve()} is damaged"):
        elu_zoo.get_model(MODEL, weights="hf:owner/repo")


def test_a_missing_repository_is_refused(repository, home):
    repository.files.pop(next(name for name in repository.files if name.endswith(manifest.SUFFIX)))
    cases = {"repo@v9": "was not read", "absent": "was not read", "repo": "does not have one"}
    for name, words in cases.items():
        with pytest.raises(errors.EluZooError, match=f"hf:owner/{name} {words}") as raised:
            pretrained.find(MODEL, f"hf:owner/{name}")
        assert str(raised.value).isprintable() and present(home) == []


@pytest.mark.parametrize(
    "name", ["hf:owner", "hf:owner/repo@", "hf:a/b c", "hf-hub:a/b", "https://huggingface.co/a/b"]
)
def test_wrong_names_are_refused(name):
    for search in (pretrained.check_exists, pretrained.find):
        with pytest.raises(errors.UsageError, match="hf:owner/repo"):
            search(MODEL, name)
    with pytest.raises(errors.UsageError, match="hf:owner/repo"):
        hubs.check("hf:a/b@c", revision=False)


def test_the_hub_needs_its_library(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.UsageError, match=r'pip install "elu-zoo\[hub\]"'):
        pretrained.check_exists(MODEL, "hf:owner/repo")
