"""What is recorded: files of command lines, in the order in which they are run in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A command line; `files` are those it writes, `width` the columns of the terminal.

    Attributes:
        page: the file written is a page, of which the visible text is recorded.
        labels: of stdout only the first word of each line is recorded.
    """

    words: str
    files: Sequence[str] = ()
    width: int = 80
    page: bool = False
    labels: bool = False


def lines(*words: str) -> list[Line]:
    """Plain command lines."""
    return [Line(line) for line in words]


_AUTHORITY = ("domains_fine", "domains_coarse", "domains_pairs", "entities_fine", "entities_coarse", "rag")
_LCR = ("lcr_bm25", "lcr_contriever", "lcr_models", "lcr_samples", "lcr_uncertainty", "lcr_adaptive")
_LONE = ("aggregation", "entities_pairs", "rag_joined", "rag_stance")

#: Experiments with a folder in `results` after `RUNS`.
EXPERIMENTS = (*_AUTHORITY, *_LONE, "own", "constrained", *_LCR)

#: They make the results that everything after them reads.
RUNS: dict[str, list[Line]] = {
    "run/authority": lines(
        *(f"run configs/{name}.yaml" for name in (*_AUTHORITY, *_LONE, "own", "constrained"))
    ),
    "run/second_model": lines(
        *(
            f"run configs/{name}.yaml --models qwen3-14b --set engine.skill=0.95"
            for name in ("domains_fine", "domains_pairs", "rag")
        ),
    ),
    "run/lcr": lines(*(f"run configs/{name}.yaml" for name in _LCR)),
    "run/limited_failing_constant": lines(
        "run configs/entities_coarse.yaml --limit 1 --results limited",
        "run configs/failing.yaml --results failing",
        "run configs/failing.yaml --results failing --set engine.errors=0.0",
        "run configs/own.yaml --results constant --set scoring=text --set engine.constant=3 "
        "--set engine.seed=7 --set engine.bad={}",
    ),
    "run/replayed": lines(
        "store export --results results --model Qwen/Qwen3-8B -o answers.jsonl.gz",
        "run configs/replay/domains_fine.yaml --results replayed",
        "compare results/domains_fine/qwen3-8b replayed/domains_fine/qwen3-8b --quiet --fail-if-worse 0",
    ),
    "run/again": lines(
        "run configs/domains_fine.yaml",
        "run configs/rag.yaml configs/lcr_bm25.yaml --quiet",
        "run configs/own.yaml --json",
        "run configs/domains_pairs.yaml configs/rag.yaml --dry-run",
        "run configs/lcr_bm25.yaml --dry-run --results empty",
        "run configs/domains_fine.yaml --dry-run --results empty --limit 1 --show-prompt",
        "run configs/entities_coarse.yaml --dry-run --results empty --json",
        "run configs/own.yaml --fresh --results failing --quiet",
    ),
    "run/score": lines(
        "score results/domains_fine/qwen3-8b",
        "score results/lcr_bm25 --json",
        "score results/rag_joined/qwen3-8b --quiet",
    ),
}

_FORMATS = ("text", "md", "csv", "latex", "json")

