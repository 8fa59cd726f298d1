"""Weights in repositories of the Hugging Face Hub, named `hf:owner/repo[@revision]`."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from elu_zoo import errors
from elu_zoo.weights import manifest

_NAME = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
_PATTERNS = [f"*{suffix}" for suffix in (manifest.SUFFIX, ".json", ".npz")]


def check(name: str, *, revision: bool = True) -> re.Match:
    """Returns the parts of a repository's name, after a check without the network."""
    match = _NAME.fullmatch(name)
    if not match or (match["revision"] and not revision):
        form = "hf:owner/repo" + "[@revision]" * revision
        raise errors.UsageError(f"A repository is named {form}. Received: {name!r}.")
    errors.check_packages(name, ["huggingface_hub"], "hub")
    return match


def snapshot(name: str, patterns: Sequence[str] = _PATTERNS) -> Path:
    """Returns the folder of huggingface_hub with links to files of a repository.

    Without a network it has the files that huggingface_hub downloaded before.
    """
    repository, revision = check(name).groups()
    from huggingface_hub import snapshot_download

    with _errors(f"{name} was not read"):
        options = {"allow_patterns": patterns, "ignore_patterns": "*/*"}  # without checkpoints
        return Path(snapshot_download(repository, revision=revision, **options))


def fetch(name: str) -> Path:
    """Returns `snapshot` of a repository with one weight file."""
    folder = snapshot(name)
    if len([*folder.glob(f"*{manifest.SUFFIX}")]) != 1:
        raise errors.UsageError(f"{name} does not have one *{manifest.SUFFIX}, as --push writes.")
    return folder


def upload(folder: Path, name: str, message: str) -> str:
    """Replaces the release in a new or existing repository by a folder; returns the commit."""
    repository = check(name, revision=False)["repository"]
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    # upload_folder is not used, because it may split a folder into several commits.
    new = {path.name: path for path in sorted(folder.iterdir())}
    with _errors(f"{name} did not accept the files"):
        HfApi().create_repo(repository, exist_ok=True)
        present = HfApi().model_info(repository, revision="main")
        old = {file.rfilename for file in present.siblings or ()} - new.keys()
        tags = tuple(x.removesuffix(manifest.SUFFIX) for x in old if x.endswith(manifest.SUFFIX))
        changes = [CommitOperationDelete(x) for x in sorted(old) if x.startswith(tags)]
        changes += [CommitOperationAdd(*item) for item in new.items()]
        options = {"commit_message": message, "parent_commit": present.sha}
        return HfApi().create_commit(repository, changes, **options).oid


@contextlib.contextmanager
def _errors(what: str) -> Iterator[None]:
    try:
        yield
    # Versions of huggingface_hub raise errors of different HTTP libraries.
    except Exception as error:
        reason = errors.printable(" ".join(str(error).split()), 300)
        advice = "Check the name and the network. To log in, run `hf auth login` or set $HF_TOKEN."
        raise errors.ResourceError(f"{what}: {reason} {advice}") from error
