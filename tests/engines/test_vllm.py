"""The `vllm` engine with a real vLLM on the CPU: the contract, equality with the bare engine, bad input."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine_contract import SOURCES, EngineContract, ask, finish, free, jobs_for
from vllm_support import QUICK, exported_folder, smollm2

from authbench.engines.vllm import VllmEngine
from authbench.engines.vllm.requests import waiting_place
from authbench.errors import ConfigError, EngineError
from authbench.prompts.render import prompt_set
from authbench.runtime.engine import Engine
from authbench.runtime.messages import Constraint, Request, Sampling, user

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1000)]


@pytest.fixture(scope="module")
def loaded() -> Iterator[VllmEngine]:
    engine = VllmEngine(smollm2(), {**QUICK, "max_model_len": 2048})
    engine.load()
    yield engine
    engine.close()


class TestContract(EngineContract):
    #: Sums are taken in another order in another batch, and this model is often undecided.
    repeatable = False

    @pytest.fixture
    def engine(self, loaded: VllmEngine) -> Engine:
        return loaded

    @pytest.fixture
    def failing(self) -> Request:
        return user("Say something.", Sampling(5), constraint=Constraint("regex", "([a-z"))


def test_the_prompt_has_one_begin_token_and_the_template(loaded: VllmEngine) -> None:
    text = loaded.render(user("Hello", Sampling(1))).text
    assert text.startswith("<|im_start|>") and text.endswith("<|im_start|>assistant\n")
    assert text.count("<|im_start|>") == 3  # the template's system turn, the user's, the assistant's


def test_answers_come_one_by_one(loaded: VllmEngine) -> None:
    """The short answer is given while the long one is still being written."""
    jobs = jobs_for(loaded, [free("a king", 60), free("a queen", 2)])
    loaded.submit(jobs)
    completions = loaded.completions()
    assert next(completions).number == jobs[1].number
    assert next(completions).number == jobs[0].number
    assert list(completions) == []


def test_samples_share_their_prompt(loaded: VllmEngine) -> None:
    before = loaded.info()["prompt_tokens"]
    (response,) = ask(loaded, free("a cat", 4, temperature=1.0, n=5))
    assert loaded.info()["prompt_tokens"] - before == response.prompt_tokens
    assert len(response.samples) == 5


def test_an_equal_prompt_comes_out_of_the_cache(loaded: VllmEngine) -> None:
    request = free("a very long tale of " + "snow and ice and " * 60, 2)
    first, second = ask(loaded, request)[0], ask(loaded, request)[0]
    assert first.cached_tokens == 0
    assert second.cached_tokens >= 128  # the CPU build's cache has blocks of 128 tokens
    assert 0 < loaded.info()["prefix_cache_hit_rate"] < 1


def test_what_a_reviewer_asks_for_is_recorded(loaded: VllmEngine) -> None:
    facts = loaded.info()
    for name in ("vllm", "torch", "arguments", "resolved", "revision", "output_tokens_per_second"):
        assert facts[name], name
    assert "cuda" in facts and "gpu" in facts
    assert facts["resolved"]["max_model_len"] == 2048
    assert facts["process"] == "inner"
    assert facts["revision"].startswith("content-")


def test_a_target_is_scored_as_the_sum_over_its_tokens(loaded: VllmEngine) -> None:
    """Scored as one target, and as the product of the chain rule: first part, then the rest after it."""
    prompt = user("What is the capital of France?", Sampling(0), score_target="The capital")
    whole = replace(prompt, score_target="The capital of France is Paris.")
    wrong = replace(prompt, score_target="The capital of France is Berlin.")
    values = [response.samples[0].target_logprob for response in ask(loaded, prompt, whole, wrong)]
    assert all(value is not None and value < 0 for value in values)
    assert values[0] > values[1] > values[2]  # type: ignore[operator]


def test_a_prompt_that_does_not_fit_is_refused(loaded: VllmEngine) -> None:
    (job,) = jobs_for(loaded, [user("word " * 4000, Sampling(5))])
    error = finish(loaded, [job])[job.number].error
    assert error and "do not fit the context of 2048" in error


def test_a_label_of_several_tokens_is_refused(loaded: VllmEngine) -> None:
    request = user("Which?", Sampling(1), labels=("A", "supercalifragilistic"))
    (job,) = jobs_for(loaded, [request])
    error = finish(loaded, [job])[job.number].error
    assert error and "tokens of this model, not one" in error


def test_the_same_text_as_from_the_bare_engine(loaded: VllmEngine) -> None:
    """Forty prompts of Table 1, in the same order, through `LLM.generate` in a process of its own."""
    prompts = prompt_set("domain", context="without", scale_levels=10)
    requests = [prompts.point(source) for source in SOURCES] + [prompts.list_score(SOURCES)]
    requests += [free(f"the number {k}", 6) for k in range(34)]
    jobs = jobs_for(loaded, requests)
    tokens = loaded._encoder.encode([job.prompt for job in jobs])
    order = sorted(range(len(jobs)), key=lambda k: waiting_place("longest", tokens[k], 0))
    done = finish(loaded, jobs)
    ours = [done[jobs[k].number].response.text for k in order]  # type: ignore[union-attr]
    plan = [[tokens[k], requests[k].sampling.max_tokens] for k in order]
    assert ours == bare_texts(plan)


BARE = """
import json, sys
from vllm import LLM, SamplingParams
if __name__ == "__main__":
    plan = json.load(open(sys.argv[2]))
    llm = LLM(model=sys.argv[1], max_model_len=2048, enforce_eager=True, disable_log_stats=True)
    params = [SamplingParams(temperature=0.0, max_tokens=most) for _, most in plan]
    outputs = llm.generate([{"prompt_token_ids": ids} for ids, _ in plan], params, use_tqdm=False)
    json.dump([output.outputs[0].text for output in outputs], open(sys.argv[3], "w"))
