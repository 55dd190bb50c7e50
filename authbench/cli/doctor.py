"""`authbench doctor`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import click

from authbench.cli.common import output_options, print_columns, print_json, results_option
from authbench.errors import AuthbenchError

#: The model that each engine is tried with where it is at hand: small enough to load in seconds.
TRIAL_MODEL = "smollm2-135m"


@click.command("doctor")
@results_option
@click.option("--no-generate", is_flag=True, help="Do not load a model for a trial.")
@output_options
def command(results: Path, no_generate: bool, quiet: bool, as_json: bool) -> None:
    """Say what works on this machine.

    Engines, GPU and its memory against the models, data, store. Each installed engine that has a small model
    at hand makes one tiny generation.

    \b
    Example:
      authbench doctor
    """
    from authbench.engines.memory import find_gpus
    from authbench.experiment.provenance import machine, versions

    gpus = find_gpus()
    report: dict[str, Any] = {
        "versions": versions(),
        "machine": machine(),
        "gpus": [{"name": gpu.name, "memory_gb": round(gpu.memory / 1e9, 1)} for gpu in gpus],
        "engines": [_engine(name, generate=not no_generate) for name in _engine_names()],
        "models": _models([gpu.memory for gpu in gpus]),
        "data": _data(),
        "store": _store(results),
    }
    if as_json:
        print_json(report)
    else:
        _print(report)


def _engine_names() -> list[str]:
    from authbench.engines.registry import ENGINES

    return list(ENGINES)


def _engine(name: str, *, generate: bool) -> dict[str, Any]:
    from authbench.engines.registry import ENGINES, installed

    row: dict[str, Any] = {"engine": name, "installed": installed(name), "trial": "-"}
    if not row["installed"]:
        extra = ENGINES[name].extra
        row["trial"] = f"pip install 'authbench[{extra}]'" if extra else "-"
    elif generate and name in ("fake", "openvino", "vllm"):
        row["trial"] = _trial(name)
    elif name == "openai":
        row["trial"] = "give --set engine.base_url=..."
    return row


def _trial(name: str) -> str:
    """One tiny generation, or why there was none."""
    from authbench.engines.registry import make_engine
    from authbench.experiment.models import load_model
    from authbench.runtime.engine import Job
    from authbench.runtime.messages import Sampling, user

    started = time.monotonic()
    try:
        engine = make_engine(name, load_model(TRIAL_MODEL), {})
        try:
            request = user("Say yes.", Sampling(max_tokens=4))
            prompt = engine.render(request)
            engine.load()
            engine.submit([Job(0, request, prompt)])
            completion = next(engine.completions(), None)
        finally:
            engine.close()
    except AuthbenchError as error:
        return str(error).splitlines()[0]
    if completion is None or completion.response is None:
        return f"failed: {completion.error if completion else 'no answer'}"
    return f"{TRIAL_MODEL} said {completion.response.text!r} in {time.monotonic() - started:.1f} s"


def _models(memories: list[float]) -> list[dict[str, Any]]:
    from authbench.engines.memory import fit
    from authbench.experiment.models import known_models, load_model

    rows = []
    for name in sorted(known_models()):
        model = load_model(name)
        row: dict[str, Any] = {"model": name, "weights_gb": None, "gpu": None}
        found = fit(model, max(memories)) if memories else None
        if model.parameters:
            row["weights_gb"] = f"{2 * model.parameters / 1e9:.1f}"
        if found is not None:
            row["gpu"] = (
                "does not fit"
                if found.gpus is None
                else f"{found.gpus} GPU, {found.tokens:,} tokens of KV cache"
                + ("" if found.gpus <= len(memories) else f" (this machine has {len(memories)})")
            )
        elif not memories:
            row["gpu"] = "no GPU"
        rows.append(row)
    return rows


def _data() -> list[dict[str, Any]]:
    from authbench.data.catalog import catalog
    from authbench.data.fetch import Places, local

    places = Places.from_environment()
    rows = []
    for entry in catalog().values():
        here = sum(local(spec, places) is not None for spec in entry.files)
        rows.append({"dataset": entry.name, "files": len(entry.files), "here": here})
    return rows


def _store(results: Path) -> str:
    from authbench.experiment.jobs import STORE_FILE

    path = results / STORE_FILE
    if not path.is_file():
        return f"no answers yet in {results}"
    return f"{path}: {path.stat().st_size / 1e6:,.1f} MB; `authbench store stats` counts them"


def _print(report: dict[str, Any]) -> None:
    words = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    machine = report["machine"]
    click.echo(words)
    click.echo(f"{machine['system']}, {machine['processor']}, {machine['cores']} cores")
    gpus = ", ".join(f"{gpu['name']} ({gpu['memory_gb']} GB)" for gpu in report["gpus"]) or "none"
    click.echo(f"GPU: {gpus}\n")
    for name in ("engines", "models", "data"):
        rows = report[name]
        head = list(rows[0])
        print_columns([[row[key] for key in head] for row in rows], [key.replace("_", " ") for key in head])
        click.echo()
    mirror = os.environ.get("AUTHBENCH_MIRROR")
    click.echo(f"mirror: {mirror or 'none (AUTHBENCH_MIRROR)'}")
    click.echo(f"store: {report['store']}")
