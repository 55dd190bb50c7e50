"""What goes along with a prompt: sampling, limits on decoding, and what a set of prompts is made from."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from shown import DOCUMENTS, LISTED, RAG, every_request, fine

from authbench.errors import ConfigError
from authbench.prompts import formats
from authbench.prompts.loading import bind, templates
from authbench.prompts.render import prompt_set, prompt_set_hash, rag_prompts
from authbench.runtime.messages import Request


def test_greedy_decoding_and_tight_limits() -> None:
    tokens = [request.sampling.max_tokens for request in every_request(fine("without"), LISTED)]
    # Characters: {"score": 9} 12, {"A": 9, "B": 9} 16, ten ids ranked 57, ten scores 80; a fence 12 more.
    assert tokens == [24, 1, 8, 28, 69, 92]
    rag = [
        RAG.answer("q", DOCUMENTS),
        RAG.relevance("q", DOCUMENTS),
        RAG.utility("q", DOCUMENTS),
        RAG.authority(DOCUMENTS),
    ]
    utility = len(
        json.dumps({"answers": {str(k): "" for k in range(10)}, "scores": {str(k): 9 for k in range(10)}})
    )
    assert [request.sampling.max_tokens for request in rag] == [8, 92, utility + 12 + 960, 92]
    for request in [*every_request(fine("without"), LISTED), *rag]:
        assert request.sampling.temperature == 0.0
        assert request.sampling.n == 1
        assert request.constraint is None


@pytest.mark.parametrize("constrain", ["json", "choice"])
def test_what_constrain_limits(constrain: str) -> None:
    prompts = prompt_set("domain", context="without", scale_levels=5, constrain=constrain)
    point, label, pair_rank, pair_score, list_rank, list_score = every_request(prompts, LISTED[:3])
    rag = rag_prompts(constrain=constrain)
    assert label.constraint is None
    assert pair_rank.constraint is not None
    assert (pair_rank.constraint.kind, pair_rank.constraint.value) == ("choice", ("A", "B"))
    answer = rag.answer("q", DOCUMENTS).constraint
    assert answer is not None
    assert answer.value == ("yes", "no")
    others = [point, pair_score, list_rank, list_score]
    others += [rag.relevance("q", DOCUMENTS), rag.utility("q", DOCUMENTS), rag.authority(DOCUMENTS)]
    kinds = [request.constraint.kind if request.constraint else None for request in others]
    assert kinds == (
        ["json", "json", "regex", "json", "json", "json", "json"] if constrain == "json" else [None] * 7
    )


def schema(request: Request) -> dict[str, object]:
    assert request.constraint is not None
    assert isinstance(request.constraint.value, str)
    loaded = json.loads(request.constraint.value)
    assert isinstance(loaded, dict)
    return loaded


def test_schemas_demand_every_id_and_bound_everything() -> None:
    prompts = prompt_set("domain", context="without", scale_levels=5, constrain="json")
    integer = {"type": "integer", "minimum": 0, "maximum": 4}
    wanted: dict[str, object] = {"type": "object", "properties": {"0": integer, "1": integer, "2": integer}}
    wanted |= {"required": ["0", "1", "2"], "additionalProperties": False}
    assert schema(prompts.list_score(LISTED[:3])) == wanted
    assert schema(prompts.point(LISTED[0]))["required"] == ["score"]
    assert schema(prompts.pair_score(LISTED[0], LISTED[1]))["required"] == ["A", "B"]
    utility = json.dumps(schema(rag_prompts(constrain="json").utility("q", DOCUMENTS[:2])))
    assert json.loads(utility)["required"] == ["answers", "scores"]
    assert utility.count('"type": "string"') == utility.count("{1,96}") == 2


def test_the_ranking_expression_matches_rankings_only() -> None:
    prompts = prompt_set("domain", context="without", scale_levels=10, constrain="json")
    constraint = prompts.list_rank(LISTED).constraint
    assert constraint is not None
    pattern = re.compile(str(constraint.value))
    ranking = " > ".join(f"[{k}]" for k in (3, 1, 4, 0, 5, 9, 2, 6, 8, 7))
    assert pattern.fullmatch(ranking)
    assert not pattern.fullmatch(ranking.replace("[9]", "[10]"))
    assert not pattern.fullmatch(ranking[6:])
    assert not pattern.fullmatch(ranking + " > [0]")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"family": "domian"}, "did you mean 'domain'"),
        ({"context": "wihtout"}, "did you mean 'without'"),
        ({"constrain": "jason"}, "did you mean 'json'"),
        ({"scale_levels": 1}, "2 or more"),
        ({"text_budget": 0}, "1 or more"),
        ({"noun": "movie"}, "use 'entity'"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, object], said: str) -> None:
    settings: dict[str, object] = {"family": "domain", "context": "without", "scale_levels": 10} | options
    family = str(settings.pop("family"))
    with pytest.raises(ConfigError, match=said):
        prompt_set(family, **settings)  # type: ignore[arg-type]


def test_every_template_names_its_origin_and_only_known_slots() -> None:
    found = {name: t for name, t in templates().items() if not name.startswith("lcr/")}
    judges = ("point", "pair-rank", "pair-score", "list-rank", "list-score")
    wanted = {f"{f}/{j}.{c}" for f in ("domain", "entity") for j in judges for c in ("without", "with")}
    assert set(found) == wanted | {f"rag/{kind}" for kind in ("answer", "relevance", "utility", "authority")}
    for template in found.values():
        assert "AuthorityBench, appendix A" in template.origin
        word_for_word = "word for word" in template.origin
        assert word_for_word or "made from prompt" in template.origin
        assert not (word_for_word and template.name.startswith("entity/"))


def test_bind_leaves_the_slots_of_the_data() -> None:
    text = bind("100% of {{noun}} {{name}} {x}", {"noun": "{{name}} 5%"})
    assert text % {"name": "%s"} == "100% of {{name}} 5% %s {x}"


def test_the_hash_of_the_prompt_set_is_stable_and_over_the_files() -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", prompt_set_hash())
    folder = Path(formats.__file__).parent / "templates"
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.txt")):
        content = (folder / name).read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    assert prompt_set_hash() == digest.hexdigest()


def test_equal_questions_are_equal_requests() -> None:
    assert fine("without").list_score(LISTED) == fine("without").list_score(list(LISTED))
    assert hash(fine("without").point(LISTED[0])) == hash(fine("without").point(LISTED[0]))
