"""What has to be said with a table's numbers: how they were counted, and what they are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from authbench.measures.resampling import Policy
from authbench.reporting.grid import Table
from authbench.reporting.results import Run
from authbench.words import left_out_sentences

#: Options under which the papers' protocol was followed. Any other value is named below the table.
PROTOCOL: dict[str, Any] = {
    "constrain": "none",
    "scoring": "text",
    "order": "drawn",
    "overflow": "error",
    "anchors": 5,
    "clustering": "greedy",
}
_NO_OPTION = (None, False, "", "none", "off", "default")

#: The papers' data set of each of its tables.
_OWN_DATA = {
    "authoritybench/1": "domainauth",
    "authoritybench/2": "domainauth",
    "authoritybench/3": "domainauth",
    "authoritybench/4": "entityauth",
    "authoritybench/5": "ragauth",
    "authoritybench/6": "entityauth",
}
#: The papers' scale of its tables of lists.
_OWN_SCALE = {
    "authoritybench/1": "fine",
    "authoritybench/2": "coarse",
    "authoritybench/4": "fine",
    "authoritybench/6": "coarse",
}
#: Measures printed below others, by the name of their line.
_EXTRAS = {
    "unequal": "accuracy without pairs of equal levels, for which no answer is right",
    "eq.tied": "share of pairs of equal levels that got equal scores",
}
#: The tables of LCR of which little is known.
_LCR_TABLES = ("lcr/2", "lcr/3")
_CAR_NUMBERS = (
    "The numbers are those of CAR (arXiv 2605.04495), the same group's follow-up, with exponential gain; "
    "that its model and checkpoints were LCR's is likely, not known."
)
_UPPER_BOUND = (
    "Thresholds of reranked numbers are the best on these very queries, so they cannot lose: an upper bound. "
    "`authbench tune RUN` gives held-out thresholds and a shuffled control."
)


def headline(runs: Sequence[Run], table: str | None = None) -> str:
    """The beginning of a title: PARTIAL with its limit, then the paper's table, or what the experiment is."""
    partial = [run for run in runs if run.partial]
    limits = sorted({run.limit for run in partial if run.limit is not None})
    stamp = ""
    if partial:
        stamp = f"PARTIAL (--limit {', '.join(map(str, limits))}): " if limits else "PARTIAL: "
    if table is None:
        return f"{stamp}{_experiment_title(runs[0])}"
    paper, _, number = table.partition("/")
    name = {"authoritybench": "AuthorityBench", "lcr": "LCR"}.get(paper)
    if name is None or not number.isdigit():
        return stamp
    return f"{stamp}{name} Table {number}. "


def footnotes(
    table: Table, runs: Sequence[Run], policy: Policy, *, intervals: bool, paper: bool
) -> list[str]:
    """All footnotes but the legend of the marks, which depends on the format."""
    return [
        *_counted(table, policy),
        *(["low, high: 95 % bootstrap interval over items."] if intervals and _has_intervals(table) else []),
        *(_against_paper(table) if paper else []),
        *_reranked(table, runs),
        *([_CAR_NUMBERS] if table.id == "car/contriever" else []),
        *_left_out(runs),
        *_remarks(runs),
        *_caveats(table, runs),
    ]


def _has_intervals(table: Table) -> bool:
    """False where every cell is over a single item, say."""
    return any(cell.source.get("low") is not None for cell in table.cells())


def _left_out(runs: Sequence[Run]) -> Iterator[str]:
    """What a machine could not do of an experiment."""
    said = {name: why for run in runs for name, why in (run.run.get("left_out") or {}).items()}
    yield from (f"{sentence}." for sentence in left_out_sentences(said))


def _remarks(runs: Sequence[Run]) -> Iterator[str]:
    """What the runs say of their answers, with the model where there are several."""
    for run in runs:
        for remark in run.run.get("remarks") or ():
            yield f"{run.model}: {remark}." if len(runs) > 1 else f"{remark}."


