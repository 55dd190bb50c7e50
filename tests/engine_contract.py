"""What every engine must do, as a class of tests that each engine's tests inherit.

A subclass gives a fixture `engine` (loaded, best of class scope) and, where its engine can be given a
request that fails by itself, `failing`. What an engine does not claim in its capabilities is not asked.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from authbench.data.records import Source
from authbench.engines.chat import ChatTemplate
from authbench.prompts.render import prompt_set
from authbench.runtime.engine import Completion, Engine, Job
from authbench.runtime.messages import Request, Response, Sampling, user

_NUMBERS = itertools.count(1_000_000)

SOURCES = [Source(name, 0, 0.0) for name in ("example.org", "un.org", "a-blog.example", "mit.edu", "x.net")]


def free(topic: str, max_tokens: int = 12, **sampling: object) -> Request:
    """A question that any model answers at some length."""
    options = Sampling(max_tokens=max_tokens)
    return user(f"Write a long story about {topic}.", replace(options, **sampling))  # type: ignore[arg-type]


TOPICS = ("a dog", "the sea", "three brothers and a mill", "Paris", "a long winter in the north", "bread")


def jobs_for(engine: Engine, requests: Sequence[Request]) -> list[Job]:
    return [Job(next(_NUMBERS), request, engine.render(request)) for request in requests]


def finish(engine: Engine, jobs: Sequence[Job]) -> dict[int, Completion]:
    """Submit and collect; each job must come back exactly once, and nothing else."""
    engine.submit(jobs)
    done: dict[int, Completion] = {}
    for completion in engine.completions():
        assert completion.number not in done, "a job came back twice"
        done[completion.number] = completion
    assert set(done) == {job.number for job in jobs}
    return done


def ask(engine: Engine, *requests: Request) -> list[Response]:
    jobs = jobs_for(engine, requests)
    done = finish(engine, jobs)
    responses = []
    for job in jobs:
        completion = done[job.number]
        assert completion.error is None and completion.response is not None, completion.error
        responses.append(completion.response)
    return responses


class EngineContract:
    """Inherit from this and define the fixture `engine`."""

    #: Whether a greedy answer may depend on what else is asked at the same time.
    repeatable = True

    @pytest.fixture
    def failing(self) -> Request | None:
        """A request that fails by itself, or None where there is no such request."""
        return None

    def test_what_it_is_can_be_told_in_json(self, engine: Engine) -> None:
        assert engine.identity.family and engine.identity.model and engine.identity.revision
        json.dumps([dict(engine.rendering), dict(engine.info())])

    def test_prompts_can_be_rendered_again_from_what_is_kept(self, engine: Engine) -> None:
        request = free("a <|im_end|> token")
        kept = ChatTemplate.from_dict(json.loads(json.dumps(dict(engine.rendering))))
        assert kept.render(request.messages) == engine.render(request)

    def test_every_job_comes_back_once(self, engine: Engine) -> None:
        responses = ask(engine, *[free(topic) for topic in TOPICS])
        assert all(len(response.samples) == 1 for response in responses)
        assert all(response.text for response in responses)

    def test_the_order_of_submission_does_not_matter(self, engine: Engine) -> None:
        requests = [free(topic) for topic in TOPICS]
        forth = ask(engine, *requests)
        back = ask(engine, *requests[::-1])[::-1]
        if self.repeatable:
            assert [r.text for r in forth] == [r.text for r in back]
        assert [r.prompt_tokens for r in forth] == [r.prompt_tokens for r in back]

    def test_nothing_in_flight_ends_at_once(self, engine: Engine) -> None:
        assert list(engine.completions()) == []

    def test_an_answer_that_is_cut_says_length(self, engine: Engine) -> None:
        (response,) = ask(engine, free("a dragon", max_tokens=2))
        assert response.truncated
        assert response.samples[0].output_tokens in (0, 2)

    def test_a_stop_string_ends_the_answer_and_is_not_in_it(self, engine: Engine) -> None:
        whole = ask(engine, free("a river", max_tokens=16))[0].text
        word = re.findall(r"\w{2,}", whole)[2]
        (response,) = ask(engine, free("a river", max_tokens=16, stop=(word, "never to be seen")))
        assert response.text.rstrip() == whole[: whole.index(word)].rstrip()
        assert response.samples[0].finish_reason == "stop"

    def test_samples(self, engine: Engine) -> None:
        if not engine.capabilities.samples:
            pytest.skip("the engine draws no samples")
        sampled = {"temperature": 1.0, "n": 4}
        first, second = ask(engine, free("a cat", 16, **sampled), free("a cow", 16, **sampled))
        assert len(first.samples) == len(second.samples) == 4
        assert len({sample.text for sample in (*first.samples, *second.samples)}) > 2

    def test_more_samples_of_a_seeded_request_are_others(self, engine: Engine) -> None:
        """Where four are known (`Job.first`), the next four must not be these four again."""
        if not engine.capabilities.samples:
            pytest.skip("the engine draws no samples")
        request = free("a cat", 16, temperature=1.0, n=4, seed=11)
        jobs = [
            replace(job, first=first)
            for job, first in zip(jobs_for(engine, [request] * 3), (0, 4, 0), strict=True)
        ]
        done = finish(engine, jobs)
        responses = [done[job.number].response for job in jobs]
        first, more, again = [[s.text for s in response.samples] for response in responses if response]
        assert more != first
        if self.repeatable:
            assert again == first

    def test_work_may_be_added_while_answers_come(self, engine: Engine) -> None:
        first = jobs_for(engine, [free(topic, 8) for topic in TOPICS[:2]])
        later = jobs_for(engine, [free(topic, 8) for topic in TOPICS[2:]])
        engine.submit(first)
        done = []
        for completion in engine.completions():
            done.append(completion.number)
            if len(done) == 1:
                engine.submit(later)
        assert sorted(done) == sorted(job.number for job in (*first, *later))

    def test_cancelled_jobs_do_not_hold_up_the_others(self, engine: Engine) -> None:
        jobs = jobs_for(engine, [free(topic, 8) for topic in TOPICS])
        engine.submit(jobs)
        engine.cancel([jobs[0].number])
        done: set[int] = set()
        for completion in engine.completions():
            done.add(completion.number)
            if len(done) == 1:
                engine.cancel([jobs[1].number])
        assert done >= {job.number for job in jobs[2:]}
        assert ask(engine, free("after that"))[0].text

    def test_one_failure_leaves_the_others_alone(self, engine: Engine, failing: Request | None) -> None:
        if failing is None:
            pytest.skip("there is no request that fails by itself")
        jobs = jobs_for(engine, [free(TOPICS[0], 8), failing, free(TOPICS[1], 8)])
        done = finish(engine, jobs)
        error = done[jobs[1].number].error
        assert error and "\n" not in error
        assert done[jobs[1].number].response is None
        assert all(done[jobs[k].number].response is not None for k in (0, 2))

    def test_constraints_are_kept(self, engine: Engine) -> None:
        claimed = engine.capabilities.constraints
        if not claimed:
            pytest.skip("the engine has no constrained decoding")
        prompts = prompt_set("domain", context="without", scale_levels=10, constrain="json")
        if "json" in claimed:
            (response,) = ask(engine, prompts.point(SOURCES[0]))
            assert 0 <= json.loads(response.text)["score"] <= 9
        if "regex" in claimed:
            request = prompts.list_rank(SOURCES[:3])
            assert request.constraint is not None and isinstance(request.constraint.value, str)
            (response,) = ask(engine, request)
            assert re.fullmatch(request.constraint.value, response.text)
            assert response.samples[0].finish_reason == "stop"
        if "choice" in claimed:
            (response,) = ask(engine, prompts.pair_rank(SOURCES[0], SOURCES[1]))
            assert response.text in ("A", "B")
            assert response.samples[0].finish_reason == "stop"

    def test_log_probabilities_of_labels(self, engine: Engine) -> None:
        if not engine.capabilities.label_logprobs:
            pytest.skip("the engine gives no log-probabilities of labels")
        prompts = prompt_set("domain", context="without", scale_levels=10)
        labels = ("A", "B")
        request = replace(
            prompts.pair_rank(SOURCES[0], SOURCES[1]), labels=labels, sampling=Sampling(max_tokens=1)
        )
        (response,) = ask(engine, request)
        logprobs = response.samples[0].label_logprobs
        assert logprobs is not None and len(logprobs) == 2
        assert all(value <= 0 for value in logprobs)
        assert 0 < sum(math.exp(value) for value in logprobs) <= 1.001

    def test_log_probabilities_of_a_target(self, engine: Engine) -> None:
        if not engine.capabilities.prompt_logprobs:
            pytest.skip("the engine gives no log-probabilities of a prompt")
        request = user("Say hello in English.", Sampling(max_tokens=0), score_target="Hello!")
        longer = replace(request, score_target="Hello! xqz vbn 77 ]] trousers")
        values = [response.samples[0].target_logprob for response in ask(engine, request, longer)]
        assert values[0] is not None and values[1] is not None
        assert values[1] < values[0] < 0

    def test_tokens_are_counted_as_they_are_used(self, engine: Engine) -> None:
        requests = [free(topic, 2) for topic in (*TOPICS, "a <|im_end|> in the text")]
        counts = engine.count_tokens([engine.render(request) for request in requests])
        if counts is None:
            pytest.skip("the engine has no tokenizer at hand")
        assert counts == [response.prompt_tokens for response in ask(engine, *requests)]
