"""What the `vllm` engine does without a vLLM: settings, identity, order, failures, answers."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError, model_validator
from test_models import write_model

from authbench.engines.encoding import PromptEncoder, batch_encoder, load_tokenizer
from authbench.engines.models import open_folder
from authbench.engines.vllm import VllmEngine, installed
from authbench.engines.vllm.failures import explain
from authbench.engines.vllm.requests import (
    Prepared,
    RequestError,
    parameter_values,
    prepare,
    to_response,
    waiting_place,
)
from authbench.engines.vllm.settings import Settings
from authbench.errors import ConfigError, EngineError
from authbench.runtime.engine import Job, ModelConfig, RenderedPrompt
from authbench.runtime.messages import Request, Sampling, user


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that looks like vLLM to the look-up, with few parameters."""
    package = tmp_path / "vllm"
    (package / "engine").mkdir(parents=True)
    (package / "engine" / "arg_utils.py").write_text(
        "class EngineArgs:\n    model: str = ''\n    block_size: int | None = 16\n    _hidden: int = 0\n"
        "    max_model_len: int = 1\n    gpu_memory_utilization: float = 0.9\n    dtype: ModelDType = ''\n"
    )
    (package / "sampling_params.py").write_text(
        "class SamplingParams:\n    n: int = 1\n    logprobs: int = 0\n"
    )
    monkeypatch.setattr(installed, "package_folder", lambda: package)
    return package


