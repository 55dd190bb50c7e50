"""The vllm engine against lm-evaluation-harness: the whole process, from the shell to the printed table.

The same 440 requests. lm-eval lies in an environment of its own, which this benchmark makes at its first
run (with the same vLLM; minutes and gigabytes). Two rows: lm-eval as it comes, and with what authbench
sets for vLLM on a CPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

from authbench.paths import cache_dir
from benchmarks.common import alternate, command, ratios, record, show
from benchmarks.support import peers, table1

MOST = 0.7
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))

#: What authbench sets without a GPU: no second process, and nothing compiled ahead of time.
OURS = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_USE_AOT_COMPILE": "0"}

_TASK = """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{content}}}}"
doc_to_target: ""
generation_kwargs: {{until: [], max_gen_toks: {max_tokens}, do_sample: false, temperature: 0.0}}
metric_list: [{{metric: bypass}}]
"""


def write_tasks(folder: Path, asked: Path) -> list[str]:
    """One lm-eval task for each length of answer; gives their names."""
    rows = json.loads(asked.read_text(encoding="utf-8"))
    names = []
    for most in sorted({row["max_tokens"] for row in rows}):
        name = f"authbench_{most}"
        data = folder / f"{name}.jsonl"
        lines = [json.dumps({"content": row["content"]}) for row in rows if row["max_tokens"] == most]
        data.write_text("\n".join(lines) + "\n", encoding="utf-8")
        task = _TASK.format(name=name, data=data, max_tokens=most)
        (folder / f"{name}.yaml").write_text(task, encoding="utf-8")
        names.append(name)
    return names


def main() -> int:
    why = table1.missing()
    if why is not None:
        print(f"\nvllm_vs_lm_eval: not run, {why}")
        return 0
    program = peers.python().with_name("lm_eval")
    with tempfile.TemporaryDirectory() as name:
        folder, numbers = Path(name), count()
        asked = folder / "asked.json"
        words = [str(table1.vllm_python()), "-m", "benchmarks.support.table1", "requests", str(asked)]
        subprocess.run(words, check=True, env=table1.environment(), cwd=table1.ROOT, capture_output=True)
        tasks = write_tasks(folder, asked)
        model = cache_dir("models", f"{table1.MODEL}-hf")
        peer = [
            str(program),
            "--model",
            "vllm",
            "--model_args",
            f"pretrained={model}",
            "--batch_size",
            "auto",
        ]
        peer += ["--tasks", ",".join(tasks), "--include_path", str(folder), "--apply_chat_template"]
        peer += ["--log_samples"]

        def theirs(**changes: str) -> float:
            output = ["--output_path", str(folder / f"o{next(numbers)}")]
            offline = {"HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
            return command([*peer, *output], env=table1.environment(**offline, **changes), cwd=folder)

        def ours() -> float:
            results = folder / f"r{next(numbers)}"
            return command(table1.run_words(results), env=table1.environment(), cwd=table1.ROOT)

        taken = alternate(
            {
                "authbench": ours,
                "lm-eval": theirs,
                "lm-eval, our settings": lambda: theirs(**OURS),
            },
            rounds=ROUNDS,
        )
    rows, results = [], {}
    for side, timing in taken.items():
        rows.append((side, timing.spread()))
        results[side] = [round(second, 2) for second in timing.seconds]
    for side in ("lm-eval", "lm-eval, our settings"):
        middle, least, most = ratios(taken["authbench"], taken[side])
        wanted = f"; wanted: at most {MOST}" if side == "lm-eval" else ""
        rows.append((f"ratio to {side}", f"{middle:.3f} ({least:.3f} to {most:.3f}{wanted})"))
        results[f"ratio to {side}"] = [round(value, 4) for value in (middle, least, most)]
    show("vllm: 440 requests of Table 1, SmolLM2 on the CPU: shell to printed table", rows)
    record("vllm_vs_lm_eval", results, peer=peers.LM_EVAL)
    return 0 if ratios(taken["authbench"], taken["lm-eval"])[0] <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
