"""The real offline model, loaded once, and a model hub on the loopback interface."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.embedding.fastembed import FastEmbedder
from hindsight_core.embedding.offline import build_model_folder, installed_onnx
from hindsight_core.settings import Settings

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def model_folder(model_cache: Path) -> Path:
    onnx = installed_onnx()
    assert onnx is not None, "the offline extra is needed for these tests"
    return build_model_folder(onnx, model_cache)


@pytest.fixture(scope="session")
def minilm(model_folder: Path, model_cache: Path) -> FastEmbedder:
    embedder = FastEmbedder(Settings(cache_dir=model_cache, allow_download=False))
    assert embedder.origin == "the offline extra"
    return embedder


@dataclass
class Hub:
    """A model hub with one repository, and what was asked of it."""

    url: str
    files: dict[str, bytes]
    requests: list[str] = field(default_factory=list)
    status: int = 200


@pytest.fixture
def hub(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    files = {path.name: path.read_bytes() for path in model_folder.iterdir()}
    served = Hub(url="", files=files)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, *, with_body: bool) -> None:
            served.requests.append(self.path)
            body = self._body()
            status = served.status if body is not None else 404
            body = body or b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def _body(self) -> bytes | None:
            if "/tree/" in self.path:
                listed = [
                    {"type": "file", "path": name, "size": len(body), "oid": COMMIT}
                    for name, body in served.files.items()
                ]
                return json.dumps(listed).encode()
            if self.path.startswith("/api/models/"):
                names = [{"rfilename": name} for name in served.files]
                return json.dumps({"id": "m", "sha": COMMIT, "siblings": names}).encode()
            return served.files.get(self.path.rsplit("/", 1)[-1])

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    # What HF_ENDPOINT sets when it is there before the hub's client is imported.
    template = f"{served.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", served.url)
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def python(tmp_path: Path) -> Run:
    """Run code in a fresh interpreter with nothing in its home, cache or temporary folder."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()

    def run(code: str, *, timeout: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
        base = {"HOME": str(home), "TMPDIR": str(temporary), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**base, **env},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    return run
