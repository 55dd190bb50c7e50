"""The catalogue of data sets: which files each has, where they come from, their sizes, hashes and licences.

The entries are in `catalog.yaml` beside this module; nothing here touches the network or a data file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from authbench.errors import ConfigError, did_you_mean

Kind = Literal["authority", "questions", "retrieval"]
Family = Literal["domain", "entity"]
LevelRule = Literal["label", "log-space"]


@dataclass(frozen=True, slots=True)
class Hub:
    """A data set repository on the Hugging Face hub, pinned to one revision."""

    id: str
    revision: str


@dataclass(frozen=True, slots=True)
class FileSpec:
    """One file of a data set.

    Attributes:
        path: where it lies inside a data folder, a mirror or the cache, which are laid out alike.
        role: what the loaders use it for: corpus, lists, pairs, questions, topics, qrels or run.
        url: where the very bytes can be had, or None. In a data set of the hub, such a file is at its path
            in the repository.
        pattern: where the file's name is not known: a pattern for the lower-cased paths beside and below
            `path`.
        shipped: True if the file comes with authbench (`path` is then below the shipped `data` folder).
        size: bytes, or None where upstream does not say.
        sha256: hexadecimal digest, or None where upstream does not say.
        etag: of a file of the hub, the hash that the hub lists, see `hub.HubFile`.
        rows: records in the file, or None.
        domain: for entities, the domain that the file is of.
        scale: the scale of its labels ("fine" or "coarse"); None: raw values or fine labels.
        text: True if it has web page text.
        difficulty: of a file of pairs.
        sample: how many records the corpus takes from it (AuthorityBench, section 3.2.1); None: all.
        retriever: of a ranking file, the first stage that made it.
    """

    path: str
    role: str
    url: str | None = None
    pattern: str | None = None
    shipped: bool = False
    size: int | None = None
    sha256: str | None = None
    etag: str | None = None
    rows: int | None = None
    domain: str | None = None
    scale: str | None = None
    text: bool = False
    difficulty: Literal["easy", "hard"] | None = None
    sample: int | None = None
    retriever: str | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Dataset:
    """One entry of the catalogue.

    Attributes:
        levels: how levels come about: `label` (an integer label 0 to 10, or levels as they stand) or
            `log-space` (the rule of section 3.2.1 over a positive value); only for authority data.
        columns: role -> column where the columns are known; the rest is found by name.
        by_hand: how to come by files that have neither URL nor hub path.
        parts: names of data sets that this one joins; it has no files of its own then.
        question: how the shown question is made: `claim` turns a claim into a yes/no question.
        stand_in: a set of the same kind that can take its place where it cannot be had.
    """

    name: str
    title: str
    kind: Kind
    files: tuple[FileSpec, ...]
    licence: str
    source: str
    citation: str = ""
    note: str = ""
    family: Family = "domain"
    levels: LevelRule = "label"
    has_text: bool = False
    hub: Hub | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    by_hand: str = ""
    parts: tuple[str, ...] = ()
    question: Literal["as-is", "claim"] = "as-is"
    stand_in: str = ""

    def select(self, role: str, **wanted: Any) -> tuple[FileSpec, ...]:
        """The files of a role whose attributes equal `wanted`; a file without a scale fits either scale."""
        found = []
        for spec in self.files:
            fits = all(
                getattr(spec, key) == value or (key == "scale" and spec.scale is None)
                for key, value in wanted.items()
            )
            if spec.role == role and fits:
                found.append(spec)
        return tuple(found)


@lru_cache(maxsize=1)
def catalog() -> Mapping[str, Dataset]:
    """Every data set by name, in the order of `catalog.yaml`."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = Path(__file__).with_name("catalog.yaml").read_text(encoding="utf-8")
    entries: dict[str, dict[str, Any]] = yaml.load(text, Loader=loader)
    return MappingProxyType({name: _dataset(name, entry) for name, entry in entries.items()})


def dataset(name: str) -> Dataset:
    """The entry called `name`; `ConfigError` with the nearest name if there is none."""
    known = catalog()
    if name not in known:
        hint = did_you_mean(name, list(known)) or f"; known: {', '.join(known)}"
        raise ConfigError(f"no data set is called '{name}'{hint}")
    return known[name]


def _dataset(name: str, entry: dict[str, Any]) -> Dataset:
    files = tuple(FileSpec(**spec) for spec in entry.pop("files"))
    parts = tuple(entry.pop("parts", ()))
    hub = Hub(**entry.pop("hub")) if "hub" in entry else None
    columns = MappingProxyType(entry.pop("columns", {}))
    return Dataset(name=name, files=files, hub=hub, columns=columns, parts=parts, **entry)
