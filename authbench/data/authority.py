"""Authority data: sources with levels by domain, and the official lists and pairs where they are present.

Sections 3.2 to 3.4 of AuthorityBench say how the sets are built. What they leave open is decided here:

- `entityauth` is sampled first (10,000 players, 10,000 movies, 2,000 songs, by the seed) and levelled after,
  with the smallest and largest value of the sample: the paper defines its formula over the corpus, which is
  the sample. So the top level is never empty; an entity's level can differ between seeds where a seed leaves
  out the most popular one.
- Of several records of one name in a domain the first counts; the others are dropped and counted.
- Official lists and pairs are used where they are present. A data folder or mirror is taken as it is, so
  files that it lacks are not fetched; a corpus out of the cache or the network brings the hub's lists and
  pairs with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import TypeVar

from authbench.data.catalog import Dataset, Family, FileSpec, catalog, dataset
from authbench.data.columns import check_roles
from authbench.data.corpus import WEB, Entry, Number, level_entries, read_corpus
from authbench.data.download import NotThere
from authbench.data.fetch import FileRecord, Places, fetch, local, own_file
from authbench.data.levels import Scale, get_scale
from authbench.data.official import OfficialFile
from authbench.data.records import ListItem, PairItem, Source
from authbench.data.sampling import by_level
from authbench.errors import ConfigError, DataError, did_you_mean

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AuthorityData:
    """A levelled corpus.

    Attributes:
        name: of the data set.
        scale: fine or coarse.
        family: whether the names are web domains or entities, which decides the prompts.
        domains: sources by domain, in the order of the file; web data has the one key "domains".
        lists: official lists by domain; empty where there are none.
        pairs: official pairs by difficulty ("easy", "hard"); empty where there are none.
        files: what was read.
        dropped: why records were left out -> how many ("not sampled" among them).
        has_text: whether sources carry web page text.
    """

    name: str
    scale: Scale
    family: Family
    domains: Mapping[str, tuple[Source, ...]]
    lists: Mapping[str, tuple[ListItem, ...]]
    pairs: Mapping[str, tuple[PairItem, ...]]
    files: tuple[FileRecord, ...]
    dropped: Mapping[str, int]
    has_text: bool

    def family_of(self, domain: str) -> Family:
        """Whether a domain holds web domains or entities; a data set made of parts has both."""
        return "domain" if domain == WEB else "entity"

    def counts(self, domain: str) -> tuple[int, ...]:
        """How many sources of a domain each level has, lowest level first."""
        return tuple(map(len, by_level(self.domains[domain], self.scale.levels)))


def load_authority(
    name: str,
    scale: str,
    *,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    domains: Sequence[str] | None = None,
    path: Path | None = None,
    need_text: bool = False,
    places: Places | None = None,
) -> AuthorityData:
    """Load a data set of the catalogue, or a user's own file, with levels on a scale.

    Args:
        name: of the catalogue; with `path` any name (one of the catalogue: its family, domain or entity).
        scale: "fine" (0..9) or "coarse" (0..4).
        seed: of the sample that a corpus is, where it is one.
        columns: role -> column, over the catalogue's; roles are those of `authbench.data.columns`.
        domains: which domains of entities to load; None: all.
        path: a CSV, TSV, Parquet, JSON or JSONL file with a name column and either a level (0 to 10; 10 is
            dropped, and neighbours are merged for coarse), a coarse_level (0 to 4) or a value (positive,
            levelled by the log-space rule), and perhaps text. With a domain column beside an entity or name
            column it holds entities.
        need_text: leave out sources without web page text, and count them.
        places: where to look; None: as the environment says.

    Raises:
        ConfigError: an unknown name, scale, role or domain; text asked of a set that has none.
        DataError: a file that is missing, damaged or cannot be read; no source left.
    """
    load = _Load(get_scale(scale), seed, check_roles(columns), need_text, places or Places.from_environment())
    if path is not None:
        known = catalog().get(name)
        family = load.read_own(path, known.family if known and known.kind == "authority" else None, domains)
        return load.finish(name, family, has_text=True)
    entry = dataset(name)
    if entry.kind != "authority":
        kind = "a set of questions" if entry.kind == "questions" else "a retrieval collection"
        raise ConfigError(f"dataset.name: '{name}' is {kind}, and this task needs authority labels")
    if need_text and not entry.has_text:
        raise ConfigError(f"dataset '{name}' has no web page text; set context: [without]")
    if entry.parts:
        for part in entry.parts:
            load.read(dataset(part), None)
        load.sources = _picked(load.sources, domains)
    else:
        load.read(entry, domains)
    return load.finish(name, entry.family, entry.has_text)


@dataclass(slots=True)
class _Load:
    """One load: what was asked for, and what has been read so far."""

    scale: Scale
    seed: int
    columns: Mapping[str, str]
    need_text: bool
    places: Places
    sources: dict[str, tuple[Source, ...]] = field(default_factory=dict)
    lists: dict[str, tuple[ListItem, ...]] = field(default_factory=dict)
    pairs: dict[str, tuple[PairItem, ...]] = field(default_factory=dict)
    files: list[FileRecord] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def read_own(self, path: Path, family: Family | None, domains: Sequence[str] | None) -> Family:
        """Read a user's own file; gives the family of its names, which is found out where it is None."""
        self.files.append(own_file(path))
        corpus = read_corpus(path, self.columns, family=family, rule=None, need_text=self.need_text)
        nameless = list(corpus.entries) == [WEB]  # no column says which domain a name is of
        if family is None and nameless:  # as `authbench data build` writes web data
            corpus.family = "domain"
        if corpus.family == "entity" and nameless:
            if domains is None or len(domains) != 1:
                raise DataError(
                    f"{path}: no column says which domain an entity is of\n"
                    "Name it (--set dataset.columns.group=COLUMN), or the domain "
                    "(--set dataset.domains=[movies])"
                )
            corpus.entries = {domains[0]: corpus.entries[WEB]}
        picked = _picked(corpus.entries, domains if corpus.family == "entity" else None)
        for domain, entries in picked.items():
            self.sources[domain] = level_entries(corpus, entries, self.scale)
        self.dropped.update(corpus.dropped)
        return corpus.family

    def read(self, entry: Dataset, domains: Sequence[str] | None) -> None:
        """Read a data set of the catalogue, and its official lists and pairs."""
        columns = {**entry.columns, **self.columns}
        specs = self._choose(entry, "corpus")
        by_file = {spec.domain: spec for spec in specs if spec.domain}
        if by_file:
            specs, domains = list(_picked(by_file, domains).values()), None
        for spec in specs:
            self.files.append(fetch(entry, spec, self.places))
            corpus = read_corpus(
                self.files[-1].location,
                columns,
                family=entry.family,
                rule=entry.levels,
                group=spec.domain,
                coarse=spec.scale == "coarse",
                need_text=self.need_text,
            )
            for domain, entries in _picked(corpus.entries, domains).items():
                sampled = self._sample(entries, spec.sample, f"{entry.name}/{domain}")
                self.sources[domain] = level_entries(corpus, sampled, self.scale)
            self.dropped.update(corpus.dropped)
        if WEB in self.sources:
            self._read_official(entry, columns)

    def finish(self, name: str, family: Family, has_text: bool) -> AuthorityData:
        left_out = {why: count for why, count in sorted(self.dropped.items()) if count}
        if not any(self.sources.values()):
            reasons = ", ".join(f"{count} {why}" for why, count in left_out.items())
            raise DataError(
                f"{name}: no source left of {self.files[0].location} ({reasons or 'it is empty'})"
            )
        return AuthorityData(
            name=name,
            scale=self.scale,
            family=family,
            domains=MappingProxyType(self.sources),
            lists=MappingProxyType(self.lists),
            pairs=MappingProxyType(self.pairs),
            files=tuple(self.files),
            dropped=MappingProxyType(left_out),
            has_text=has_text and any(one.text for group in self.sources.values() for one in group),
        )

    def _choose(self, entry: Dataset, role: str) -> list[FileSpec]:
        """The files of a role on the scale: with text if it is needed, else without if there are such."""
        specs = entry.select(role, scale=self.scale.name)
        return [spec for spec in specs if spec.text == self.need_text] or list(specs)

    def _sample(self, entries: list[Entry], count: int | None, key: str) -> list[Entry]:
        if count is None or len(entries) <= count:
            return entries
        self.dropped["not sampled"] += len(entries) - count
        random = Random(f"{self.seed}/{key}/corpus")
        return [entries[index] for index in sorted(random.sample(range(len(entries)), count))]

    def _read_official(self, entry: Dataset, columns: Mapping[str, str]) -> None:
        online = self.files[0].where in {"cache", "network"}
        by_name = {source.name.casefold(): source for source in self.sources[WEB]}
        for spec in [*self._choose(entry, "lists")[:1], *self._choose(entry, "pairs")]:
            if not online and local(spec, self.places) is None:
                continue
            try:
                record = fetch(entry, spec, self.places)
            except NotThere:
                continue
            self.files.append(record)
            number: Number = "coarse_level" if spec.scale == "coarse" else "level"
            file = OfficialFile(record.location, columns, by_name, self.scale, number, self.need_text)
            if spec.difficulty is None:
                self.lists[WEB], left_out = file.lists(WEB)
                self.dropped["official lists"] += left_out
            else:
                self.pairs[spec.difficulty], left_out = file.pairs(WEB, spec.difficulty)
                self.dropped[f"official {spec.difficulty} pairs"] += left_out


def _picked(found: Mapping[str, T], wanted: Sequence[str] | None) -> dict[str, T]:
    """Those of the domains that are wanted, all if it is None; `ConfigError` for one that is not there."""
    for domain in wanted or ():
        if domain not in found:
            hint = did_you_mean(domain, tuple(found)) or f"; known: {', '.join(found)}"
            raise ConfigError(f"dataset.domains: no domain is called '{domain}'{hint}")
    return {domain: one for domain, one in found.items() if wanted is None or domain in wanted}
