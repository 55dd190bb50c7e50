"""What a server is and takes, found out before the first request of a run: nothing is dropped in silence."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from authbench.engines.openai.client import Client, NotFound
from authbench.engines.openai.protocol import Dialect, Passing, Refusal, read_choices, text_of
from authbench.engines.openai.servers import Server
from authbench.engines.openai.settings import OMITTABLE, advise_omit
from authbench.errors import EngineError
from authbench.runtime.messages import Constraint, Request, Sampling, user

_SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'

#: A constraint of each kind that no model keeps by chance, and how a kept one shows.
_CONSTRAINTS = (
    (Constraint("json", _SCHEMA), r'\s*\{\s*"a"\s*:'),
    (Constraint("choice", ("zq17", "zq18")), r"zq1[78]\Z"),
    (Constraint("regex", "zq[0-9]{2}"), "zq"),
)


async def find_model(client: Client, wanted: str) -> tuple[str, int | None]:
    """The model's name on the servers, and the least of their limits of tokens, None where unknown.

    Raises:
        EngineError: a server that is not there, refuses the key, or serves another model.
    """
    found = [await _served(client, server, wanted) for server in client.pool.servers]
    names = sorted({name for name, _ in found})
    if len(names) > 1:
        raise EngineError(f"the servers call the model differently: {', '.join(names)}; set engine.model")
    return names[0], min((limit for _, limit in found if limit is not None), default=None)


async def _served(client: Client, server: Server, wanted: str) -> tuple[str, int | None]:
    """Of one server: a model listed by this name, or (vLLM) loaded from what has it, with its limit."""
    try:
        answer = await client.call(server, "/models", timeout=min(client.settings.timeout, 30.0))
    except Passing as error:
        raise EngineError(
            f"no OpenAI-compatible server at {server.url}: {error}; start it, or set engine.base_url"
        ) from error
    except (NotFound, Refusal):
        answer = {}  # not every server lists its models; the first request will tell
    listed = answer.get("data") if isinstance(answer, Mapping) else answer
    others = []
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, Mapping) or "id" not in entry:
            continue
        if wanted in (entry["id"], entry.get("root")):
            limit = entry.get("max_model_len")
            return str(entry["id"]), limit if isinstance(limit, int) and limit > 0 else None
        others.append(str(entry["id"]))
    if not others:
        return wanted, None
    names = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
    raise EngineError(
        f"{server.url} serves {names}, not {wanted}\n"
        "if it is the same model, say so with --set engine.model=NAME; else start the server with the model"
    )


async def find_version(client: Client) -> dict[str, str]:
    """The server's version where it says it (vLLM)."""
    server = client.pool.servers[0]
    try:
        answer = await client.call(server, server.url.removesuffix("/v1") + "/version", timeout=5.0)
    except (Passing, Refusal, EngineError):
        return {}
    version = answer.get("version") if isinstance(answer, Mapping) else None
    return {"server_version": str(version)} if version else {}


async def find_dialect(client: Client, model: str, template_kwargs: Mapping[str, Any]) -> Dialect:
    """Try every feature once with a tiny request.

    Args:
        client: whose servers are asked.
        model: the model's name on them.
        template_kwargs: arguments for the chat template.

    Raises:
        EngineError: a plain request is refused, or a field that every request has.
    """
    settings = client.settings
    extra = dict(settings.extra_body)
    if template_kwargs:
        extra["chat_template_kwargs"] = {**template_kwargs, **extra.get("chat_template_kwargs", {})}
    dialect = await _plain(client, Dialect(model, extra=extra, omit=settings.omit))
    if template_kwargs and "chat_template_kwargs" not in settings.omit:
        await _check_template(client, dialect, template_kwargs)
    samples, refused, logprobs, kept = await asyncio.gather(
        _takes_samples(client, dialect),
        _sampling_refused(client, dialect),
        _takes_logprobs(client, dialect),
        asyncio.gather(*(_keeps(client, dialect, *pair) for pair in _CONSTRAINTS)),
    )
    constraints = frozenset(c.kind for (c, _), does in zip(_CONSTRAINTS, kept, strict=True) if does)
    return replace(dialect, samples=samples, refused=refused, logprobs=logprobs, constraints=constraints)


