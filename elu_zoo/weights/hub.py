"""Weights in repositories of the Hugging Face Hub, named `hf:owner/repo[@revision]`."""

import importlib.util
import re
from pathlib import Path

from elu_zoo import errors, files
from elu_zoo.weights import manifest, untrusted

_NAME = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
_SUFFIXES = manifest.SUFFIX, ".json", ".npz"


def check(name: str, *, revision: bool = True) -> re.Match:
    """Returns the parts of a repository's name, after a check without the network."""
    match = _NAME.fullmatch(name)
    if not match or (match["revision"] and not revision):
        form = "hf:owner/repo" + "[@revision]" * revision
        raise errors.UsageError(f"A repository is named {form}. Received: {name!r}.")
    if importlib.util.find_spec("huggingface_hub") is None:
        raise errors.UsageError(f'{name} needs huggingface_hub. Run: pip install "elu-zoo[hub]"')
    return match


def fetch(name: str) -> Path:
    """Returns the folder `$ELU_ZOO_HOME/hub/<commit>` with the files of a repository.

    Without a network it has the files that huggingface_hub downloaded before.
    """
    match = check(name)
    from huggingface_hub import snapshot_download

    try:
        snapshot = snapshot_download(
            match["repository"],
            revision=match["revision"],
            allow_patterns=[f"*{suffix}" for suffix in _SUFFIXES],
        )
    # Versions of huggingface_hub raise errors of different HTTP libraries.
    except Exception as error:
        advice = "Check the name and the network. For a private repository, run `hf auth login`."
        raise errors.ResourceError(f"{name} was not read: {_line(error)} {advice}") from error
    folder = files.home() / "hub" / Path(snapshot).name
    # The files of huggingface_hub are links, which weights must not be.
    for path in Path(snapshot).glob("*"):
        if path.name.endswith(_SUFFIXES) and not (folder / path.name).is_file():
            files.write_bytes(folder / path.name, files.read(path))
    return folder


def upload(folder: Path, name: str, message: str) -> str:
    """Uploads the files of a folder to a new or existing repository; returns the commit."""
    match = check(name, revision=False)
    from huggingface_hub import CommitOperationAdd, HfApi

    # upload_folder is not used, because it may split a folder into several commits.
    operations = [CommitOperationAdd(path.name, path) for path in sorted(folder.iterdir())]
    try:
        api = HfApi()
        api.create_repo(match["repository"], exist_ok=True)
        commit = api.create_commit(match["repository"], operations, commit_message=message)
    except Exception as error:  # see `fetch`
        raise errors.ResourceError(
            f"{name} did not accept the files: {_line(error)} Log in by `hf auth login`, "
            "or set $HF_TOKEN."
        ) from error
    return commit.oid


def _line(error: Exception) -> str:
    return untrusted.printable(" ".join(str(error).split()), 300)
