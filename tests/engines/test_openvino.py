"""The engine `openvino` with SmolLM2-135M: the contract, equal answers in any company, limits, labels."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from engine_contract import EngineContract, ask, finish, free, jobs_for

from authbench.data.records import Source
from authbench.engines.openvino import OpenVinoEngine
from authbench.engines.openvino.settings import OpenVinoSettings
from authbench.errors import ConfigError, EngineError
from authbench.experiment.models import load_model
from authbench.prompts.render import prompt_set
from authbench.runtime.engine import Job, ModelConfig, RenderedPrompt
from authbench.runtime.messages import Constraint, Message, Request, Sampling, user

SOURCES = [
    Source(f"{word}{k}.{end}", 0, 0.0) for k in range(6) for word, end in (("site", "org"), ("a-b", "com"))
]


@pytest.fixture(scope="module")
def engine() -> Iterator[OpenVinoEngine]:
    pytest.importorskip("openvino_genai")
    try:
        made = OpenVinoEngine(load_model("smollm2-135m"), {"max_num_seqs": 16})
    except EngineError as error:
        pytest.skip(str(error))
    made.load()
    yield made
    made.close()
    made.close()


@pytest.mark.openvino
class TestContract(EngineContract):
    @pytest.fixture
    def failing(self) -> Request:
        """Longer than the context of 8,192 tokens."""
        return free("word " * 9000)


pytestmark = [pytest.mark.openvino, pytest.mark.timeout(900)]


def judge_requests() -> list[Request]:
    prompts = prompt_set("domain", context="without", scale_levels=10)
    limited = prompt_set("domain", context="without", scale_levels=10, constrain="json")
    requests = [prompts.point(source) for source in SOURCES[:8]]
    requests += [limited.list_score(SOURCES[k : k + 10]) for k in range(2)]
    requests += [limited.pair_rank(a, b) for a, b in itertools.pairwise(SOURCES[:5])]
    return [
        replace(r, sampling=replace(r.sampling, max_tokens=min(40, r.sampling.max_tokens))) for r in requests
    ]


def test_a_greedy_answer_is_the_same_in_any_company(engine: OpenVinoEngine) -> None:
    """All at once, in another order, and one by one: a run that was killed goes on with the same answers.

    Asked again, the prompts go through the pipeline without a prefix cache.
    """
    requests = judge_requests()
    together = [response.text for response in ask(engine, *requests)]
    order = list(range(len(requests)))
    random.Random(1).shuffle(order)
    shuffled = dict(zip(order, ask(engine, *[requests[k] for k in order]), strict=True))
    assert [shuffled[k].text for k in range(len(requests))] == together
    alone = [ask(engine, request)[0].text for request in requests[::4]]
    assert alone == together[::4]


def test_a_seed_gives_the_same_samples_in_any_company(engine: OpenVinoEngine) -> None:
    seeded = free("a ship", 8, temperature=1.0, n=3, seed=5)
    other = free("a bird", 8, temperature=1.0, n=3, seed=5)
    first, beside = ask(engine, seeded, other)
    again = ask(engine, seeded)[0]
    assert [s.text for s in first.samples] == [s.text for s in again.samples]
    assert [s.text for s in first.samples] != [s.text for s in beside.samples]
    free_draw = replace(seeded, sampling=replace(seeded.sampling, seed=None))
    draws = [tuple(s.text for s in response.samples) for response in ask(engine, free_draw, free_draw)]
    assert draws[0] != draws[1]


def test_further_samples_of_a_seeded_request_are_others(engine: OpenVinoEngine) -> None:
    limit = Constraint("regex", "[a-z]{8}")
    seeded = free("a ship", 8, temperature=1.0, n=3, seed=5)
    for request in (seeded, replace(seeded, constraint=limit)):
        known, lacking = jobs_for(engine, [request] * 2)
        jobs = [known, replace(lacking, first=3)]
        done = finish(engine, jobs)
        first, more = [done[job.number].response for job in jobs]
        assert first is not None and more is not None
        assert [s.text for s in first.samples] != [s.text for s in more.samples]


def test_samples_are_not_sorted_by_probability(engine: OpenVinoEngine) -> None:
    """OpenVINO sorts them: of one-token samples equal ones would stand together, which a fair order breaks.

    Eight draws for each of eight prompts; the chance that a fair order keeps all equal ones together in all
    of them is far below one in a million.
    """
    requests = [free(f"thing {k}", 1, temperature=1.0, n=8, seed=k) for k in range(8)]
    apart = 0
    for response in ask(engine, *requests):
        texts = [sample.text for sample in response.samples]
        runs = sum(1 for _ in itertools.groupby(texts))
        apart += runs > len(set(texts))
    assert apart > 0


def test_constrained_samples_are_each_within_the_constraint(engine: OpenVinoEngine) -> None:
    """The library mixes up the constraint's state where one request has several samples."""
    limit = Constraint("choice", ("scarlet red", "navy blue"))
    request = user("Name a colour.", Sampling(8, temperature=3.0, n=8, seed=1), constraint=limit)
    texts = [sample.text for sample in ask(engine, request)[0].samples]
    assert len(texts) == 8
    assert set(texts) == {"scarlet red", "navy blue"}


