"""What the tests of prompts are shown: sources, documents, and every request about them."""

from __future__ import annotations

from authbench.data.records import Document, Source
from authbench.prompts.render import PromptSet, prompt_set, rag_prompts
from authbench.runtime.messages import Request


def words(request: Request) -> str:
    """The words of a prompt, white space reduced to single blanks."""
    assert len(request.messages) == 1
    assert request.messages[0].role == "user"
    return " ".join(request.messages[0].content.split())


def fine(context: str) -> PromptSet:
    return prompt_set("domain", context=context, scale_levels=10)


def source(name: str, text: str | None = None) -> Source:
    return Source(name, 0, 0.0, text)


LISTED = [source(f"[Domains_{k}]", f"[Text_{k}]") for k in range(10)]
DOCUMENTS = [Document("[URL]" if k < 2 else f"[URL{k}]", "[Doc_text]") for k in range(10)]
RAG = rag_prompts()


def every_request(prompts: PromptSet, sources: list[Source]) -> list[Request]:
    return [
        prompts.point(sources[0]),
        prompts.point_label(sources[0]),
        prompts.pair_rank(sources[0], sources[1]),
        prompts.pair_score(sources[0], sources[1]),
        prompts.list_rank(sources),
        prompts.list_score(sources),
    ]
