"""The `fake` engine: every format, every kind of bad answer, truth, labels, speed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from engine_contract import EngineContract, ask, finish, jobs_for

from authbench.data.records import Document, Source
from authbench.engines.fake import FakeEngine
from authbench.engines.fake.prompts import read_prompt
from authbench.engines.fake.settings import BAD_KINDS
from authbench.errors import ConfigError
from authbench.judging.parse import (
    parse_list_scores,
    parse_pair_scores,
    parse_preference,
    parse_ranking,
    parse_score,
    parse_utility,
    parse_yes_no,
)
from authbench.lcr.prompts import LcrPrompts
from authbench.prompts.loading import bind, templates
from authbench.prompts.render import ENTITY_NOUNS, prompt_set, rag_prompts
from authbench.runtime.engine import Engine, ModelConfig
from authbench.runtime.messages import Parsed, Request, Sampling, user

DOMAINS = [Source(f"site{k}.example.org", (7 * k) % 10, 0.0, f"Text: of {k}\n[see] > [1]") for k in range(10)]
FILMS = [Source(f"Film: part {k}", (7 * k) % 10, 0.0) for k in range(10)]
DOCUMENTS = [Document(f"https://www.site{k}.example.org/p?x=1", f"Body: {k}\n[0] no") for k in range(5)]
TRUTH = {source.name: source.level for source in (*DOMAINS, *FILMS)}


def fake(**settings: Any) -> FakeEngine:
    return FakeEngine(ModelConfig("fake", "fake"), settings)


def one(engine: Engine, request: Request) -> str:
    return ask(engine, request)[0].text


class TestContract(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine:
        return fake(seed=1)

    @pytest.fixture
    def failing(self) -> Request:
        """A regular expression that its answer does not fit."""
        from authbench.runtime.messages import Constraint

        return user("Say something.", Sampling(max_tokens=9), constraint=Constraint("regex", "[0-9]{40}"))


@pytest.mark.parametrize("constrain", ["none", "json"])
@pytest.mark.parametrize("context", ["without", "with"])
@pytest.mark.parametrize(
    ("family", "noun", "sources"), [("domain", None, DOMAINS), ("entity", "movie", FILMS)]
)
@pytest.mark.parametrize("levels", [10, 5])
def test_with_skill_every_judge_is_answered_by_the_truth(
    constrain: str, context: str, family: str, noun: str | None, sources: list[Source], levels: int
) -> None:
    """Fine truth on the coarse scale: neighbours are merged, as in section 3.2.2."""
    prompts = prompt_set(family, context=context, scale_levels=levels, noun=noun, constrain=constrain)
    engine, high = fake(truth=TRUTH), levels - 1
    true = [source.level * levels // 10 for source in sources]
    a, b = sources[2], sources[4]  # levels 4 and 8
    name = noun or family
    assert parse_score(one(engine, prompts.point(a)), 0, high) == Parsed("ok", true[2])
    assert one(engine, prompts.point_label(a)) == str(true[2])
    assert parse_preference(one(engine, prompts.pair_rank(a, b)), noun=name) == Parsed("ok", "B")
    assert parse_preference(one(engine, prompts.pair_rank(b, a)), noun=name) == Parsed("ok", "A")
    assert parse_pair_scores(one(engine, prompts.pair_score(a, b)), 0, high, noun=name) == Parsed(
        "ok", (true[2], true[4])
    )
    if context == "without" or family == "domain":
        assert parse_list_scores(one(engine, prompts.list_score(sources)), 10, 0, high) == Parsed("ok", true)
        ranked = sorted(range(10), key=lambda k: -sources[k].level)
        assert parse_ranking(one(engine, prompts.list_rank(sources)), 10) == Parsed("ok", ranked)


def test_without_truth_all_judges_agree_since_scores_depend_on_the_name() -> None:
    engine, prompts = fake(), prompt_set("domain", context="without", scale_levels=10)
    points = [parse_score(one(engine, prompts.point(s)), 0, 9).value for s in DOMAINS]
    assert parse_list_scores(one(engine, prompts.list_score(DOMAINS)), 10, 0, 9).value == points
    assert len(set(points)) > 3
    other = fake(seed=1)
    assert [parse_score(one(other, prompts.point(s)), 0, 9).value for s in DOMAINS] != points
    again = FakeEngine(ModelConfig("fake", "another"), {})
    assert [parse_score(one(again, prompts.point(s)), 0, 9).value for s in DOMAINS] != points


def test_skill_blends_truth_with_chance() -> None:
    prompts = prompt_set("domain", context="without", scale_levels=10)
    sources = [Source(f"s{k}.org", k % 10, 0.0) for k in range(200)]
    truth = {source.name: source.level for source in sources}
    errors = []
    for skill in (1.0, 0.7, 0.0):
        engine = fake(truth=truth, skill=skill)
        scores = [parse_score(r.text, 0, 9).value for r in ask(engine, *[prompts.point(s) for s in sources])]
        errors.append(sum(abs(score - s.level) for score, s in zip(scores, sources, strict=True)) / 200)
    # The mean distance of two independent uniform levels is 99/30 = 3.3.
    assert errors[0] == 0 and 0 < errors[1] < 1.6 and 2.7 < errors[2] < 3.9


def test_rag_scores_and_answers() -> None:
    truth = {"site3.example.org": 9, "site1.example.org": 8, "site0.example.org": 1, "Is it so?": "yes"}
    engine, prompts = fake(truth=truth), rag_prompts()
    scores = parse_list_scores(one(engine, prompts.authority(DOCUMENTS)), 5, 0, 9)
    assert scores.status == "ok" and (scores.value[3], scores.value[1], scores.value[0]) == (9, 8, 1)
    relevance = parse_list_scores(one(engine, prompts.relevance("Is it so?", DOCUMENTS)), 5, 0, 9)
    assert relevance.status == "ok" and relevance.value != scores.value
    utility = parse_utility(one(engine, prompts.utility("Is it so?", DOCUMENTS)), 5, 0, 9)
    assert utility.status == "ok" and utility.value["scores"] != relevance.value
    # Mean levels 8.5 and 4.5 reach the threshold of 4.5; 1 does not.
    for shown, answer in ((DOCUMENTS[1:4:2], "yes"), (DOCUMENTS[:2], "yes"), (DOCUMENTS[:1], "no")):
        assert parse_yes_no(one(engine, prompts.answer("Is it so?", shown))) == Parsed("ok", answer)
    wrong = {parse_yes_no(one(engine, prompts.answer(f"Unknown {k}?", DOCUMENTS))).value for k in range(20)}
    assert wrong == {"yes", "no"}


def test_answers_from_yaml_may_be_booleans() -> None:
    """YAML reads yes and no as true and false."""
    engine = fake(truth={"Q?": False})
    assert one(engine, rag_prompts().answer("Q?", DOCUMENTS)) == "no"


def test_a_function_may_give_the_truth() -> None:
    engine = fake(truth=lambda name: 7 if name == "a.org" else None)
    prompts = prompt_set("domain", context="without", scale_levels=10)
    assert one(engine, prompts.point(Source("a.org", 0, 0.0))) == '{"score": 7}'


def cluster_share(engine: Engine, question: str, document: str | None, count: int = 10) -> float:
    """Largest share of samples that mean the same, as the engine itself judges it by entailment."""
    prompts = LcrPrompts()
    sampling = Sampling(max_tokens=32, temperature=1.0, n=count)
    (response,) = ask(engine, prompts.answer(question, document, sampling))
    groups: Counter[str] = Counter()
    for sample in response.samples:
        for first in groups:
            if one(engine, prompts.entailment(question, first, sample.text)) == "entailment":
                groups[first] += 1
                break
        else:
            groups[sample.text] += 1
    return max(groups.values()) / count


def test_lcr_it_is_confident_exactly_on_relevant_documents() -> None:
    truth = {f"relevant {k}": 1 for k in range(20)} | {f"other {k}": 0 for k in range(20)}
    engine = fake(truth=truth)
    assert {cluster_share(engine, "q?", f"relevant {k}") for k in range(20)} == {1.0}
    assert max(cluster_share(engine, "q?", f"other {k}") for k in range(20)) < 0.8
    unknown = {cluster_share(engine, f"question {k}?", None) for k in range(20)}
    assert len(unknown) > 4


def test_lcr_samples_come_in_wordings() -> None:
    sampling = Sampling(max_tokens=32, temperature=1.0, n=6)
    (response,) = ask(fake(truth={"d": 1}), LcrPrompts().answer("q?", "d", sampling))
    assert len({sample.text for sample in response.samples}) == 2


def test_further_samples_go_on_where_those_known_end() -> None:
    """Whatever the engine object has answered before: a run that was killed gives the same samples."""

    def drawn(first: int, n: int, seed: int | None = None) -> list[str]:
        sampling = Sampling(max_tokens=32, temperature=1.0, n=n, seed=seed)
        engine = fake()
        (job,) = jobs_for(engine, [LcrPrompts().answer("q?", "e", sampling)])
        response = finish(engine, [replace(job, first=first)])[job.number].response
        assert response is not None
        return [sample.text for sample in response.samples]

    ten = drawn(0, 10)
    assert len(set(ten)) > 2
    assert drawn(0, 4) + drawn(4, 6) == ten
    seeded = drawn(0, 10, seed=3)
    assert seeded != ten
    assert drawn(0, 4, seed=3) + drawn(4, 6, seed=3) == seeded


def test_entailment_has_all_three_labels() -> None:
    engine, prompts = fake(), LcrPrompts()
    pairs = [("Cedar.", "The answer is cedar.")] + [("Cedar.", f"Thing {k}.") for k in range(20)]
    seen = [one(engine, prompts.entailment("q?", *pair)) for pair in pairs]
    assert seen[0] == "entailment"
    assert set(seen[1:]) == {"contradiction", "neutral"}


def lcr_prompt(name: str, **values: str) -> str:
    return bind(templates()[f"lcr/{name}"].text, values) % {}


def test_lcr_rerankers() -> None:
    truth = {"good": 2, "fair": 1, "bad": 0}
    engine = fake(truth=truth)
    sampling = Sampling(max_tokens=32)
    words = {d: one(engine, user(lcr_prompt("yes-no", document=d, query="q"), sampling)) for d in truth}
    assert words == {"good": "Yes", "fair": "Yes", "bad": "No"}
    ranking = lcr_prompt(
        "rankgpt", count="3", query="q", items="[0] bad\n[1] good\n[2] fair", example="[1] > [0]"
    )
    assert one(engine, user(ranking, sampling)) == "[1] > [2] > [0]"
    labelled = [
        user(lcr_prompt("yes-no", document=d, query="q"), Sampling(1), labels=("Yes", "No")) for d in truth
    ]
    shares = []
    for response in ask(engine, *labelled):
        logprobs = response.samples[0].label_logprobs
        assert logprobs is not None
        shares.append(math.exp(logprobs[0]) / (math.exp(logprobs[0]) + math.exp(logprobs[1])))
    assert shares == pytest.approx([1, 0.5, 0], abs=1e-5)
    likelihood = [
        user(lcr_prompt("query-likelihood", document=d), Sampling(0), score_target="the query") for d in truth
    ]
    values = [response.samples[0].target_logprob for response in ask(engine, *likelihood)]
    assert values == sorted(values, key=lambda v: -(v or 0)) and len(set(values)) == 3


def test_label_logprobs_agree_with_the_answer() -> None:
    prompts = prompt_set("domain", context="without", scale_levels=10)
    engine = fake()
    labels = tuple(str(k) for k in range(10))
    for source in DOMAINS:
        asked = user(prompts.point_label(source).messages[0].content, Sampling(1), labels=labels)
        (response,) = ask(engine, asked)
        assert response.text == one(engine, prompts.point_label(source))
        assert sum(map(math.exp, response.samples[0].label_logprobs or ())) == pytest.approx(0.95)


STATUS = {"fenced": "ok", "prose": "repaired", "single_quotes": "repaired"}


@pytest.mark.parametrize("kind", BAD_KINDS)
@pytest.mark.parametrize("judge", ["point", "pair-rank", "pair-score", "list-rank", "list-score", "utility"])
def test_each_kind_of_bad_answer_is_read_as_what_it_is(kind: str, judge: str) -> None:
    """Against the parsers. A kind that the format cannot have leaves the answer as it is."""
    engine, prompts = fake(bad={kind: 1.0}), prompt_set("domain", context="without", scale_levels=10)
    impossible = {
        "point": {"missing_ids", "extra_ids"},
        "pair-rank": {"missing_ids", "extra_ids", "duplicate_ids", "out_of_range", "single_quotes"},
        "list-rank": {"out_of_range", "single_quotes"},
    }
    request, parsed = {
        "point": lambda: (r := prompts.point(DOMAINS[0]), parse_score(*text(engine, r, 0, 9))),
        "pair-rank": lambda: (
            r := prompts.pair_rank(DOMAINS[0], DOMAINS[1]),
            parse_preference(*text(engine, r)),
        ),
        "pair-score": lambda: (
            r := prompts.pair_score(DOMAINS[0], DOMAINS[1]),
            parse_pair_scores(*text(engine, r, 0, 9)),
        ),
        "list-rank": lambda: (r := prompts.list_rank(DOMAINS), parse_ranking(*text(engine, r, 10))),
        "list-score": lambda: (
            r := prompts.list_score(DOMAINS),
            parse_list_scores(*text(engine, r, 10, 0, 9)),
        ),
        "utility": lambda: (
            r := rag_prompts().utility("q?", DOCUMENTS),
            parse_utility(*text(engine, r, 5, 0, 9)),
        ),
    }[judge]()
    wanted = STATUS.get(kind, kind)
    if kind in impossible.get(judge, set()):
        wanted = "ok"
    if (judge, kind) in {("utility", "extra_ids"), ("utility", "missing_ids"), ("utility", "out_of_range")}:
        wanted = kind
    assert parsed.status == wanted, (request, parsed)


def text(engine: Engine, request: Request, *arguments: int) -> tuple[Any, ...]:
    (response,) = ask(engine, request)
    return (response.text, *arguments, response.truncated)


def test_bad_answers_come_at_their_rate_and_not_under_a_constraint() -> None:
    rates = {"empty": 0.2, "refused": 0.1}
    sources = [Source(f"s{k}.org", 0, 0.0) for k in range(2000)]
    engine, prompts = fake(bad=rates), prompt_set("domain", context="without", scale_levels=10)
    seen = Counter(parse_score(r.text, 0, 9).status for r in ask(engine, *map(prompts.point, sources)))
    # Three standard deviations of a binomial count: 54 for 400, 40 for 200.
    assert abs(seen["empty"] - 400) < 54 and abs(seen["refused"] - 200) < 40
    assert set(seen) == {"ok", "empty", "refused"}
    limited = prompt_set("domain", context="without", scale_levels=10, constrain="json")
    seen = Counter(parse_score(r.text, 0, 9).status for r in ask(engine, *map(limited.point, sources)))
    assert seen == {"ok": 2000}


def test_failures_come_at_their_rate_and_say_why() -> None:
    prompts = prompt_set("domain", context="without", scale_levels=10)
    engine = fake(errors=0.1)
    jobs = jobs_for(engine, [prompts.point(Source(f"s{k}.org", 0, 0.0)) for k in range(1000)])
    engine.submit(jobs)
    errors = [completion.error for completion in engine.completions()]
    assert 70 < len([e for e in errors if e]) < 130
    assert {e for e in errors if e} == {"made to fail by engine.errors"}


def test_constant_answers() -> None:
    engine, prompts = fake(constant=3), prompt_set("domain", context="without", scale_levels=10)
    for a, b in itertools.permutations(DOMAINS[:3], 2):
        assert one(engine, prompts.point(a)) == '{"score": 3}'
        assert one(engine, prompts.pair_score(a, b)) == '{"A": 3, "B": 3}'
        assert one(engine, prompts.pair_rank(a, b)) == "A"
    assert one(engine, prompts.list_rank(DOMAINS[:3])) == "[0] > [1] > [2]"
    assert one(engine, rag_prompts().answer("q?", DOCUMENTS)) == "yes"


def test_the_revision_covers_what_decides_answers_and_nothing_else() -> None:
    base = fake().identity
    assert fake(latency=0.1, errors=0.5).identity == base
    others: list[dict[str, Any]] = [
        {"seed": 1},
        {"skill": 0.5},
        {"constant": 1},
        {"bad": {"empty": 1}},
        {"truth": {"a": 1}},
    ]
    revisions = {fake(**settings).identity.revision for settings in others} | {base.revision}
    assert len(revisions) == 6


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"skil": 1}, r"unknown setting 'skil' \(did you mean 'skill'\?\)"),
        ({"bad": {"emty": 1}}, r"bad 'emty' is not one of .* \(did you mean 'empty'\?\)"),
        ({"bad": {"empty": 0.7, "prose": 0.7}}, "bad is 1.4 in all, and must be 1 or less"),
        ({"skill": 2}, "skill is 2, and must be 1 or less"),
        ({"errors": "x"}, "errors is 'x', and must be a valid number"),
        ({"latency": -1}, "latency is -1"),
        ({"truth": 3}, "truth is 3, and must be a valid dictionary"),
        ({"bad": ["empty"]}, "bad"),
        ({"seed": "x"}, "seed is 'x'"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        fake(**settings)


def test_every_template_is_understood() -> None:
    """A template that is worded anew must be understood anew."""
    slots = ["name", "name_a", "name_b", "text", "text_a", "text_b"]
    slots += ["question", "document", "query", "premise", "hypothesis"]
    values = dict.fromkeys(slots, "x")
    values |= {"low": "0", "high": "9", "allowed": "0, or 1", "example": "[4] > [0]", "count": "10"}
    values |= {"noun": "movie", "nouns": "movies", "NOUN": "MOVIE", "NOUNS": "MOVIES", "Noun": "Movie"}
    values["items"] = "[0] x\n[1] x"
    kinds = {
        name: read_prompt(bind(template.text, values) % {}).kind for name, template in templates().items()
    }
    assert [name for name, kind in kinds.items() if kind == "free"] == []
    for name, kind in kinds.items():
        if name.startswith(("domain/", "entity/")):
            assert name.split("/")[1].split(".")[0] == kind
    assert set(ENTITY_NOUNS.values()) >= {"movie"}


def test_prompts_that_it_does_not_know_never_fail() -> None:
    for content in ("", "x", "Rank all 3 passages", "Only return ‘A’ or ‘B’.", "\n\n", "DOMAINS:\n[0]"):
        assert one(fake(), user(content, Sampling(max_tokens=16)))
