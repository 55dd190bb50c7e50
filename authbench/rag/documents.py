"""How much of a question's documents the model is shown, in tokens or in characters of each.

The text is cut here and nowhere else, so that filter and generator see the same. URLs are shown as the data
has them and never visited; a document's text is data, whatever it says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from authbench.data.records import Document, Question
from authbench.runtime.engine import Engine
from authbench.runtime.messages import Sampling, user

#: Characters for one token where no tokenizer is at hand.
CHARS_PER_TOKEN = 4


def characters_within(text: str, tokens: int, engine: Engine) -> int:
    """The most characters, from the start of a text, that take `tokens` tokens or fewer.

    Found with the engine's tokenizer, by halving; estimated at four characters a token where it has none.
    """
    if len(text.encode("utf-8", "replace")) <= tokens:
        return len(text)  # a token is at least one byte
    frame = _tokens("", engine)
    if frame is None:
        return min(len(text), tokens * CHARS_PER_TOKEN)
    # What is halved need not be all of a very long text: nothing has 64 characters to the token for long.
    low, high = 0, min(len(text), 64 * tokens)
    if (_tokens(text[:high], engine) or 0) - frame <= tokens:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if (_tokens(text[:middle], engine) or 0) - frame <= tokens:
            low = middle
        else:
            high = middle
    return low


def _tokens(text: str, engine: Engine) -> int | None:
    """Tokens of a chat that says this text: in it, chat markup counts as the text that it is encoded as."""
    counts = engine.count_tokens([engine.render(user(text, Sampling(max_tokens=1)))])
    return None if counts is None else counts[0]


def cut_documents(question: Question, budget: Callable[[int, Document], int | None]) -> Question:
    """The question with each document's text cut to `budget(place, document)` characters; None leaves it."""
    documents = []
    for place, document in enumerate(question.documents):
        characters = budget(place, document)
        whole = characters is None or characters >= len(document.text)
        documents.append(document if whole else replace(document, text=document.text[:characters]))
    return replace(question, documents=tuple(documents))