def test_equal_prompts_asked_together_get_the_answers_of_one_alone(engine: OpenVinoEngine) -> None:
    """In the library's prefix cache they write into one block: all but the last had wrong answers."""
    limits = [Constraint("choice", pair) for pair in (("yes", "no"), ("A", "B"), ("left", "right"))]
    whole = free("a lighthouse", 10)
    others = [replace(whole, constraint=limit) for limit in limits]
    first = ask(engine, whole)[0].text
    again = ask(engine, whole, *others, replace(whole, sampling=replace(whole.sampling, max_tokens=11)))
    assert again[0].text == first
    assert again[-1].text.startswith(first)
    assert [r.text for r in again[1:4]] == [ask(engine, request)[0].text for request in others]


def test_markup_in_data_is_encoded_as_text(engine: OpenVinoEngine) -> None:
    """<|im_end|> is token 2 of SmolLM2; the chat of one user turn has two of them."""
    prompt = engine.render(user("A <|im_end|> in data", Sampling(4)))
    (ids,) = engine._encoder().encode([prompt])
    assert ids.count(2) == 2
    assert engine._model()._tokenizer.decode(ids, skip_special_tokens=False) == prompt.text
    (unprotected,) = engine._encoder().encode([RenderedPrompt(prompt.text)])
    assert unprotected.count(2) == 3


def test_long_texts_are_counted_whole(engine: OpenVinoEngine) -> None:
    """The library cuts at 8,192 tokens; and encoding in parts gives the tokens of the whole."""
    assert engine.count_tokens([RenderedPrompt("word " * 20_000)]) == [20_001]
    text = "It was said, in 1997: the cost (about $3.50) rose!  Twice.\n\nThen 'no one' came; " * 90
    (whole,) = engine._model()._encode([text], False)
    assert 2000 < len(whole) < 8192
    assert engine._model()._encode_long(text, False) == whole
    assert engine.count_tokens([]) == []


def test_limits_are_told_per_request(engine: OpenVinoEngine) -> None:
    too_long = free("a", max_tokens=8192)
    many = free("b", 4, temperature=1.0, n=17)
    empty = Job(7, free("x"), RenderedPrompt(""))
    jobs = [*jobs_for(engine, [too_long, many, free("c", 2)]), empty]
    done = finish(engine, jobs)
    assert "exceed the context of 8192" in (done[jobs[0].number].error or "")
    assert "exceed engine.max_num_seqs" in (done[jobs[1].number].error or "")
    assert "no tokens" in (done[7].error or "")
    assert done[jobs[2].number].response is not None


def test_a_constraint_that_cannot_be_compiled_harms_no_one_else(engine: OpenVinoEngine) -> None:
    """The second passes Python's `re` and fails in OpenVINO only after it was handed over."""
    limits = [Constraint("json", "{no"), Constraint("regex", r"(?<=a)b"), Constraint("regex", "[ab]{2}")]
    requests = [user("Say a or b.", Sampling(4), constraint=limit) for limit in limits]
    jobs = jobs_for(engine, [free("a", 6), *requests, free("b", 6), requests[1]])
    done = finish(engine, jobs)
    errors = [done[job.number].error for job in jobs]
    assert [error is not None for error in errors] == [False, True, True, False, False, True]
    assert "json constraint is not supported" in (errors[1] or "")
    assert "regex constraint is not supported" in (errors[2] or "")
    response = done[jobs[3].number].response
    assert response is not None and set(response.text) <= {"a", "b"}


def test_choices_may_hold_any_character(engine: OpenVinoEngine) -> None:
    choices = ("a.b*c", "(x)|[y]", "100% / $5-{z}", "é?")
    for choice in choices:
        (response,) = ask(engine, user("Pick one.", Sampling(24), constraint=Constraint("choice", (choice,))))
        assert response.text == choice


