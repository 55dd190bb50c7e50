"""A small OpenAI-compatible server on the loopback for tests: it answers plainly, and fails on demand.

A fault is chosen by a word in the last message (`FAULT:500x2` fails two times, then answers), or by
`FaultServer.faults`, a list that is used up one request at a time.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fault_answers import BODIES, PAGE, answer_with, choice

FAULT = re.compile(r"FAULT:([a-z0-9]+?)(?:x(\d+))?(?![a-z0-9])")


class FaultServer:
    """Runs in threads of this process.

    Attributes:
        model: what it serves.
        key: the key that it wants, or None.
        authorizations: the headers by which keys came, None for requests without.
        refuses: parameters that it answers with status 400.
        ignores: parameters that it takes and does nothing with.
        page: whether it is no API at all but a web server with a login page.
        limit: most requests at a time; more are answered with 429.
        most: the most requests that were there at one time.
        requests: the bodies that came, in order.
    """

    def __init__(self, model: str = "test/model", port: int = 0) -> None:
        self.model = model
        self.key: str | None = None
        self.authorizations: set[str | None] = set()
        self.page = False
        self.refuses: set[str] = set()
        self.ignores: set[str] = set()
        self.faults: list[str] = []
        self.limit: int | None = None
        self.delay = 0.0
        self.retry_after: str | None = None
        self.context = 4096
        self.present = 0
        self.most = 0
        self.requests: list[dict[str, Any]] = []
        self.seen: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.connections: set[socket.socket] = set()
        self.port = port
        self._start()

    def _start(self) -> None:
        server = self

        class Handler(_Handler):
            fault_server = server

        self._http = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def stop(self) -> None:
        """Die: nothing listens any more, and connections break."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        with self.lock:
            open_ones, self.connections = self.connections, set()
        for connection in open_ones:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def start_again(self) -> None:
        self._start()


class _Handler(BaseHTTPRequestHandler):
    fault_server: FaultServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        with self.fault_server.lock:
            self.fault_server.connections.add(self.connection)

    def finish(self) -> None:
        with self.fault_server.lock:
            self.fault_server.connections.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # the other side, or `stop`, has closed
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def do_GET(self) -> None:
        server = self.fault_server
        if not self._allowed():
            return
        if self.path == "/v1/models":
            model = {"id": server.model, "object": "model", "max_model_len": server.context}
            self._json(200, {"object": "list", "data": [model]})
        else:
            self._error(404, "not here")

    def do_POST(self) -> None:
        server = self.fault_server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._allowed():
            return
        if self.path != "/v1/chat/completions":
            self._error(404, "not here")
            return
        with server.lock:
            server.present += 1
            server.most = max(server.most, server.present)
            crowded = server.limit is not None and server.present > server.limit
            server.requests.append(body)
            fault = self._fault(body)
        try:
            if crowded:
                self._error(429, "too many requests", retry=True)
                return
            time.sleep(server.delay)
            if fault is None or not self._fail(fault):
                self._answer(body)
        finally:
            with server.lock:
                server.present -= 1

    def _allowed(self) -> bool:
        server, given = self.fault_server, self.headers.get("Authorization")
        server.authorizations.add(given)
        if server.page:
            self._bytes(200, PAGE, {"Content-Type": "text/html"})
            return False
        if server.key is None or given == f"Bearer {server.key}":
            return True
        self._error(401, f"Incorrect API key provided: {given}")
        return False

    def _fault(self, body: dict[str, Any]) -> str | None:
        server = self.fault_server
        text = str(body["messages"][-1]["content"])
        match = FAULT.search(text)
        if match:
            times = int(match.group(2) or 1_000_000)
            server.seen[text] += 1
            return match.group(1) if server.seen[text] <= times else None
        return server.faults.pop(0) if server.faults else None

    def _fail(self, fault: str) -> bool:
        if fault.isdigit():
            self._error(int(fault), f"status {fault} on demand", retry=int(fault) in (429, 503))
        elif fault == "key":
            self._error(400, f"{self.headers.get('Authorization')} wants fewer max_tokens")
        elif fault in BODIES:
            self._json(200, BODIES[fault])
        elif fault == "page":
            self._bytes(200, PAGE, {"Content-Type": "text/html; charset=utf-8"})
        elif fault == "plain":
            self._bytes(200, json.dumps(answer_with("hello")).encode(), {"Content-Type": "text/plain"})
        elif fault == "hang":
            time.sleep(1.5)
            self.close_connection = True
        elif fault == "cut":
            self._begin(200, 1000)
            self.wfile.write(b'{"choices": [')
            self._reset()
        elif fault == "reset":
            self._reset()
        elif fault == "broken":
            self._bytes(200, b'{"choices": [{"message"')
        else:
            return False
        return True

    def _reset(self) -> None:
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _answer(self, body: dict[str, Any]) -> None:
        server = self.fault_server
        for name in sorted(server.refuses):
            if name in body:
                instead = ". Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                if name == "temperature":  # named by a field of the error; the others by its message
                    self._error(400, "Only the default (1) is supported, as top_p is.", param=name)
                else:
                    self._error(400, f"Unsupported parameter: '{name}'{instead}")
                return
        if body["model"] != server.model:
            self._error(404, f"The model {body['model']} does not exist")
            return
        kept = {name: value for name, value in body.items() if name not in server.ignores}
        prompt = " ".join(message["content"] for message in body["messages"])
        length = kept.get("max_tokens") or kept["max_completion_tokens"]
        if len(prompt.split()) + length > server.context:
            self._error(400, f"This model's maximum context length is {server.context} tokens.")
            return
        choices = [choice(kept, prompt, index, length) for index in range(kept.get("n", 1))]
        used = sum(c["tokens"] for c in choices)
        for c in choices:
            del c["tokens"]
        usage = {
            "prompt_tokens": len(prompt.split()),
            "completion_tokens": used,
            "prompt_tokens_details": {"cached_tokens": 1},
        }
        self._json(
            200, {"object": "chat.completion", "model": body["model"], "choices": choices, "usage": usage}
        )

    def _error(self, status: int, message: str, retry: bool = False, **more: str) -> None:
        headers = {}
        if retry and self.fault_server.retry_after is not None:
            headers["Retry-After"] = self.fault_server.retry_after
        self._json(status, {"error": {"message": message, "code": status, **more}}, headers)

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self._bytes(status, json.dumps(body).encode(), headers)

    def _bytes(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self._begin(status, len(content), headers)
        self.wfile.write(content)

    def _begin(self, status: int, length: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
