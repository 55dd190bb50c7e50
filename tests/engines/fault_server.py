"""A small OpenAI-compatible server on the loopback for tests: it answers plainly, and fails on demand.

A fault is chosen by a word in the last message (`FAULT:500x2` fails two times, then answers), or by
`FaultServer.faults`, a list that is used up one request at a time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

FAULT = re.compile(r"FAULT:([a-z0-9]+?)(?:x(\d+))?(?![a-z0-9])")


class FaultServer:
    """Runs in threads of this process.

    Attributes:
        model: what it serves.
        key: the key that it wants, or None.
        refuses: parameters that it answers with status 400.
        ignores: parameters that it takes and does nothing with.
        limit: most requests at a time; more are answered with 429.
        most: the most requests that were there at one time.
        requests: the bodies that came, in order.
    """

    def __init__(self, model: str = "test/model", port: int = 0) -> None:
        self.model = model
        self.key: str | None = None
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
        key = self.fault_server.key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self._error(401, f"Incorrect API key provided: {self.headers.get('Authorization')}")
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
        elif fault == "empty":
            self._json(200, {"choices": [], "usage": {}})
        elif fault == "list":
            self._json(200, [1, 2])
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
                self._error(
                    400,
                    f"Unsupported parameter: '{name}'. Use 'max_completion_tokens' instead."
                    if name == "max_tokens"
                    else f"Unsupported parameter: '{name}'",
                )
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

    def _error(self, status: int, message: str, retry: bool = False) -> None:
        headers = {}
        if retry and self.fault_server.retry_after is not None:
            headers["Retry-After"] = self.fault_server.retry_after
        self._json(status, {"error": {"message": message, "code": status}}, headers)

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self._bytes(status, json.dumps(body).encode(), headers)

    def _bytes(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self._begin(status, len(content), headers)
        self.wfile.write(content)

    def _begin(self, status: int, length: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()


WORDS = ("once", "upon", "time", "mill", "sea", "bread", "stone", "winter", "river", "king", "and", "met")


def choice(body: dict[str, Any], prompt: str, index: int, length: int) -> dict[str, Any]:
    """An answer that follows from the prompt, and from the sample where the temperature is above 0."""
    salt = f"{body.get('seed', 0) + index}" if body["temperature"] > 0 else ""
    numbers = hashlib.sha256((prompt + salt).encode()).digest()
    constrained = constrained_text(body, numbers)
    if constrained is not None:
        text, tokens, reason = constrained, len(constrained.split()), "stop"
    else:
        words = [WORDS[numbers[k % 32] % len(WORDS)] for k in range(min(length, 40))]
        text, tokens, reason = " ".join(words), len(words), "length" if length < 40 else "stop"
        for stop in body.get("stop", []):
            if stop in text:
                text, reason = text[: text.index(stop)], "stop"
    made: dict[str, Any] = {
        "index": index, "message": {"role": "assistant", "content": text}, "finish_reason": reason,
        "tokens": tokens,
    }  # fmt: skip
    if body.get("logprobs"):
        top = [
            {"token": token, "logprob": value} for token, value in (("A", -0.5), ("B", -1.5), ("No", -2.5))
        ]
        made["logprobs"] = {"content": [{**top[0], "top_logprobs": top[: body["top_logprobs"]]}]}
    return made


def constrained_text(body: dict[str, Any], numbers: bytes) -> str | None:
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        return json.dumps(dict.fromkeys(schema["required"], numbers[0] % 10))
    structured = body.get("structured_outputs", {})
    if "choice" in structured:
        return str(structured["choice"][numbers[0] % len(structured["choice"])])
    if "regex" in structured:
        return str(from_regex(structured["regex"]))
    return None


def from_regex(pattern: str) -> str:
    """A text that a pattern matches in full: the first of alternatives, the least of repeats."""

    def text(nodes: Any) -> str:
        return "".join(one(str(kind), value) for kind, value in nodes)

    def one(kind: str, value: Any) -> str:
        if kind == "LITERAL":
            return chr(value)
        if kind == "MAX_REPEAT":
            return text(value[2]) * int(value[0])
        if kind == "SUBPATTERN":
            return text(value[3])
        if kind == "BRANCH":
            return text(value[1][0])
        if kind == "IN":
            return one(str(value[0][0]), value[0][1])
        if kind == "RANGE":
            return chr(value[0])
        raise ValueError(f"{kind} in {pattern}")

    return text(import_module("re._parser").parse(pattern))
