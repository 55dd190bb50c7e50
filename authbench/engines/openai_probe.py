"""What a server is and takes, found out before the first request of a run: nothing is dropped in silence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from authbench.engines.openai_client import Client, Refusal, describe, raise_for_everyone
from authbench.engines.openai_limits import Endpoint
from authbench.engines.openai_messages import BrokenAnswer, Dialect, constraint_fields
from authbench.errors import EngineError
from authbench.runtime.messages import Constraint, Request, Sampling, user

_SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'

#: A constraint of each kind that no model keeps by chance.
_CONSTRAINTS: dict[str, Constraint] = {
    "json": Constraint("json", _SCHEMA),
    "choice": Constraint("choice", ("zq17", "zq18")),
    "regex": Constraint("regex", "zq[0-9]{2}"),
}

#: How each kind can be said, the protocol's own way first.
_WAYS: dict[str, tuple[str, ...]] = {
    "json": ("response_format", "structured_outputs", "guided"),
    "choice": ("structured_outputs", "guided"),
    "regex": ("structured_outputs", "guided"),
}


@dataclass(frozen=True, slots=True)
class Served:
    """A model on a server: its name there, and the most tokens of prompt and answer where it says so."""

    name: str
    root: str = ""
    limit: int | None = None


async def find_model(client: Client, wanted: str) -> Served:
    """The model on the servers, with the least of their limits.

    Raises:
        EngineError: a server that is not there, refuses the key, or serves another model.
    """
    found = [await _served(client, endpoint, wanted) for endpoint in client.pool.endpoints]
    names = sorted({served.name for served in found})
    if len(names) > 1:
        raise EngineError(f"the servers call the model differently: {', '.join(names)}; set engine.model")
    limits = [served.limit for served in found if served.limit is not None]
    return Served(names[0], limit=min(limits, default=None))


async def _served(client: Client, endpoint: Endpoint, wanted: str) -> Served:
    import httpx

    try:
        answer = await client.http.get(f"{endpoint.url}/models", timeout=min(client.options.timeout, 30.0))
    except httpx.TransportError as error:
        raise EngineError(
            f"no server at {endpoint.url} ({describe(error)}): start it, or set engine.base_url"
        ) from error
    if answer.status_code in (404, 405, 501):
        return Served(wanted)  # not every server lists its models; the first request will tell
    if answer.status_code != 200:
        message = client.message(answer)
        raise_for_everyone(answer.status_code, message, endpoint.url, client.options)
        raise EngineError(f"{endpoint.url} answers with status {answer.status_code}: {message}")
    served = _models(answer.content)
    for one in served:
        if wanted in (one.name, one.root):
            return one
    if not served:
        return Served(wanted)
    names = ", ".join(one.name for one in served[:5]) + (", ..." if len(served) > 5 else "")
    raise EngineError(
        f"{endpoint.url} serves {names}, not {wanted}\n"
        "if it is the same model, say so with --set engine.model=NAME; else start the server with the model"
    )


def _models(content: bytes) -> list[Served]:
    """A list of models, each with what it was loaded from and its limit where the server says so (vLLM)."""
    try:
        data = json.loads(content).get("data") or []
    except (ValueError, AttributeError) as error:
        raise EngineError("engine.base_url: what answers there is no OpenAI-compatible server") from error
    found = []
    for entry in data:
        if isinstance(entry, Mapping) and "id" in entry:
            limit = entry.get("max_model_len")
            known = limit if isinstance(limit, int) and limit > 0 else None
            found.append(Served(str(entry["id"]), str(entry.get("root") or ""), known))
    return found


async def find_dialect(client: Client, model: str, template_kwargs: Mapping[str, Any]) -> Dialect:
    """Try every feature once with a tiny request.

    Args:
        client: whose servers are asked.
        model: the model's name on them.
        template_kwargs: arguments for the chat template; they must be taken.

    Raises:
        EngineError: a plain request is refused, or the template's arguments are.
    """
    extra = dict(client.options.extra_body)
    if template_kwargs:
        extra["chat_template_kwargs"] = {**template_kwargs, **extra.get("chat_template_kwargs", {})}
    dialect = await _plain(client, Dialect(model, extra=extra), bool(template_kwargs))
    if template_kwargs:
        await _check_template(client, dialect, template_kwargs)
    (samples, logprobs), ways = await asyncio.gather(
        asyncio.gather(_takes_samples(client, dialect), _takes_logprobs(client, dialect)),
        asyncio.gather(*(_find_way(client, dialect, constraint) for constraint in _CONSTRAINTS.values())),
    )
    constraints = {kind: way for kind, way in zip(_CONSTRAINTS, ways, strict=True) if way is not None}
    return replace(dialect, samples=samples, logprobs=logprobs, constraints=constraints)


async def _plain(client: Client, dialect: Dialect, has_kwargs: bool) -> Dialect:
    """A plain request must be answered; the name of the length's field is learnt from a refusal."""
    request = _question(1)
    try:
        await client.post(dialect.body(request, 1), _choices)
    except Refusal as refusal:
        if "max_completion_tokens" in str(refusal) and dialect.length_field == "max_tokens":
            return await _plain(client, replace(dialect, length_field="max_completion_tokens"), has_kwargs)
        if has_kwargs and "chat_template_kwargs" in str(refusal):
            raise EngineError(
                "the server takes no chat_template_kwargs, by which thinking is turned off; "
                "use vLLM's or llama.cpp's server, or take them out of the model's file"
            ) from refusal
        raise EngineError(f"a plain request is refused: {refusal}") from refusal
    return dialect


