"""A fake Hugging Face Hub for uploads and downloads.

A commit contains all files in base64. The real hub stores large files outside commits.
"""

import base64
import json

import loopback
import yaml

TOKEN = "secret"


class Hub(loopback.Handler):
    """A hub with one repository."""

    files: dict[str, bytes]  # contents by name
    commits: list[str]  # summaries
    damages = False  # whether downloads are damaged

    def do_POST(self):
        body = self.body()
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.reply({"error": "Invalid username or password."}, 401)
        elif self.path == "/api/repos/create":
            fields = json.loads(body)
            address = self.server.address
            self.reply({"url": f"{address}/{fields['organization']}/{fields['name']}"})
        elif self.path == "/api/validate-yaml":
            front_matter = json.loads(body)["content"].split("---\n")[1]
            valid = isinstance(yaml.safe_load(front_matter), dict)
            errors = [] if valid else [{"message": "no mapping"}]
            self.reply({"errors": errors, "warnings": []})
        elif self.path == "/api/models/owner/repo/preupload/main":
            modes = {"uploadMode": "regular", "shouldIgnore": False}
            fields = json.loads(body)["files"]
            self.reply({"files": [{"path": f["path"], **modes} for f in fields]})
        elif self.path == "/api/models/owner/repo/commit/main":
            self.commit([json.loads(line) for line in body.splitlines()])
        else:
            self.send_error(404)

    def commit(self, lines):
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                self.commits.append(value["summary"])
            else:
                self.files[value["path"]] = base64.b64decode(value["content"])
        url = f"{self.server.address}/owner/repo/commit/{'a' * 40}"
        self.reply({"commitOid": "a" * 40, "commitUrl": url, "success": True})

    def do_GET(self):
        content = self.files.get(self.path.removeprefix("/owner/repo/resolve/main/"))
        if content is None:
            self.send_error(404)
        else:
            self.answer(content[:-1] + b"?" if self.damages else content)

    def body(self) -> bytes:
        """Returns the body of a request with a Content-Length or in chunks."""
        if "Content-Length" in self.headers:
            return self.rfile.read(int(self.headers["Content-Length"]))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        return b"".join(parts)

    def reply(self, value, code=200):
        self.answer(json.dumps(value).encode(), code, Content_Type="application/json")
