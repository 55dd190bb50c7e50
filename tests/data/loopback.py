"""Servers on this machine that serve, redirect, cut off and refuse as they are told."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import huggingface_hub.constants
import pytest

from authbench.data import download as download_module
from authbench.data.catalog import Hub

BODY = bytes(range(256)) * 700  # 179,200 bytes: more than one chunk
SHA256 = hashlib.sha256(BODY).hexdigest()


@dataclass
class Page:
    """How one address behaves."""

    body: bytes = BODY
    status: int = 200
    ranges: bool = True
    #: Bytes sent before the line is cut, request by request.
    cut_after: list[int] = field(default_factory=list)
    redirect: str | None = None
    #: Bytes sent before nothing more comes, until `resume` is set.
    stall_after: int | None = None
    resume: threading.Event = field(default_factory=threading.Event)


@dataclass
class Loopback:
    url: str
    pages: dict[str, Page] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def be_the_hub(
        self, monkeypatch: pytest.MonkeyPatch, hub: Hub, files: Mapping[str, bytes], *, large: bool = True
    ) -> None:
        """Serve one repository at its revision, and list its files as large ones or as others."""
        constants = huggingface_hub.constants  # what HF_ENDPOINT has set where a process starts
        monkeypatch.setattr(constants, "ENDPOINT", self.url)
        template = self.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        siblings: list[dict[str, Any]] = []
        for path, body in files.items():
            git = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
            lfs = {"size": len(body), "sha256": hashlib.sha256(body).hexdigest(), "pointerSize": 130}
            siblings.append({"rfilename": path, "size": len(body), "blobId": git})
            siblings[-1].update({"lfs": lfs} if large else {})
            self.pages[self.address(hub, path)] = Page(body=body)
        listing = json.dumps({"id": hub.id, "siblings": siblings}).encode()
        self.pages[f"/api/datasets/{hub.id}/revision/{hub.revision}"] = Page(body=listing)

    @staticmethod
    def address(hub: Hub, path: str) -> str:
        """Where the hub serves a file."""
        return f"/datasets/{hub.id}/resolve/{hub.revision}/{path}"

    def asked(self, part: str) -> int:
        """How many requests had this in their path."""
        return sum(part in path for path, _ in self.requests)

    def header(self, name: str) -> list[str | None]:
        return [headers.get(name) for _, headers in self.requests]


def _handler(state: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            state.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            page = state.pages.get(self.path.split("?")[0], Page(status=404, body=b"no"))
            if page.redirect:
                self.send_response(302)
                self.send_header("Location", page.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            start = 0
            asked = self.headers.get("Range")
            if asked and page.ranges and page.status == 200:
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
            body = page.body[start:]
            if start and not body:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(page.body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if start else page.status)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(page.body) - 1}/{len(page.body)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if page.stall_after is not None:
                self.wfile.write(body[: page.stall_after])
                self.wfile.flush()
                page.resume.wait(60)
                self.close_connection = True
            elif page.cut_after:
                self.wfile.write(body[: page.cut_after.pop(0)])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            else:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the test output quiet."""

    return Handler


@contextmanager
def loopbacks(monkeypatch: pytest.MonkeyPatch, count: int) -> Iterator[list[Loopback]]:
    """Servers on this machine, reached directly whatever proxy is set."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(download_module, "PAUSE", 0.01)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    running = []
    states = []
    for _ in range(count):
        state = Loopback("")
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        running.append((server, thread))
        states.append(state)
    yield states
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()