"""


def bare_texts(plan: list[Any]) -> list[str]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        script, asked, answered = (Path(folder, name) for name in ("bare.py", "plan.json", "texts.json"))
        script.write_text(BARE)
        asked.write_text(json.dumps(plan))
        environment = {**os.environ, "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1"}
        environment["VLLM_LOGGING_LEVEL"] = "ERROR"
        environment.pop("VLLM_LOGGING_CONFIG_PATH", None)
        command = [sys.executable, str(script), str(exported_folder()), str(asked), str(answered)]
        subprocess.run(command, check=True, env=environment, timeout=400)
        texts: list[str] = json.loads(answered.read_text())
        return texts


class TestBadInput:
    def test_a_folder_that_is_no_model(self, tmp_path: Any) -> None:
        with pytest.raises(EngineError, match="is no Hugging Face model"):
            VllmEngine(smollm2(), {"path": str(tmp_path)}).load()

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"enforce_eagre": True}, "did you mean 'enforce_eager'"),
            ({"tensor_parallel_size": "two"}, "must be of vLLM's type int"),
        ],
    )
    def test_settings_that_the_installed_vllm_does_not_take(self, settings: Any, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            VllmEngine(smollm2(), settings)

    def test_a_value_that_vllm_refuses(self, tmp_path: Path) -> None:
        first, second = failed_start(tmp_path, exported_folder(), {**QUICK, "gpu_memory_utilization": 3})
        assert "gpu_memory_utilization" in first and second.startswith("check the model and the settings")

    def test_a_cache_too_small_names_what_to_lower(self, tmp_path: Path) -> None:
        small = {**QUICK, "num_gpu_blocks_override": 2}
        assert "engine.max_model_len" in failed_start(tmp_path, exported_folder(), small)[1]

    def test_weights_that_were_cut_off(self, tmp_path: Path) -> None:
        folder = tmp_path / "cut"
        folder.mkdir()
        for file in exported_folder().iterdir():
            if file.suffix == ".safetensors":
                with file.open("rb") as whole:
                    (folder / file.name).write_bytes(whole.read(1_000_000))
            else:
                shutil.copy(file, folder)
        first, second = failed_start(tmp_path, folder, QUICK)
        assert "incomplete metadata" in first and second.startswith("check the model")


def test_a_killed_engine_process_ends_the_run_and_keeps_what_had_finished(tmp_path: Path) -> None:
    """vLLM's blocking client would wait for ever."""
    lines = run_script(
        tmp_path,
        f"""
        import os, signal, subprocess
        from engine_contract import free, jobs_for
        engine = VllmEngine(ModelConfig("m", "m", path={str(exported_folder())!r}),
                            {{**{QUICK!r}, "process": "own", "max_model_len": 1024}})
        engine.load()
        assert engine.info()["process"] == "own"
        engine.submit(jobs_for(engine, [free("a king", 900), free("a queen", 2)]))
        completions = engine.completions()
        print(next(completions).response is not None)
        listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())],
                                capture_output=True, text=True).stdout
        (core,) = [line.split()[0] for line in listed.splitlines() if "EngineCor" in line]
        os.kill(int(core), signal.SIGKILL)
        list(completions)
        """,
    )
    assert lines[0] == "True"
    assert lines[1].startswith("vLLM died; what had finished is kept:")


def failed_start(place: Path, folder: Path, settings: dict[str, Any]) -> list[str]:
    """The two lines that loading ends with."""
    lines = run_script(place, f"VllmEngine(ModelConfig('m', 'm', path={str(folder)!r}), {settings!r}).load()")
    assert len(lines) == 2 and lines[0].startswith("vLLM cannot load the model:"), lines
    return lines


def run_script(place: Path, body: str) -> list[str]:
    """Lines that a program prints, its `EngineError` included; vLLM may leave its state behind in it."""
    head = (
        "from authbench.engines.vllm import VllmEngine\n"
        "from authbench.errors import EngineError\n"
        "from authbench.runtime.engine import ModelConfig\n"
        "def main():\n"
    )
    tail = (
        "if __name__ == '__main__':\n"
        "    try:\n        main()\n    except EngineError as error:\n        print(error)\n"
    )
    path = place / "program.py"
    path.write_text(head + textwrap.indent(textwrap.dedent(body), "    ") + "\n" + tail)
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=400,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    return done.stdout.strip().splitlines()