class TestInstalled:
    def test_parameters_are_read_from_the_source(self, source: Path) -> None:
        assert installed.engine_arguments()["block_size"] == "int | None"
        assert "_hidden" not in installed.engine_arguments()
        assert installed.sampling_parameters() == {"n": "int", "logprobs": "int"}

    def test_what_the_source_lacks_is_no_capability(self, source: Path, folder: Path) -> None:
        engine = VllmEngine(ModelConfig("m", "m", path=str(folder)), {})
        capabilities = engine.capabilities
        assert capabilities.label_logprobs and not capabilities.prompt_logprobs
        assert capabilities.constraints == frozenset()


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"blok_size": 2}, "did you mean 'block_size'"),
            ({"proces": "own"}, "did you mean 'process'"),
            ({"process": "both"}, "is not one of auto, inner, own"),
            ({"order": "random"}, "is not one of longest, arrival"),
            ({"batch_invariant": "yes"}, "batch_invariant is 'yes', and must be a valid boolean"),
            ({"block_size": "2"}, "block_size is '2', and must be of vLLM's type int"),
            ({"max_model_len": True}, "must be of vLLM's type int"),
            ({"gpu_memory_utilization": "most"}, "must be of vLLM's type float"),
            ({"model": "x"}, "set the model"),
        ],
    )
    def test_that_cannot_be(self, source: Path, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            Settings.parse(settings)

    def test_only_what_is_said_is_passed_on(self, folder: Path, source: Path) -> None:
        given = {"max_model_len": 300, "block_size": None, "gpu_memory_utilization": 1, "dtype": "half"}
        assert Settings.parse({**given, "order": "arrival"}).engine_arguments(open_folder(folder)) == {
            "model": str(folder),
            "max_model_len": 300,
            "gpu_memory_utilization": 1,
            "dtype": "half",
        }

    def test_lora(self, folder: Path, tmp_path: Path) -> None:
        adapter = tmp_path / "adapter"
        adapter.mkdir()
        (adapter / "adapter_config.json").write_text('{"r": 24}')
        (adapter / "adapter_model.safetensors").write_bytes(b"weights")
        files = open_folder(folder)
        settings = Settings.parse({"lora": str(adapter)})
        arguments = settings.engine_arguments(files)
        assert arguments["enable_lora"] is True and arguments["max_lora_rank"] == 32
        assert settings.revision(files).startswith(f"{files.revision}+lora-")
        with pytest.raises(EngineError, match="is no LoRA adapter"):
            Settings.parse({"lora": str(tmp_path)}).engine_arguments(files)


class TestIdentity:
    def identity(self, folder: Path, **settings: Any) -> Any:
        return VllmEngine(ModelConfig("m", "org/m", path=str(folder)), settings).identity

    def test_what_changes_answers_is_part_of_it(self, folder: Path) -> None:
        plain = self.identity(folder)
        assert (plain.model, plain.precision, plain.family) == ("org/m", "bfloat16", "vllm")
        others = [
            self.identity(folder, quantization="fp8"),
            self.identity(folder, dtype="float16"),
            self.identity(folder, batch_invariant=True),
            self.identity(folder, kv_cache_dtype="fp8"),
        ]
        assert len({plain, *others}) == 5

    def test_what_changes_speed_only_is_not(self, folder: Path) -> None:
        settings = {"max_num_seqs": 4, "tensor_parallel_size": 2, "process": "own", "max_model_len": 64}
        assert self.identity(folder, **settings) == self.identity(folder)

    def test_the_context_is_the_smaller_of_setting_and_model(self, folder: Path) -> None:
        def context(**settings: Any) -> int | None:
            return VllmEngine(ModelConfig("m", "m", path=str(folder)), settings).context_length

        assert (context(), context(max_model_len=100), context(max_model_len=9999)) == (512, 100, 512)


class TestExpectedLength:
    def length(self, folder: Path, tokens: int, **settings: Any) -> Any:
        engine = VllmEngine(ModelConfig("m", "m", path=str(folder)), settings)
        engine.expect(lambda: tokens)
        return engine.engine_arguments().get("max_model_len")

    def test_the_plan_sets_the_length_in_round_numbers(self, tmp_path: Path) -> None:
        folder = write_model(tmp_path / "m", max_position_embeddings=40960)
        assert self.length(folder, 90) == 1024
        assert self.length(folder, 3000) == 3072
        assert self.length(folder, 99_000) == 40960

    def test_what_is_set_counts(self, tmp_path: Path) -> None:
        folder = write_model(tmp_path / "m", max_position_embeddings=40960)
        assert self.length(folder, 3000, max_model_len=4000) == 4000


def test_longest_first_with_shared_prefixes_together() -> None:
    long_a, long_b, long_a2 = [1] * 100 + [7], [2] * 101, [1] * 100 + [9]
    short = [1] * 10
    waiting = [short, long_a, long_b, long_a2]
    ordered = sorted(waiting, key=lambda tokens: waiting_place("longest", tokens, 0))
    assert ordered == [long_a, long_a2, long_b, short]
    assert [waiting_place("arrival", tokens, k) for k, tokens in enumerate(waiting)] == [0, 1, 2, 3]


class TestPreparing:
    def prepared(self, folder: Path, request: Request, limit: int = 512) -> Prepared:
        encoder = PromptEncoder(batch_encoder(load_tokenizer(folder)))
        return prepare(Job(1, request, RenderedPrompt("hello")), [1, 2, 1], encoder, limit)

    def test_labels_and_targets_become_tokens(self, folder: Path) -> None:
        labels = self.prepared(folder, user("x", Sampling(1), labels=("world", "hello")))
        assert labels.labels == (2, 1)
        target = self.prepared(folder, user("x", Sampling(0), score_target="hello world"))
        assert (target.tokens, target.target) == ([1, 2, 1, 1, 2], 2)

    def test_what_cannot_be_asked(self, folder: Path) -> None:
        with pytest.raises(RequestError, match="is 2 tokens of this model, not one"):
            self.prepared(folder, user("x", Sampling(1), labels=("hello world",)))
        with pytest.raises(RequestError, match="do not fit the context of 10"):
            self.prepared(folder, user("x", Sampling(8)), limit=10)
        assert self.prepared(folder, user("x", Sampling(7)), limit=10).tokens == [1, 2, 1]

    def test_further_samples_are_drawn_by_the_seeds_that_follow(self) -> None:
        def seed(first: int, **sampling: Any) -> Any:
            request = user("x", Sampling(5, temperature=1.0, n=6, **sampling))
            return parameter_values(Prepared(Job(1, request, RenderedPrompt("x"), first), [1])).get("seed")

        assert (seed(0, seed=7), seed(4, seed=7), seed(4)) == (7, 11, None)


class TestAnswers:
    REQUEST = user("x", Sampling(5))

    def output(self, **values: Any) -> Any:
        completion = {
            "index": 0,
            "text": "hi",
            "token_ids": [4, 5],
            "finish_reason": "stop",
            "logprobs": None,
        }
        completion |= values
        return SimpleNamespace(
            outputs=[SimpleNamespace(**completion)], prompt_token_ids=[1, 2, 3], num_cached_tokens=2,
            prompt_logprobs=None,
        )  # fmt: skip

    def test_a_finished_output(self) -> None:
        response = to_response(
            Prepared(Job(1, self.REQUEST, RenderedPrompt("x")), [1, 2, 3]), self.output(), 0.5
        )
        assert not isinstance(response, str)
        assert (response.text, response.prompt_tokens, response.cached_tokens) == ("hi", 3, 2)
        assert (response.samples[0].output_tokens, response.seconds) == (2, 0.5)

    def test_an_aborted_output_is_an_error(self) -> None:
        prepared = Prepared(Job(1, self.REQUEST, RenderedPrompt("x")), [1, 2, 3])
        assert to_response(prepared, self.output(finish_reason="abort"), 0.1) == (
            "vLLM ended the request with 'abort'"
        )

    def test_a_target_is_summed_over_its_own_rows(self) -> None:
        request = user("x", Sampling(0), score_target="y")
        prepared = Prepared(Job(1, request, RenderedPrompt("x")), [1, 2, 8, 9], target=2)
        output = self.output(finish_reason="length")
        row = SimpleNamespace
        output.prompt_logprobs = [
            None, {2: row(logprob=-99.0)}, {8: row(logprob=-1.5)}, {9: row(logprob=-0.25), 7: row(logprob=-3)}
        ]  # fmt: skip
        response = to_response(prepared, output, 0.1)
        assert not isinstance(response, str)
        assert response.samples[0].target_logprob == -1.75

    def test_a_label_without_a_log_probability_is_minus_infinity(self) -> None:
        request = user("x", Sampling(1), labels=("a", "b"))
        prepared = Prepared(Job(1, request, RenderedPrompt("x")), [1], labels=(5, 6))
        output = self.output(finish_reason="length", logprobs=[{5: SimpleNamespace(logprob=-0.5)}])
        response = to_response(prepared, output, 0.1)
        assert not isinstance(response, str)
        assert response.samples[0].label_logprobs == (-0.5, -float("inf"))


class TestFailures:
    @pytest.mark.parametrize(
        "message",
        [
            "CUDA out of memory. Tried to allocate 2.00 GiB",
            "No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
            "Free memory on device (3.1/79.2 GiB) on startup is less than desired GPU memory utilization",
            "the model's max seq len (40960) is larger than the maximum number of tokens in KV cache (9000)",
        ],
    )
    def test_memory_names_what_to_lower(self, message: str) -> None:
        text = str(explain(RuntimeError(message), "load", gpu=True))
        assert text.count("\n") == 1
        for setting in ("max_model_len", "max_num_seqs", "gpu_memory_utilization", "tensor_parallel_size"):
            assert setting in text
        assert "kv_cache_memory_bytes" in str(explain(RuntimeError(message), "load", gpu=False))

    def test_the_cause_is_found_in_the_log_of_the_process_that_died(self, tmp_path: Path) -> None:
        log = tmp_path / "vllm.log"
        log.write_text(
            "2026 ERROR vllm.v1.engine.core: EngineCore failed to start.\n"
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB\n"
            "RuntimeError: Engine core initialization failed. See root cause above.\n"
        )
        error = RuntimeError(
            "Engine core initialization failed. See root cause above. Failed core proc(s): {}"
        )
        text = str(explain(error, "load", gpu=True, log=log))
        assert text.startswith("vLLM cannot load the model: torch.OutOfMemoryError: CUDA out of memory")

    def test_a_death_in_the_middle_says_that_what_had_finished_is_kept(self) -> None:
        text = str(explain(RuntimeError("EngineCore encountered an issue. See stack trace"), "run", gpu=True))
        assert "what had finished is kept" in text and "run the same command again" in text

    def test_of_what_pydantic_says_the_setting_and_its_fault_stay(self) -> None:
        class CacheConfig(BaseModel):
            gpu_memory_utilization: float = Field(le=1)

            @model_validator(mode="after")
            def check(self) -> CacheConfig:
                raise ValueError("no such model")

        for value, said in (
            (3, "gpu_memory_utilization: Input should be less than or equal to 1"),
            (1, "no such model"),
        ):
            with pytest.raises(ValidationError) as caught:
                CacheConfig(gpu_memory_utilization=value)
            text = str(explain(caught.value, "load", gpu=True))
            assert text.splitlines()[0] == f"vLLM cannot load the model: {said}"

    def test_without_vllm_the_way_out_is_named(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(installed, "package_folder", lambda: None)
        with pytest.raises(EngineError, match="vLLM is not installed"):
            VllmEngine(ModelConfig("m", "m", path=str(folder)), {}).load()


def test_facts_without_a_loaded_model_are_json(folder: Path) -> None:
    json.dumps(dict(VllmEngine(ModelConfig("m", "m", path=str(folder)), {}).info()))