def _experiment_title(run: Run) -> str:
    return str(run.run.get("title") or run.experiment)


def _counted(table: Table, policy: Policy) -> list[str]:
    """How many items the numbers are over, and what counted as what."""
    sources = [cell.source for cell in table.cells() if cell.source.get("n") is not None]
    if not sources:
        return []
    counts = sorted({source["n"] for source in sources})
    over = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    items = _items(sources)
    notes = [f"n = {over} {items} per cell. {_policy(policy, items)}"]
    if any(cell.invalid for cell in table.cells()):
        notes.append(f"invalid: share of {items} without a usable answer.")
    # Both correlations are over the same predictions.
    constant = sum(source.get("n_constant") or 0 for source in sources if source["metric"] != "kendall")
    if constant:
        notes.append(f"{constant:,} constant predictions have no correlation and count as 0.")
    notes += _ties(sources, items, policy)
    extras = dict.fromkeys(name for cell in table.cells() for name in cell.extras)
    notes += [f"{name}: {_EXTRAS[name]}." for name in extras if name in _EXTRAS]
    return notes


def _policy(policy: Policy, items: str) -> str:
    if policy == "strict":
        counted = "0" if items in ("lists", "queries") else "wrong"
        return f"Strict: {items} without a usable answer count as {counted}."
    tied = " or with tied scores" if items == "pairs" else ""
    return f"Valid only: {items} without a usable answer{tied} are left out."


def _ties(sources: Sequence[Mapping[str, Any]], items: str, policy: Policy) -> list[str]:
    """What became of ties: they decide nothing about a pair, and the order of documents decides at a cut."""
    ties = sum(source.get("n_ties") or 0 for source in sources if source["metric"] == "accuracy")
    if not ties:
        return []
    if items == "pairs":
        counted = "count as wrong" if policy == "strict" else "are left out"
        return [f"{ties:,} answers gave both sides equal scores and {counted}."]
    if items == "questions":
        return [f"{ties:,} times documents were tied at the cut; the order of retrieval decided."]
    return []


def _items(sources: Sequence[Mapping[str, Any]]) -> str:
    """What the numbers are means over."""
    kinds = set()
    for source in sources:
        if source["metric"] in ("spearman", "kendall"):
            kinds.add("lists")
        elif source["metric"].startswith("ndcg@"):
            kinds.add("queries")
        elif source.get("difficulty"):
            kinds.add("pairs")
        elif source.get("filter"):
            kinds.add("questions")
        else:
            kinds.add("items")
    return kinds.pop() if len(kinds) == 1 else "items"


def _against_paper(table: Table) -> list[str]:
    compared = [cell for cell in table.cells() if cell.paper is not None]
    known = []
    if table.id in _LCR_TABLES:
        known = [
            "Of LCR's own table one row is known, an average over six unnamed BEIR sets: "
            f"`authbench table {table.id}`."
        ]
    if not compared:
        return ["The papers have no numbers for these cells.", *known]
    if table.id == "lcr/3":
        known = [_CAR_NUMBERS, *known]
    judged = [cell.inside for cell in compared if cell.inside is not None]
    notes = ["paper, diff: the paper's number, and ours minus it."]
    if judged:
        notes.append(
            f"in CI: whether the paper's number lies in our 95 % interval: {sum(judged)} of {len(judged)}."
        )
    return [*notes, *known]


def _reranked(table: Table, runs: Sequence[Run]) -> list[str]:
    """Of LCR: the gain of NDCG, and where the thresholds of reranked cells come from."""
    metrics = {str(cell.source.get("metric")) for cell in table.cells() if cell.source.get("n") is not None}
    measures = [metric.removesuffix("-gain") for metric in metrics if metric.startswith("ndcg@")]
    if not measures:
        return []
    gains = {measure.partition("-")[2] or "linear" for measure in measures}
    notes = [f"NDCG with {' or '.join(sorted(gains))} gain."]
    if metrics & {f"{measure}-gain" for measure in measures}:
        notes.append("gain %: relative, of the unrounded numbers.")
    if {cell.source.get("method") for cell in table.cells()} - {None, "base"}:
        fixed = [value for run in runs if (value := _fixed_thresholds(run)) is not None]
        if fixed:
            notes.append(f"+LCR: thresholds fixed at {'; '.join(dict.fromkeys(fixed))}.")
        if len(fixed) < len(runs):
            notes.append(_UPPER_BOUND)
    return notes