async def _plain(client: Client, dialect: Dialect) -> Dialect:
    """A plain request must be answered; the name of the length's field is learnt from a refusal."""
    try:
        refused = await _refused_fields(client, dialect, _question())
    except Refusal as refusal:
        if "max_completion_tokens" in str(refusal) and dialect.length_field == "max_tokens":
            return await _plain(client, replace(dialect, length_field="max_completion_tokens"))
        raise EngineError(f"a plain request is refused: {refusal}") from refusal
    if refused:
        reason = next(iter(refused.values()))
        advice = advise_omit(*dialect.omit, *refused)
        raise EngineError(f"the server takes no {', '.join(refused)}: {reason}\n{advice}")
    return dialect


async def _refused_fields(client: Client, dialect: Dialect, request: Request) -> dict[str, Refusal]:
    """The fields of `OMITTABLE` that had to be left out until the request was answered, and why.

    Raises:
        Refusal: it is refused for something else.
    """
    refused: dict[str, Refusal] = {}
    body = dialect.body(request, 1)
    while True:
        try:
            await client.post(body, read_choices)
        except Refusal as refusal:
            name = refusal.names([name for name in OMITTABLE if name in body])
            if name is None:
                raise
            refused[name] = refusal
            del body[name]
        else:
            return refused


async def _check_template(client: Client, dialect: Dialect, kwargs: Mapping[str, Any]) -> None:
    """Where the server shows the prompt's tokens (vLLM): the arguments must make a difference in them."""
    server = client.pool.servers[0]
    url = server.url.removesuffix("/v1") + "/tokenize"
    body = {"model": dialect.model, "messages": [{"role": "user", "content": "Hello"}]}
    tokens = []
    for given in (kwargs, {k: not v if isinstance(v, bool) else None for k, v in kwargs.items()}):
        fields = {"add_generation_prompt": True, "chat_template_kwargs": dict(given)}
        try:
            answer = await client.call(server, url, body | fields)
        except (Passing, Refusal, EngineError):
            return
        if not isinstance(answer, Mapping) or "tokens" not in answer:
            return
        tokens.append(answer["tokens"])
    if tokens[0] == tokens[1]:
        raise EngineError(
            f"the chat template on the server has no switch '{', '.join(kwargs)}': the prompt is the same "
            "with and without\ntake it out of chat_template_kwargs in the model's file, or serve another one"
        )


async def _takes_samples(client: Client, dialect: Dialect) -> bool:
    """Some servers refuse `n`, others take it and give one answer."""
    return len(await _choices(client, dialect.body(_question(temperature=1.0), 2))) == 2


async def _sampling_refused(client: Client, dialect: Dialect) -> frozenset[str]:
    """Which of a seed and stop strings are refused."""
    request = user("Say hello.", Sampling(1, temperature=1.0, seed=1, stop=("zq",)))
    try:
        return frozenset(await _refused_fields(client, dialect, request)) & {"seed", "stop"}
    except Refusal:
        return frozenset()


async def _takes_logprobs(client: Client, dialect: Dialect) -> bool:
    choices = await _choices(client, dialect.body(_question(labels=("Yes", "No")), 1))
    try:
        return len(choices[0]["logprobs"]["content"][0]["top_logprobs"]) > 1
    except (LookupError, TypeError):
        return False


async def _keeps(client: Client, dialect: Dialect, constraint: Constraint, pattern: str) -> bool:
    """Whether the server keeps a constraint, rather than refuse or ignore it."""
    request = replace(_question(24), constraint=constraint)
    choices = await _choices(client, dialect.body(request, 1))
    try:
        return re.match(pattern, text_of(choices[0]["message"])) is not None
    except (Passing, AttributeError, LookupError, TypeError):
        return False


async def _choices(client: Client, body: Mapping[str, Any]) -> list[Any]:
    """The choices of the answer to a body, none if it is refused."""
    try:
        return (await client.post(body, read_choices))[0]
    except Refusal:
        return []


def _question(max_tokens: int = 1, temperature: float = 0.0, labels: tuple[str, ...] = ()) -> Request:
    return user("Say hello.", Sampling(max_tokens, temperature=temperature), labels=labels)
