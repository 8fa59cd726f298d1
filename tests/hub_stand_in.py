"""A fake Hugging Face Hub for uploads and downloads, whose commits contain all files."""

import base64
import contextlib
import hashlib
import json
from collections.abc import Iterator

import huggingface_hub.constants
import loopback
import pytest

TOKEN = "secret"
COMMIT = "a" * 40
_API = "/api/models/owner/repo"


class Hub(loopback.Handler):
    """A hub with one repository."""

    files: dict[str, bytes]  # contents by name
    commits: list[str]  # summaries
    revisions = ("main", COMMIT)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.reply({"error": "Invalid username or password."}, 401)
        elif self.path == "/api/repos/create" and json.loads(body)["name"] == "repo":
            self.reply({"url": f"{self.server.address}/owner/repo"})
        elif self.path == "/api/validate-yaml":
            has_front_matter = json.loads(body)["content"].startswith("---\n")
            self.reply({"errors": [], "warnings": []}, 200 if has_front_matter else 400)
        elif self.path == f"{_API}/preupload/main":
            modes = {"uploadMode": "regular", "shouldIgnore": False}
            fields = json.loads(body)["files"]
            self.reply({"files": [{"path": f["path"], **modes} for f in fields]})
        else:  # a commit
            header, *lines = (json.loads(line)["value"] for line in body.splitlines())
            assert header["parentCommit"] == COMMIT  # else a push at the same time is lost
            self.commits.append(header["summary"])
            for x in lines:
                self.files.pop(x["path"], None)
            self.files |= {x["path"]: base64.b64decode(x["content"]) for x in lines if len(x) > 1}
            url = f"{self.server.address}/owner/repo/commit/{COMMIT}"
            self.reply({"commitOid": COMMIT, "commitUrl": url, "success": True})

    def do_GET(self):
        path = self.path.partition("?")[0]
        names = [{"rfilename": name} for name in self.files]
        if path in [f"{_API}/revision/{revision}" for revision in self.revisions]:
            self.reply({"id": "owner/repo", "sha": COMMIT, "siblings": names})
        elif path == f"{_API}/tree/{COMMIT}":
            fields = {"type": "file", "oid": "b" * 40}
            self.reply([{**fields, "path": n, "size": len(c)} for n, c in self.files.items()])
        elif (name := path.removeprefix(f"/owner/repo/resolve/{COMMIT}/")) in self.files:
            content = self.files[name]
            etag = f'"{hashlib.sha256(content).hexdigest()}"'
            self.answer(content, X_Repo_Commit=COMMIT, ETag=etag)
        else:
            kind = "RepoNotFound" if not path.startswith(_API) else "RevisionNotFound"
            self.answer(b"", 404, X_Error_Code=kind)

    do_HEAD = do_GET

    def reply(self, value, code=200):
        self.answer(json.dumps(value).encode(), code, Content_Type="application/json")


@contextlib.contextmanager
def serve(cache) -> Iterator[type[Hub]]:
    """Serves an empty hub, which huggingface_hub uses with a folder as its cache."""
    constants = huggingface_hub.constants
    with pytest.MonkeyPatch.context() as patch, loopback.serve(Hub) as server:
        patch.setattr(Hub, "files", {}, raising=False)
        patch.setattr(Hub, "commits", [], raising=False)
        patch.setenv("HF_TOKEN", TOKEN)
        patch.setenv("no_proxy", "127.0.0.1")
        template = server.address + "/{repo_id}/resolve/{revision}/{filename}"
        patch.setattr(constants, "ENDPOINT", server.address)
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        patch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
        patch.setattr(constants, "HF_HUB_CACHE", str(cache))
        yield Hub