def _fixed_thresholds(run: Run) -> str | None:
    """The thresholds that a run was given; None where they are the best of a grid."""
    found = (run.run.get("config") or {}).get("thresholds")
    fixed = found.get("fixed") if isinstance(found, Mapping) else None
    if not isinstance(fixed, Mapping):
        return None
    return ", ".join(f"T_{name} {value:g}" for name, value in fixed.items())


def _caveats(table: Table, runs: Sequence[Run]) -> list[str]:
    """What keeps the numbers from being those of the papers' protocol."""
    notes = [note for run in runs for note in _answers(run)]
    partial = [run.model for run in runs if run.partial]
    if partial and len(partial) < len(runs):
        notes.append(f"PARTIAL are: {', '.join(partial)}.")
    if any(run.partial and run.limit is None for run in runs):
        notes.append(
            "PARTIAL without a limit: items are missing or failed; the same `authbench run` goes on."
        )
    tiny = list(dict.fromkeys(run.model for run in runs if run.tiny))
    if tiny:
        are = "is a tiny model" if len(tiny) == 1 else "are tiny models"
        notes.append(f"{', '.join(tiny)} {are}: the numbers prove that the machinery works and mean nothing.")
    if any(run.engine == "fake" for run in runs):
        notes.append("Engine fake: the answers are made up.")
    notes += _stand_ins(table, runs)
    options = dict.fromkeys(option for run in runs for option in _beyond(run))
    if options:
        notes.append(f"Beyond the paper's protocol: {', '.join(options)}.")
    return notes


def _answers(run: Run) -> list[str]:
    """How a model's answers were, if not all of them were as asked for."""
    statuses = run.run.get("statuses")
    if not isinstance(statuses, Mapping) or not set(statuses) - {"ok"}:
        return []
    odd = ", ".join(f"{name} {count:,}" for name, count in statuses.items() if name != "ok")
    return [f"Answers of {run.model}: {sum(statuses.values()):,}, of them {odd}."]


def _stand_ins(table: Table, runs: Sequence[Run]) -> list[str]:
    """Data in place of the paper's: another set, a file of one's own, another scale."""
    paper_table = runs[0].table or ""
    own, scale = _OWN_DATA.get(paper_table), _OWN_SCALE.get(paper_table)
    sources = [cell.source for cell in table.cells()]
    sets = dict.fromkeys(
        str(name) for source in sources if (name := source.get("dataset")) not in (None, own)
    )
    scales = dict.fromkeys(str(s) for source in sources if (s := source.get("scale")) not in (None, scale))
    files = [_own_file(run) for run in runs]
    used = [] if own is None or all(files) else list(sets)
    used += dict.fromkeys(path for path in files if path)
    notes = []
    if used and own is not None:
        notes.append(f"Data: {', '.join(used)}, not the paper's own.")
    elif used:
        notes.append(f"Data from {', '.join(used)}.")
    if scale is not None and scales:
        notes.append(f"Scale: {', '.join(scales)}, where the paper's table is {scale}.")
    return notes


def _own_file(run: Run) -> str | None:
    """The file or folder that a run was given in place of the catalogue's."""
    dataset = (run.run.get("config") or {}).get("dataset")
    path = dataset.get("path") if isinstance(dataset, Mapping) else None
    return None if path is None else str(path)


def _beyond(run: Run) -> list[str]:
    options = run.run.get("options")
    if not isinstance(options, Mapping):
        return []
    return [
        f"{name}={value}"
        for name, value in options.items()
        if value not in _NO_OPTION and value != PROTOCOL.get(name)
    ]