READS: dict[str, list[Line]] = {
    **{
        f"table/{name}": lines(f"table results/{name}", f"table results/{name} --format md")
        for name in EXPERIMENTS
    },
    **{
        f"table/format_{form}": lines(
            *(
                f"table results/{name} --format {form}{extra}"
                for name, extra in (
                    ("domains_fine", " --paper"),
                    ("domains_pairs", " --intervals"),
                    ("rag", " --cost"),
                    ("lcr_bm25", " --policy valid"),
                    ("rag_joined", ""),
                )
            )
        )
        for form in _FORMATS
    },
    "table/options": lines(
        *(
            f"table results/{name} --paper"
            for name in (*_AUTHORITY, "aggregation", "lcr_bm25", "lcr_contriever")
        ),
        "table results/domains_fine --policy valid",
        "table results/rag --intervals",
        "table results/domains_fine --cost",
        "table results/lcr_uncertainty --intervals --with-cost --policy valid",
        "table limited failing",
        "table results/rag --json",
    ),
    "table/of_all_results": [Line("table results"), Line("table results --paper --intervals", width=120)],
    "table/wide": [
        Line(f"table results/{name} --paper --intervals", width=120)
        for name in ("domains_fine", "entities_fine", "rag")
    ],
    "table/of_the_papers": lines(
        *(f"table authoritybench/{number}" for number in range(1, 7)),
        "table lcr/2",
        "table lcr/3",
        "table car/contriever",
    ),
    "table/of_the_papers_in_formats": lines(
        "table authoritybench/4 --format md",
        "table authoritybench/5 --format csv",
        "table authoritybench/3 --format latex",
        "table lcr/2 --format json",
    ),
    "table/of_two_papers_wide": [Line("table authoritybench/1 authoritybench/5", width=120)],
    "table/to_a_file": [Line("table results/rag --format latex -o out/rag.tex", files=("out/rag.tex",))],
    "table/reference": lines(
        *(
            f"table <repository>/results/reference/{name} --paper"
            for name in ("domains_fine", "domains_coarse", "entities_fine")
        ),
        "table <repository>/results/reference/fake",
    ),
    "compare/text": lines(
        "compare results/domains_fine/qwen3-8b results/domains_fine/qwen3-14b",
        "compare results/rag/qwen3-14b results/rag/qwen3-8b --items 3 --seed 1",
        "compare results/domains_pairs/qwen3-8b results/domains_pairs/qwen3-14b --metric accuracy --items 0",
        "compare results/lcr_models/glm-4-9b-chat results/lcr_models/qwen2.5-7b-instruct",
        "compare results/entities_coarse/qwen3-8b limited/entities_coarse/qwen3-8b",
        "compare results/entities_coarse/qwen3-8b limited/entities_coarse/qwen3-8b --common --items 2",
    ),
    "compare/json_and_status": lines(
        "compare results/domains_pairs/qwen3-8b results/domains_pairs/qwen3-14b --json --items 2",
        "compare results/domains_fine/qwen3-14b results/domains_fine/qwen3-8b --fail-if-worse 0.02 --quiet",
        "compare results/domains_fine/qwen3-8b results/domains_fine/qwen3-8b --fail-if-worse 0",
    ),
    "report/page": [Line("report results -o page.html --title Golden", files=("page.html",), page=True)],
    "report/one_run": [
        Line("report results/rag/qwen3-8b", files=("report.html",), page=True),
        Line("report results/lcr_bm25 limited -o two.html --json"),
        Line("report results/own -o own.html --quiet"),
    ],
    "audit/runs": lines(
        "audit results", "audit results --all", "audit results/rag results/lcr_bm25 --strict"
    ),
    "audit/json": lines(
        *(
            f"audit results --json --claim {name}"
            for name in ("authority-filter-best", "listjudge-best-trade-off")
        ),
        "audit results/domains_pairs results/lcr_bm25 --json",
        "audit --paper --claim authority-filter-best --json",
    ),
    "audit/papers": lines(
        "audit --paper", "audit --paper --claim authority-filter-best", "audit --paper --strict --quiet"
    ),
    "tune": lines(
        "tune results/lcr_bm25",
        "tune results/lcr_contriever --grades --gain linear --cutoff 3",
        "tune results/lcr_uncertainty --method car --measure entropy",
        "tune results/lcr_samples --samples 3 --step 0.5 --folds 2 --shuffles 3 --seed 1",
        "tune results/lcr_models --json",
        "tune results/lcr_bm25/qwen2.5-7b-instruct --grades --json",
        "tune results/lcr_adaptive",
    ),
    "rerank": [
        Line(
            "rerank configs/lcr_bm25.yaml",
            files=("results/lcr_bm25/rankings/*.trec",),
        ),
        Line("rerank configs/lcr_contriever.yaml --set bases=[retriever] -o runs --limit 3 --json"),
        Line("rerank configs/lcr_bm25.yaml --set bases=[qlm] -o runs2 --quiet"),
    ],
    "list": lines(
        *(f"list {what}" for what in ("configs", "datasets", "models", "judges", "engines")),
        *(f"list {what} --json" for what in ("configs", "models", "judges")),
    ),
    "prompt": lines(
        "prompt configs/domains_fine.yaml",
        "prompt configs/domains_pairs.yaml --item 1 --group hard",
        "prompt configs/rag.yaml --group relevance",
        "prompt configs/rag_joined.yaml --item 2 --group then",
        "prompt configs/lcr_bm25.yaml",
        "prompt configs/entities_coarse.yaml --group basketball/without/pair-rank --all",
        "prompt configs/constrained.yaml --group list-score --json",
    ),
    "validate": lines(
        "validate configs/domains_fine.yaml configs/rag.yaml configs/lcr_bm25.yaml",
        "validate configs/own.yaml --json",
        "validate configs/own.yaml --quiet",
        "validate configs/own.yaml --engine replay",
    ),
    "data": [
        *lines(
            "data list",
            "data list --json",
            "data stats sample-domains",
            "data stats sample-entities --scale coarse --json",
            "data stats mine --path data/domains.csv",
            "data stats mine --path data/questions.jsonl",
            "data stats entityauth",
            "data check sample-domains sample-entities",
            "data check",
            "data check entityauth",
        ),
        Line(
            "data build mine --path data/entities.csv --scale coarse --lists 1 --pairs 2 -o built",
            files=("built/*",),
        ),
        Line("data build sample-domains --lists 2 --json -o built2"),
    ],
    "rag": [
        Line(
            "rag filter data/retrieved.jsonl -o kept.jsonl --model qwen3-8b --engine fake --keep 2 "
            "--results filtered",
            files=("kept.jsonl",),
        ),
        *lines(
            "rag filter data/retrieved.jsonl -o - --model fake --engine fake --filter authority+relevance "
            "--weight authority=2 --threshold 6 --min-keep 1 --set seed=3 --results filtered",
            "rag filter data/retrieved.jsonl -o kept2.jsonl --model fake --engine fake --filter utility "
            "--constrain json --json --results filtered",
            "rag compare results/rag/qwen3-8b",
            "rag compare results/rag/qwen3-14b --against none",
            "rag compare results/rag_joined/qwen3-8b --json",
        ),
    ],
    "show": lines(
        "show results/domains_fine/qwen3-8b",
        "show results/domains_fine/qwen3-8b --status invalid --limit 2",
        "show results/rag/qwen3-8b --group authority --limit 1 --answers --full",
        "show results/lcr_bm25/qwen2.5-7b-instruct --group rankgpt --limit 1",
        "show results/domains_pairs/qwen3-14b --limit 0",
        "show results/entities_coarse/qwen3-8b --item basketball-0000 --group point --json",
        "show results/domains_fine/qwen3-8b --status wrong_format --quiet",
        "show replayed/domains_fine/qwen3-8b --limit 1",
    ),
    "show_wide": [Line("show results/rag_stance/qwen3-8b --limit 1", width=120)],
    "plot": lines(
        "plot --kind list",
        "plot results/domains_fine --kind forest -o out/forest.svg",
        "plot results/domains_fine/qwen3-8b --kind heatmap --dark -o out/heat.svg",
        *(
            f"plot results/domains_fine --kind {kind} --json -o out/a.svg"
            for kind in ("pareto", "distribution", "position")
        ),
        *(f"plot results/domains_pairs --kind {kind} --json -o out/b.svg" for kind in ("sides", "answers")),
        "plot results/rag --kind kept --json -o out/c.svg",
        *(
            f"plot results/lcr_bm25 --kind {kind} --json -o out/d.svg"
            for kind in ("confidence", "thresholds", "moved")
        ),
        "plot results/own --kind heatmap --quiet -o out/e.svg",
    ),
    "export": [
        Line("export results/domains_fine/qwen3-8b --to csv -o out/values.csv", files=("out/values.csv",)),
        Line("export results/rag/qwen3-8b --to csv --what cells -o out/cells.csv", files=("out/cells.csv",)),
        Line(
            "export results/own --to jsonl --what answers --prompts -o out/answers.jsonl",
            files=("out/answers.jsonl",),
        ),
        Line("export results/lcr_adaptive --to jsonl -o out/values.jsonl", files=("out/values.jsonl",)),
        Line(
            "export results/rag results/domains_pairs --to latex --paper -o out/tables.tex",
            files=("out/tables.tex",),
        ),
        Line("export results/entities_coarse --to parquet -o out/values.parquet --quiet"),
        Line("export results/own --to inspect -o out/logs", files=("out/logs/*.json",)),
        Line("export results/constrained --to hub -o out/hub --json", files=("out/hub/README.md",)),
    ],
    "store": lines(
        "store stats",
        "store stats --json",
        "store stats --results nowhere",
        "store export -o part.jsonl --model fake --json",
        "store repair",
        "store prune --model fake --yes",
        "store prune --model nobody --yes",
        "store stats --results results",
        "score results/own/fake",
    ),
    "doctor": [Line("doctor --no-generate", labels=True)],
}
