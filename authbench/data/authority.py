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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import MappingProxyType

from authbench.data.catalog import Dataset, Family, FileSpec, catalog, dataset
from authbench.data.columns import check_roles
from authbench.data.corpus import WEB, Corpus, Entry, Number, level_entries, read_corpus
from authbench.data.download import NotThere
from authbench.data.fetch import FileRecord, Places, fetch, known_absent, local, own_file
from authbench.data.levels import Scale, get_scale
from authbench.data.official import OfficialFile
from authbench.data.records import ListItem, PairItem, Source
from authbench.data.sampling import level_counts
from authbench.errors import ConfigError, DataError, did_you_mean

Lists = Mapping[str, tuple[ListItem, ...]]
Pairs = Mapping[str, tuple[PairItem, ...]]


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
    lists: Lists
    pairs: Pairs
    files: tuple[FileRecord, ...]
    dropped: Mapping[str, int]
    has_text: bool

    def family_of(self, domain: str) -> Family:
        """Whether a domain holds web domains or entities; a data set made of parts has both."""
        return "domain" if domain == WEB else "entity"

    def counts(self, domain: str) -> tuple[int, ...]:
        """How many sources of a domain each level has, lowest level first."""
        return level_counts(self.domains[domain], self.scale.levels)


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
        path: a CSV, TSV, JSON or JSONL file with a name column and either a level (0 to 10; 10 is dropped,
            and neighbours are merged for coarse), a coarse_level (0 to 4) or a value (positive, levelled by
            the log-space rule), and perhaps text. With a domain column beside an entity or name column it
            holds entities.
        need_text: leave out sources without web page text, and count them.
        places: where to look; None: as the environment says.

    Raises:
        ConfigError: an unknown name, scale, role or domain; text asked of a set that has none.
        DataError: a file that is missing, damaged or cannot be read; no source left.
    """
    wanted = get_scale(scale)
    fixed = check_roles(columns)
    places = places or Places.from_environment()
    if path is not None:
        return _load_own(name, wanted, fixed, domains, path, need_text)
    entry = dataset(name)
    if entry.parts:
        if need_text:
            raise ConfigError(f"dataset '{name}' has no web page text; set context: [without]")
        return _joined(
            name,
            [load_authority(p, scale, seed=seed, columns=columns, places=places) for p in entry.parts],
            domains,
        )
    if entry.kind != "authority":
        raise ConfigError(f"dataset.name: '{name}' is {_kinds(entry)}, and this task needs authority labels")
    if need_text and not entry.has_text:
        raise ConfigError(f"dataset '{name}' has no web page text; set context: [without]")
    return _Load(entry, wanted, seed, {**entry.columns, **fixed}, need_text, places).run(domains)


@dataclass(slots=True)
class _Load:
    """One load of a data set of the catalogue: what was asked for, and what has been read so far."""

    entry: Dataset
    scale: Scale
    seed: int
    columns: Mapping[str, str]
    need_text: bool
    places: Places
    files: list[FileRecord] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def run(self, domains: Sequence[str] | None) -> AuthorityData:
        specs = self._choose("corpus")
        in_files = [spec.domain for spec in specs if spec.domain]
        if in_files:
            _check_domains(domains, in_files)
            specs = [spec for spec in specs if domains is None or spec.domain in domains]
        sources: dict[str, tuple[Source, ...]] = {}
        for spec in specs:
            corpus = self._read(spec)
            for domain, entries in _picked(corpus, None if in_files else domains):
                sources[domain] = level_entries(corpus, self._sample(entries, spec, domain), self.scale)
            self.dropped.update(corpus.dropped)
        official = self._official(sources[WEB]) if WEB in sources else ({}, {})
        return _finish(
            self.entry.name, self.scale, self.entry.family, sources, official, self.files, self.dropped
        )

    def _choose(self, role: str) -> list[FileSpec]:
        """The files of a role on the scale: with text if it is needed, else without if there are such."""
        specs = self.entry.select(role, scale=self.scale.name)
        return [spec for spec in specs if spec.text == self.need_text] or list(specs)

    def _read(self, spec: FileSpec) -> Corpus:
        self.files.append(fetch(self.entry, spec, self.places))
        return read_corpus(
            self.files[-1].location,
            self.columns,
            family=self.entry.family,
            rule=self.entry.levels,
            group=spec.domain,
            coarse=spec.scale == "coarse",
            need_text=self.need_text,
            hub=self.entry.hub is not None,
        )

    def _sample(self, entries: list[Entry], spec: FileSpec, domain: str) -> list[Entry]:
        if spec.sample is None or len(entries) <= spec.sample:
            return entries
        self.dropped["not sampled"] += len(entries) - spec.sample
        random = Random(f"{self.seed}/{self.entry.name}/{domain}/corpus")
        return [entries[index] for index in sorted(random.sample(range(len(entries)), spec.sample))]

    def _official(self, sources: Sequence[Source]) -> tuple[Lists, Pairs]:
        online = self.files[0].where in {"cache", "network"}
        by_name = {source.name.casefold(): source for source in sources}
        lists: dict[str, tuple[ListItem, ...]] = {}
        pairs: dict[str, tuple[PairItem, ...]] = {}
        for spec in [*self._choose("lists")[:1], *self._choose("pairs")]:
            record = self._optional(spec, online)
            if record is None:
                continue
            self.files.append(record)
            number: Number = "coarse_level" if spec.scale == "coarse" else "level"
            reader = OfficialFile(record.location, self.columns, by_name, self.scale, number, self.need_text)
            if spec.difficulty is None:
                lists[WEB], left_out = reader.lists(WEB)
                self.dropped["official lists"] += left_out
            else:
                pairs[spec.difficulty], left_out = reader.pairs(WEB, spec.difficulty)
                self.dropped[f"official {spec.difficulty} pairs"] += left_out
        return lists, pairs

    def _optional(self, spec: FileSpec, online: bool) -> FileRecord | None:
        """The file, where it is present: on this machine, or on the hub if the corpus came from there."""
        if local(spec, self.places) is None and (not online or known_absent(self.entry, spec, self.places)):
            return None
        try:
            return fetch(self.entry, spec, self.places)
        except NotThere:
            return None


def _joined(name: str, parts: Sequence[AuthorityData], wanted: Sequence[str] | None) -> AuthorityData:
    """Data sets whose domains differ, as one."""
    sources = {domain: group for part in parts for domain, group in part.domains.items()}
    _check_domains(wanted, list(sources))
    chosen = {domain: group for domain, group in sources.items() if wanted is None or domain in wanted}
    dropped: Counter[str] = Counter()
    for part in parts:
        dropped.update(part.dropped)
    files = [record for part in parts for record in part.files]
    return replace(
        _finish(name, parts[0].scale, parts[0].family, chosen, ({}, {}), files, dropped), has_text=False
    )


def _load_own(
    name: str,
    scale: Scale,
    fixed: Mapping[str, str],
    domains: Sequence[str] | None,
    path: Path,
    need_text: bool,
) -> AuthorityData:
    known = catalog().get(name)
    family = known.family if known and known.kind == "authority" else None
    record = own_file(path)
    corpus = read_corpus(path, fixed, family=family, rule=None, need_text=need_text)
    if family is None and list(corpus.entries) == [WEB]:  # as `authbench data build` writes web data
        corpus.family = "domain"
    if corpus.family == "entity" and list(corpus.entries) == [WEB]:  # no column says of which domain they are
        if domains is None or len(domains) != 1:
            raise DataError(
                f"{path}: no column says which domain an entity is of\n"
                "Name it (--set dataset.columns.group=COLUMN), or the domain (--set dataset.domains=[movies])"
            )
        corpus.entries = {domains[0]: corpus.entries[WEB]}
    picked = _picked(corpus, domains if corpus.family == "entity" else None)
    sources = {domain: level_entries(corpus, entries, scale) for domain, entries in picked}
    return _finish(name, scale, corpus.family, sources, ({}, {}), [record], corpus.dropped)


def _picked(corpus: Corpus, domains: Sequence[str] | None) -> Iterable[tuple[str, list[Entry]]]:
    _check_domains(domains, list(corpus.entries))
    return [
        (domain, entries)
        for domain, entries in corpus.entries.items()
        if domains is None or domain in domains
    ]


def _check_domains(wanted: Sequence[str] | None, known: Sequence[str]) -> None:
    for domain in wanted or ():
        if domain not in known:
            hint = did_you_mean(domain, tuple(known)) or f"; known: {', '.join(known)}"
            raise ConfigError(f"dataset.domains: no domain is called '{domain}'{hint}")


def _finish(
    name: str,
    scale: Scale,
    family: Family,
    sources: Mapping[str, tuple[Source, ...]],
    official: tuple[Lists, Pairs],
    files: Sequence[FileRecord],
    dropped: Mapping[str, int],
) -> AuthorityData:
    left_out = {why: count for why, count in sorted(dropped.items()) if count}
    if not any(sources.values()):
        reasons = ", ".join(f"{count} {why}" for why, count in left_out.items())
        raise DataError(f"{name}: no source left of {files[0].location} ({reasons or 'it is empty'})")
    lists, pairs = official
    return AuthorityData(
        name=name,
        scale=scale,
        family=family,
        domains=MappingProxyType(dict(sources)),
        lists=MappingProxyType(dict(lists)),
        pairs=MappingProxyType(dict(pairs)),
        files=tuple(files),
        dropped=MappingProxyType(left_out),
        has_text=any(source.text for group in sources.values() for source in group),
    )


def _kinds(entry: Dataset) -> str:
    return "a set of questions" if entry.kind == "questions" else "a retrieval collection"