async def _check_template(client: Client, dialect: Dialect, kwargs: Mapping[str, Any]) -> None:
    """Where the server shows the prompt's tokens (vLLM): the arguments must make a difference in them."""
    url = client.pool.endpoints[0].url.removesuffix("/v1") + "/tokenize"
    tokens = []
    for given in (dict(kwargs), {key: _other(value) for key, value in kwargs.items()}):
        body = {
            "model": dialect.model,
            "messages": [{"role": "user", "content": "Hello"}],
            "add_generation_prompt": True,
            "chat_template_kwargs": given,
        }
        answer = await client.http.post(url, content=json.dumps(body).encode())
        if answer.status_code != 200:
            return
        tokens.append(json.loads(answer.content).get("tokens"))
    if tokens[0] == tokens[1]:
        raise EngineError(
            f"the chat template on the server has no switch '{', '.join(kwargs)}': the prompt is the same "
            "with and without\ntake it out of chat_template_kwargs in the model's file, or serve another one"
        )


def _other(value: Any) -> Any:
    return not value if isinstance(value, bool) else None


async def _takes_samples(client: Client, dialect: Dialect) -> bool:
    """Some servers refuse `n`, others take it and give one answer."""
    body = dialect.body(_question(1, temperature=1.0), 2)
    try:
        return len(await client.post(body, _choices)) == 2
    except Refusal:
        return False


async def _takes_logprobs(client: Client, dialect: Dialect) -> bool:
    body = dialect.body(_question(1, labels=("Yes", "No")), 1)
    try:
        choices = await client.post(body, _choices)
    except Refusal:
        return False
    content = (choices[0].get("logprobs") or {}).get("content") or []
    return bool(content) and len(content[0].get("top_logprobs") or []) > 1


async def _find_way(client: Client, dialect: Dialect, constraint: Constraint) -> str | None:
    """The way in which the server takes a constraint; None if it refuses or ignores every one."""
    for way in _WAYS[constraint.kind]:
        body = dialect.body(_question(24), 1) | constraint_fields(constraint, way)
        try:
            choices = await client.post(body, _choices)
        except Refusal:
            continue
        if _kept(constraint, str((choices[0].get("message") or {}).get("content") or "")):
            return way
    return None


def _kept(constraint: Constraint, text: str) -> bool:
    """Whether an answer shows that a constraint of `_CONSTRAINTS` was kept."""
    if constraint.kind == "json":
        return "".join(text.split()).startswith('{"a":')
    if constraint.kind == "choice":
        return text in constraint.value
    return text.startswith("zq")


def _question(max_tokens: int, temperature: float = 0.0, labels: tuple[str, ...] = ()) -> Request:
    return user("Say hello.", Sampling(max_tokens, temperature=temperature), labels=labels)


def _choices(answer: Any, seconds: float) -> list[Any]:
    del seconds
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(choices, list) or not choices:
        raise BrokenAnswer("the answer holds no choices")
    return choices
