"""Chat templates: a request's messages as the text that a model sees.

Rendering follows the conventions of Hugging Face (`apply_chat_template`): a sandboxed Jinja environment
with `trim_blocks`, `lstrip_blocks`, `raise_exception`, `strftime_now`, `tojson`, loop controls and the
`generation` tag. Chat markup inside a message is data: `RenderedPrompt.cuts` make it be encoded as text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from authbench.errors import EngineError
from authbench.runtime.engine import RenderedPrompt
from authbench.runtime.messages import Message

if TYPE_CHECKING:
    import jinja2

#: Names under which chat templates know the switch that turns thinking off.
THINKING_SWITCHES = ("enable_thinking", "thinking")

#: What a template may do to a user turn while it stays "prefix + content + suffix".
_TRIMS: tuple[Callable[[str], str], ...] = (str, str.strip, str.lstrip, str.rstrip)

#: String methods by which a template can make its text depend on what a content says.
_SEARCHES = frozenset(
    {"split", "rsplit", "partition", "rpartition", "startswith", "endswith", "replace", "find", "count"}
)

#: Contents that tell apart the trims above, and anything else a template may do to a content.
_PROBES = (
    "probe",
    " \n\u00a0probe \u00a0\n ",
    "\n probe\n\n  probe \n\n",
    "\tLonger: \\n \"quoted\" 'it' & <b> {{ x }} {% y %} # 100 %, é 中文 [1] > [2]\t",
)


@dataclass(frozen=True)
class ChatTemplate:
    """A model's chat template with everything that decides its rendering.

    Attributes:
        template: Jinja source, or None for a base model: the prompt is then the content alone.
        kwargs: arguments for the template, such as `enable_thinking: False`.
        control_tokens: strings that the tokenizer turns into control tokens.
        bos_token: text of the begin-of-sequence token, for templates that print it.
        eos_token: text of the end-of-sequence token.
    """

    template: str | None
    kwargs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    control_tokens: Sequence[str] = ()
    bos_token: str = ""
    eos_token: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "control_tokens", tuple(self.control_tokens))
        object.__setattr__(self, "kwargs", dict(self.kwargs))

    def render(self, messages: Sequence[Message], add_generation_prompt: bool = True) -> RenderedPrompt:
        """The chat as text, ready for the assistant's turn if `add_generation_prompt`.

        Raises `EngineError` if the template is not valid or refuses the chat.
        """
        if self._holds_control_token(messages):
            return self._render_with_cuts(messages, add_generation_prompt)
        if add_generation_prompt and len(messages) == 1 and messages[0].role == "user":
            affixes = self._affixes
            if affixes is not None:
                prefix, trim, suffix, unsafe = affixes
                content = messages[0].content
                if unsafe is None or unsafe.search(content) is None:
                    return RenderedPrompt(prefix + trim(content) + suffix)
        return RenderedPrompt(self._render_text(messages, add_generation_prompt))

    def as_dict(self) -> dict[str, Any]:
        """JSON-able form, for `Engine.rendering`; `from_dict` reads it."""
        return {
            "template": self.template,
            "kwargs": dict(self.kwargs),
            "control_tokens": list(self.control_tokens),
            "bos_token": self.bos_token,
            "eos_token": self.eos_token,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ChatTemplate:
        """The template that `as_dict` described; further keys are ignored."""
        return cls(
            template=data["template"],
            kwargs=data.get("kwargs", {}),
            control_tokens=tuple(data.get("control_tokens", ())),
            bos_token=data.get("bos_token", ""),
            eos_token=data.get("eos_token", ""),
        )

    def digest(self) -> str:
        """SHA-256 over template and arguments, in hexadecimal: the "chat template hash" of `run.json`."""
        plain = json.dumps([self.template, dict(self.kwargs)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(plain.encode()).hexdigest()

    def describe(self) -> str:
        """One line on how prompts are made."""
        if self.template is None:
            return "no chat template: the prompt is the content alone, as for a base model"
        kwargs = ", ".join(f"{name}={value!r}" for name, value in sorted(self.kwargs.items()))
        return f"chat template {self.digest()[:12]}" + (f" with {kwargs}" if kwargs else "")

    @cached_property
    def variables(self) -> frozenset[str]:
        """Names that the template looks up from outside: the arguments that can make a difference."""
        if self.template is None:
            return frozenset()
        from jinja2 import meta

        return frozenset(meta.find_undeclared_variables(self._compiled[1]))

    @property
    def unused_kwargs(self) -> tuple[str, ...]:
        """Arguments that the template never looks at, such as a thinking switch that it does not have."""
        return tuple(sorted(set(self.kwargs) - self.variables))

    @property
    def depends_on_date(self) -> bool:
        """True if the prompt holds today's date, so that tomorrow's run would ask something else.

        Such templates take a fixed date as an argument (`date_string` in those of Llama 3.2).
        """
        return "strftime_now" in self.variables and "date_string" not in self.kwargs

    # How it is done: a sentinel character marks the inside of each control token that stands in data, so
    # the template sees no markup there, and the marks that come out are the cuts.

    def _holds_control_token(self, messages: Sequence[Message]) -> bool:
        pattern, first = self._control_pattern
        if pattern is None:
            return False
        return any(
            any(char in message.content for char in first) and pattern.search(message.content) is not None
            for message in messages
        )

    @cached_property
    def _control_pattern(self) -> tuple[re.Pattern[str] | None, str]:
        """Finds the start of every control token, overlapping ones too; and their first characters.

        One character cannot be cut in two, so tokens that short are left out.
        """
        tokens = sorted(
            {token for token in self.control_tokens if len(token) > 1}, key=lambda t: (-len(t), t)
        )
        if not tokens:
            return None, ""
        pattern = re.compile("(?=" + "|".join(re.escape(token) for token in tokens) + ")")
        return pattern, "".join(sorted({token[0] for token in tokens}))

    def _render_with_cuts(self, messages: Sequence[Message], add_generation_prompt: bool) -> RenderedPrompt:
        pattern, _ = self._control_pattern
        assert pattern is not None
        mark = _unused_character([self.template or "", *(message.content for message in messages)])
        marked = [replace(m, content=_mark(m.content, pattern, mark)) for m in messages]
        pieces = self._render_text(marked, add_generation_prompt).split(mark)
        cuts, offset = [], 0
        for piece in pieces[:-1]:
            offset += len(piece)
            cuts.append(offset)
        return RenderedPrompt("".join(pieces), tuple(cuts))

    def _render_text(self, messages: Sequence[Message], add_generation_prompt: bool) -> str:
        if self.template is None:
            return "\n\n".join(message.content for message in messages)
        from jinja2 import TemplateError

        compiled, _ = self._compiled
        values: dict[str, Any] = {
            "tools": None,
            "documents": None,
            "strftime_now": self._now.strftime,
            "bos_token": self.bos_token,
            "eos_token": self.eos_token,
            **self.kwargs,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "add_generation_prompt": add_generation_prompt,
        }
        try:
            return compiled.render(values)
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise EngineError(f"the chat template cannot render this chat: {_one_line(error)}") from error

    @cached_property
    def _now(self) -> datetime:
        """One moment for the life of the object: prompts do not change at midnight."""
        return datetime.now()

    @cached_property
    def _compiled(self) -> tuple[jinja2.Template, jinja2.nodes.Template]:
        from jinja2 import TemplateSyntaxError

        environment = _environment()
        source = self.template or ""
        try:
            return environment.from_string(source), environment.parse(source)
        except TemplateSyntaxError as error:
            raise EngineError(
                f"the chat template is not valid, line {error.lineno}: {error.message}"
            ) from error

    @cached_property
    def _affixes(self) -> tuple[str, Callable[[str], str], str, re.Pattern[str] | None] | None:
        """`(prefix, trim, suffix, unsafe)` if a single user turn renders as prefix + trim(content) + suffix.

        Shown by probes. `unsafe` finds the strings for which the template searches its contents: where one
        of them occurs, the template has to be asked. None where the template is not of this form.
        """
        if self.template is None:
            return "", str, "", None
        rendered = [self._render_text([Message("user", probe)], True) for probe in _PROBES]
        if rendered[0].count(_PROBES[0]) != 1:
            return None
        prefix, _, suffix = rendered[0].partition(_PROBES[0])
        for trim in _TRIMS:
            if all(
                text == prefix + trim(probe) + suffix for text, probe in zip(rendered, _PROBES, strict=True)
            ):
                words = sorted(_searched_strings(self._compiled[1]))
                return prefix, trim, suffix, re.compile("|".join(map(re.escape, words))) if words else None
        return None


def encode_pieces(prompt: RenderedPrompt, encode: Callable[[str], list[int]]) -> list[int]:
    """Token ids of a prompt; `encode` must add no special tokens, the template has printed them."""
    if not prompt.cuts:
        return encode(prompt.text)
    return [token for piece in prompt.pieces() for token in encode(piece)]


def thinking_is_off(template: ChatTemplate) -> bool | None:
    """Whether the rendered prompt has thinking switched off; None if the template has no such switch.

    Decided on the rendered prompt, not on the argument: off means that it equals the prompt of the switch
    set to False, and differs from that of True.
    """
    probe = [Message("user", _PROBES[0])]
    prompt = template.render(probe).text
    for switch in THINKING_SWITCHES:
        if switch not in template.variables:
            continue
        on, off = (
            replace(template, kwargs={**template.kwargs, switch: value}).render(probe).text
            for value in (True, False)
        )
        if on != off:
            return prompt == off
    return None


def _unused_character(texts: Sequence[str]) -> str:
    """A private-use character that occurs in none of the texts."""
    used = set().union(*texts)
    for code in range(0xE000, 0xF900):
        if chr(code) not in used:
            return chr(code)
    raise EngineError("a prompt uses every character of Unicode's private-use area")


def _mark(content: str, pattern: re.Pattern[str], mark: str) -> str:
    """The content with the mark after the first character of every control token."""
    edges = [0, *(match.start() + 1 for match in pattern.finditer(content)), len(content)]
    return mark.join(content[a:b] for a, b in pairwise(edges))


def _searched_strings(tree: jinja2.nodes.Template) -> set[str]:
    """Literals that a template looks for in contents: with string methods, `replace`, and `in`.

    Identifiers on the left of `in` ask for a key of a message (`'tool_calls' in message`).
    """
    from jinja2 import nodes

    found: set[str] = set()
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr in _SEARCHES:
            found.update(_literals(call.args))
    for used in tree.find_all(nodes.Filter):
        if used.name == "replace":
            found.update(_literals(used.args))
    for compare in tree.find_all(nodes.Compare):
        if any(operand.op in ("in", "notin") for operand in compare.ops):
            found.update(word for word in _literals([compare.expr]) if not word.isidentifier())
    return {text for text in found if text.strip()}


def _literals(expressions: Sequence[jinja2.nodes.Node]) -> Iterator[str]:
    from jinja2 import nodes

    for expression in expressions:
        if isinstance(expression, nodes.Const) and isinstance(expression.value, str):
            yield expression.value


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _environment() -> jinja2.Environment:
    """A sandbox with the filters and globals that chat templates on the hub expect."""
    from jinja2 import TemplateError, nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}` marks the assistant's text for training; for rendering it does nothing."""

        tags = {"generation"}  # noqa: RUF012 - declared so by jinja2

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    def tojson(
        value: Any,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        return json.dumps(
            value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    return environment
