"""A Hub of a few repositories on this machine, for the real client: `HF_ENDPOINT` points to it."""

import hashlib
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.generate import COMMIT

# Repository -> status and `X-Error-Code` of its answers; others are served.
FAULTS = {"org/gone": (404, "RepoNotFound"), "org/private": (401, None), "org/down": (500, None)}
_INFO = re.compile(r"/api/datasets/(?P<id>[^/]+/[^/]+)(/(?P<what>revision|tree)/(?P<at>[^/?]+))?")
_FILE = re.compile(r"/datasets/(?P<id>[^/]+/[^/]+)/resolve/(?P<at>[^/]+)/(?P<path>[^?]+)")


class _Handler(BaseHTTPRequestHandler):
    folder: Path
    requests: list[str]

    def do_GET(self):
        self._answer()

    do_HEAD = do_GET  # noqa: N815  the name that the base class asks for

    def log_message(self, *args):
        pass

    def _answer(self):
        self.requests.append(f"{self.command} {self.path}")
        found = _INFO.match(self.path) or _FILE.match(self.path)
        if found is None:
            return self._send(404, b"")
        told = found.groupdict()
        if told["id"] in FAULTS:
            status, code = FAULTS[told["id"]]
            return self._send(status, b"{}", {"X-Error-Code": code} if code else {})
        if told["at"] not in {None, "main", COMMIT}:
            return self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        if "path" not in told:
            return self._send(200, self._list(told).encode(), {"Content-Type": "application/json"})
        if told["id"] == "org/gated":
            return self._send(403, b"", {"X-Error-Code": "GatedRepo"})
        content = (self.folder / told["path"]).read_bytes()
        etag = hashlib.sha256(content).hexdigest()
        return self._send(200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT})

    def _list(self, told):
        files = sorted(p for p in self.folder.rglob("*") if p.is_file())
        names = [p.relative_to(self.folder).as_posix() for p in files]
        if told["what"] == "tree":
            return json.dumps(
                [
                    {"type": "file", "path": name, "size": path.stat().st_size, "oid": "0" * 40}
                    for name, path in zip(names, files, strict=True)
                ]
            )
        siblings = [{"rfilename": name} for name in names]
        return json.dumps({"id": told["id"], "sha": COMMIT, "siblings": siblings})

    def _send(self, status, content, headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


@contextmanager
def hub(folder):
    """Serve a folder as the content of every repository; give the address and the requests."""
    requests = []
    handler = type("Handler", (_Handler,), {"folder": folder, "requests": requests})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
