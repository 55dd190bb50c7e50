"""A request's messages as the text that a model sees, by the model's chat template.

Chat markup inside a message is data: `RenderedPrompt.cuts` make it be encoded as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from authbench.errors import EngineError
from authbench.runtime.engine import RenderedPrompt
from authbench.runtime.messages import Message

if TYPE_CHECKING:
    from authbench.engines.templating import CompiledTemplate

#: Names under which chat templates know the switch that turns thinking off.
_THINKING_SWITCHES = ("enable_thinking", "thinking")

#: What a template may do to a user turn while it stays "prefix + content + suffix".
_TRIMS: tuple[Callable[[str], str], ...] = (str, str.strip, str.lstrip, str.rstrip)

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

    def checked(self, source: str) -> ChatTemplate:
        """Itself, where its arguments do what they are meant to.

        Raises:
            EngineError: an argument that the template does not look at, or thinking that is switched off
                while the rendered prompt is the same with it. `source` says whose template it is.
        """
        unused = sorted(set(self.kwargs) - (self._compiled.variables if self._compiled else set()))
        if unused:
            raise EngineError(
                f"the chat template of {source} has no switch '{', '.join(unused)}'\n"
                "take it out of chat_template_kwargs in the model's file, or give another chat template"
            )
        probe = [Message("user", _PROBES[0])]
        for switch in _THINKING_SWITCHES:
            if self.kwargs.get(switch) is False:
                thinking = replace(self, kwargs={**self.kwargs, switch: True})
                if thinking.render(probe) == self.render(probe):
                    raise EngineError(
                        f"the chat template of {source} gives the same prompt whether '{switch}' is on or "
                        "off: thinking cannot be switched off\ntake it out of chat_template_kwargs in the "
                        "model's file, or give another chat template"
                    )
        return self

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
        if self._compiled is None:
            return "\n\n".join(message.content for message in messages)
        return self._compiled.render(
            {
                "tools": None,
                "documents": None,
                "strftime_now": self._now.strftime,
                "bos_token": self.bos_token,
                "eos_token": self.eos_token,
                **self.kwargs,
                "messages": [{"role": message.role, "content": message.content} for message in messages],
                "add_generation_prompt": add_generation_prompt,
            }
        )

    @cached_property
    def _now(self) -> datetime:
        """One moment for the life of the object: prompts do not change at midnight."""
        return datetime.now()

    @cached_property
    def _compiled(self) -> CompiledTemplate | None:
        if self.template is None:
            return None
        from authbench.engines.templating import CompiledTemplate

        return CompiledTemplate(self.template)

    @cached_property
    def _affixes(self) -> tuple[str, Callable[[str], str], str, re.Pattern[str] | None] | None:
        """`(prefix, trim, suffix, unsafe)` if a single user turn renders as prefix + trim(content) + suffix.

        Shown by probes. `unsafe` finds the strings for which the template searches its contents: where one
        of them occurs, the template has to be asked. None where the template is not of this form. A run
        over recorded answers spends its time on rendering; this takes a hundredth of Jinja's.
        """
        if self._compiled is None:
            return "", str, "", None
        rendered = [self._render_text([Message("user", probe)], True) for probe in _PROBES]
        if rendered[0].count(_PROBES[0]) != 1:
            return None
        prefix, _, suffix = rendered[0].partition(_PROBES[0])
        for trim in _TRIMS:
            if all(
                text == prefix + trim(probe) + suffix for text, probe in zip(rendered, _PROBES, strict=True)
            ):
                words = self._compiled.searched
                return prefix, trim, suffix, re.compile("|".join(map(re.escape, words))) if words else None
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