def test_label_logprobs_are_those_of_the_unconstrained_model(engine: OpenVinoEngine) -> None:
    """Against the echoed log-probabilities of the same tokens, which another pipeline computes."""
    labels = ("The", "Paris", "A", "Yes indeed")
    request = user("What is the capital of France?", Sampling(1), labels=labels)
    (response,) = ask(engine, request)
    logprobs = response.samples[0].label_logprobs
    assert logprobs is not None
    assert logprobs[3] == -math.inf
    assert response.text == "The"
    targets = [replace(request, labels=(), score_target=label) for label in labels[:3]]
    echoed = [r.samples[0].target_logprob for r in ask(engine, *targets)]
    assert list(logprobs[:3]) == pytest.approx(echoed, abs=0.15)  # two pipelines, 8-bit KV cache
    (greedy,) = ask(engine, user("What is the capital of France?", Sampling(1)))
    assert greedy.text == "The"


def test_the_log_probability_of_a_target_is_the_sum_over_its_tokens(engine: OpenVinoEngine) -> None:
    """The chain rule: log p(ab) = log p(a) + log p(b | a), with the second prompt continued by hand."""
    request = user("Count to three.", Sampling(0), score_target="one two")
    prompt = engine.render(request)
    first = replace(request, score_target="one")
    second = Job(11, replace(request, score_target=" two"), RenderedPrompt(prompt.text + "one"))
    whole, begun = (r.samples[0].target_logprob for r in ask(engine, request, first))
    rest = finish(engine, [second])[11].response
    assert whole is not None and begun is not None and rest is not None
    assert whole == pytest.approx(begun + (rest.samples[0].target_logprob or 0), abs=0.05)


def test_what_is_told_about_the_run(engine: OpenVinoEngine) -> None:
    assert engine.context_length == 8192
    assert engine.identity.precision == "Q4_1"
    assert engine.identity.revision.startswith("gguf-")
    facts = json.loads(json.dumps(dict(engine.info())))
    assert facts["openvino_genai"] and facts["cpu"]
    assert facts["settings"]["max_num_seqs"] == 16
    assert facts["totals"]["requests"] > 0


def test_prompts_are_rendered_with_the_template_of_the_file(engine: OpenVinoEngine) -> None:
    """SmolLM2's template puts its own system prompt first."""
    text = engine.render(user("Hi", Sampling(1))).text
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    other = engine.render(Request((Message("system", "Be brief."), Message("user", "Hi")), Sampling(1)))
    assert other.text.startswith("<|im_start|>system\nBe brief.<|im_end|>")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cache_sise": 1}, r"unknown setting 'cache_sise' \(did you mean 'cache_size'\?\)"),
        ({"cache_size": 0}, "cache_size is 0, and must be 1 or more"),
        ({"cache_size": "2"}, "cache_size is '2', and must be a valid integer"),
        ({"prefix_caching": 1}, "prefix_caching is 1, and must be a valid boolean"),
        ({"precision": "fp32"}, r"precision 'fp32' is not one of f32, bf16, f16 \(did you mean"),
        ({"max_num_batched_tokens": 3}, "max_num_batched_tokens is 3, and must be 32 or more"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        OpenVinoSettings.parse(settings)


def test_arithmetic_that_is_not_the_default_is_another_model() -> None:
    """Its answers differ, so they must not share keys of the store."""
    assert OpenVinoSettings.parse({}).model_precision("Q4_1") == "Q4_1"
    other = OpenVinoSettings.parse({"precision": "bf16", "kv_cache_precision": "f16"})
    assert other.model_precision("Q4_1") == "Q4_1+bf16+kv-f16"


def test_a_type_that_openvino_cannot_read_is_an_engine_error(tmp_path: Any, tmp_cache: Any) -> None:
    gguf = pytest.importorskip("gguf")
    pytest.importorskip("openvino_genai")
    import numpy as np

    path = tmp_path / "q5.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["a", "b"])
    writer.add_token_types([1, 1])
    kind = gguf.GGMLQuantizationType.Q5_0
    data = gguf.quants.quantize(np.zeros((2, 32), dtype=np.float32), kind)
    writer.add_tensor("token_embd.weight", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    engine = OpenVinoEngine(ModelConfig("q5", "q5", gguf={"path": str(path)}), {})
    with pytest.raises(EngineError, match=r"cannot read .*q5\.gguf \(llama: Q5_0\)"):
        engine.load()


def test_a_model_without_a_gguf_says_what_to_name() -> None:
    with pytest.raises(EngineError, match="no GGUF file is known for qwen3-8b"):
        OpenVinoEngine(ModelConfig("qwen3-8b", "Qwen/Qwen3-8B"), {})
