"""Chat templates as Jinja: compiled by Hugging Face's conventions, and what can be read off their source.

Not through `transformers`, whose `apply_chat_template` does the same: `score`, `replay` and the embedded
engine render prompts where `transformers` is not installed, and importing it takes a second. A test holds
the two equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from authbench.errors import EngineError

#: String methods by which a template can make its text depend on what a content says.
_SEARCHES = frozenset(
    {"split", "rsplit", "partition", "rpartition", "startswith", "endswith", "replace", "find", "count"}
)


class CompiledTemplate:
    """The Jinja source of a chat template. Raises `EngineError` of one line if it is not valid."""

    def __init__(self, source: str) -> None:
        try:
            self._template = _ENVIRONMENT.from_string(source)
            self._tree = _ENVIRONMENT.parse(source)
        except TemplateSyntaxError as error:
            raise EngineError(
                f"the chat template is not valid, line {error.lineno}: {error.message}"
            ) from error

    def render(self, values: dict[str, Any]) -> str:
        """The text. Raises `EngineError` of one line if the template refuses the chat."""
        try:
            return self._template.render(values)
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            said = " ".join(str(error).split()) or type(error).__name__
            raise EngineError(f"the chat template cannot render this chat: {said}") from error

    @cached_property
    def variables(self) -> frozenset[str]:
        """Names that the template looks up from outside: the arguments that can make a difference."""
        return frozenset(meta.find_undeclared_variables(self._tree))

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """Literals that the template looks for in contents: with string methods, `replace`, and `in`.

        Identifiers on the left of `in` ask for a key of a message (`'tool_calls' in message`).
        """
        found: set[str] = set()
        for call in self._tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Getattr) and call.node.attr in _SEARCHES:
                found.update(_literals(call.args))
        for used in self._tree.find_all(nodes.Filter):
            if used.name == "replace":
                found.update(_literals(used.args))
        for compare in self._tree.find_all(nodes.Compare):
            if any(operand.op in ("in", "notin") for operand in compare.ops):
                found.update(word for word in _literals([compare.expr]) if not word.isidentifier())
        return tuple(sorted(text for text in found if text.strip()))


def _literals(expressions: Sequence[nodes.Node]) -> Iterator[str]:
    for expression in expressions:
        if isinstance(expression, nodes.Const) and isinstance(expression.value, str):
            yield expression.value


class _Generation(Extension):
    """`{% generation %}` marks the assistant's text for training; for rendering it does nothing."""

    tags = {"generation"}  # noqa: RUF012 - declared so by jinja2

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _tojson(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **options)


_ENVIRONMENT = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
)
_ENVIRONMENT.filters["tojson"] = _tojson
_ENVIRONMENT.globals["raise_exception"] = _raise_exception
