"""The Cranfield collection in its XML form: no single root element, and topics counted from 1 by order."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from authbench.errors import DataError
from authbench.retrieval.collections import Collection
from authbench.retrieval.corpora import MemoryCorpus
from authbench.retrieval.runfile import read_qrels
from authbench.retrieval.texts import Passage


def from_cranfield(corpus: Path, topics: Path, qrels: Path) -> Collection:
    """The collection from its three files. The judgements number the topics 1 to 225, whatever `<num>` says.

    Raises `DataError` that names the file for XML that is damaged or was cut.
    """
    passages: dict[str, Passage] = {}
    for document in _root(corpus).iter("doc"):
        name = _text(document, "docno")
        passages[name] = Passage(_text(document, "text"), _text(document, "title"))
    queries = {str(n): _text(topic, "title") for n, topic in enumerate(_root(topics).iter("top"), 1)}
    if not passages or not queries:
        raise DataError(f"{corpus}, {topics}: no <doc> or no <top> elements in them")
    files = (corpus, topics, qrels)
    return Collection("cranfield", MemoryCorpus(passages), queries, read_qrels(qrels), files)


def _root(path: Path) -> ElementTree.Element:
    try:
        text = path.read_text(encoding="utf-8")
        if text.startswith("<?xml"):
            text = text[text.index("?>") + 2 :]
        return ElementTree.fromstring(f"<root>{text}</root>")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except (ElementTree.ParseError, ValueError) as error:
        raise DataError(
            f"{path}: not the XML of Cranfield, or cut in the middle ({error}); fetch it again"
        ) from None


def _text(element: ElementTree.Element, name: str) -> str:
    return " ".join((element.findtext(name) or "").split())
