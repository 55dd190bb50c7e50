"""What there is, and what works on this machine: list, doctor, completion."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from authbench.cli.common import Json, Quiet, Results, flag, print_columns, print_json
from authbench.errors import AuthbenchError

app = typer.Typer()

Rows = list[dict[str, Any]]
#: The model that each engine is tried with where it is at hand: small enough to load in seconds.
TRIAL_MODEL = "smollm2-135m"


@app.command("list", rich_help_panel="Run")
def list_(
    what: Annotated[
        Literal["configs", "datasets", "models", "judges", "engines"],
        typer.Argument(metavar="WHAT", help="What to list."),
    ],
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """List configurations, data sets, models, judges or engines.

    Example: authbench list models
    """
    lists = {
        "configs": _configs,
        "datasets": _datasets,
        "models": _models,
        "judges": _judges,
        "engines": _engines,
    }
    rows = lists[what]()
    if as_json:
        print_json(rows)
    elif rows:
        _print_rows(rows, list(rows[0]))


def _print_rows(rows: Rows, head: Sequence[str]) -> None:
    print_columns([list(row.values()) for row in rows], head)


def _configs() -> Rows:
    import yaml

    from authbench.paths import share_dir

    rows = []
    for path in sorted(share_dir("configs").glob("*.yaml")):
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=_fast_loader())
        if "extends" in values:
            parent = path.with_name(values["extends"])
            values = {**yaml.load(parent.read_text(encoding="utf-8"), Loader=_fast_loader()), **values}
        rows.append({"name": path.stem, "task": values.get("task"), "title": values.get("title")})
    return rows


def _datasets() -> Rows:
    from authbench.data.catalog import catalog

    return [
        {"name": entry.name, "kind": entry.kind, "text": entry.has_text, "title": entry.title}
        for entry in catalog().values()
    ]


def _models() -> Rows:
    import yaml

    from authbench.experiment.models import known_models

    rows = []
    for name, path in sorted(known_models().items()):
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=_fast_loader())
        parameters = values.get("parameters")
        rows.append(
            {
                "name": name,
                "id": values.get("id"),
                "parameters": f"{parameters / 1e9:.1f}B" if parameters else None,
                "context": values.get("context_length"),
                "paper": values.get("paper_name"),
            }
        )
    return rows


def _judges() -> Rows:
    return [
        {"name": "point", "calls": 10, "coarse": 5, "answers": 'a score: {"score": 7}'},
        {"name": "list-rank", "calls": 1, "coarse": 1, "answers": "a ranking: [4] > [0]"},
        {"name": "list-score", "calls": 1, "coarse": 1, "answers": 'scores: {"0": 7, "1": 4}'},
        {"name": "pair-rank", "calls": 35, "coarse": 10, "answers": "A or B"},
        {"name": "pair-score", "calls": 35, "coarse": 10, "answers": 'scores: {"A": 7, "B": 4}'},
    ]  # fmt: skip


def _engines() -> Rows:
    from authbench.engines.registry import ENGINES, installed

    return [
        {
            "name": name,
            "installed": installed(name),
            "extra": spec.extra,
            "for": spec.summary,
            "can": ", ".join(spec.can) or None,
        }
        for name, spec in ENGINES.items()
    ]


def _fast_loader() -> Any:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@app.command(rich_help_panel="Service")
def doctor(
    results: Results = Path("results"),
    no_generate: Annotated[bool, flag("--no-generate", help="Do not load a model for a trial.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say what works on this machine.

    Engines, GPU and its memory against the models, data, store. Each installed
    engine that has a small model at hand makes one tiny generation.

    Example:
      authbench doctor
    """
    from authbench.engines.memory import find_gpus
    from authbench.engines.registry import ENGINES
    from authbench.experiment.provenance import machine, versions

    gpus = find_gpus()
    report: dict[str, Any] = {
        "versions": versions(),
        "machine": machine(),
        "gpus": [{"name": gpu.name, "memory_gb": round(gpu.memory / 1e9, 1)} for gpu in gpus],
        "engines": [_engine(name, generate=not no_generate) for name in ENGINES],
        "models": _model_memory([gpu.memory for gpu in gpus]),
        "data": _data(),
        "store": _store(results),
    }
    if as_json:
        print_json(report)
    else:
        _print(report)


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


def _model_memory(memories: Sequence[float]) -> Rows:
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


def _data() -> Rows:
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
    typer.echo(words)
    typer.echo(f"{machine['system']}, {machine['processor']}, {machine['cores']} cores")
    gpus = ", ".join(f"{gpu['name']} ({gpu['memory_gb']} GB)" for gpu in report["gpus"]) or "none"
    typer.echo(f"GPU: {gpus}\n")
    for name in ("engines", "models", "data"):
        _print_rows(report[name], [key.replace("_", " ") for key in report[name][0]])
        typer.echo()
    mirror = os.environ.get("AUTHBENCH_MIRROR")
    typer.echo(f"mirror: {mirror or 'none (AUTHBENCH_MIRROR)'}")
    typer.echo(f"store: {report['store']}")


@app.command(rich_help_panel="Service")
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="Which shell.")],
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    r"""Print the shell's completion script.

    authbench --install-completion puts it where the shell looks for it.

    Examples:
      authbench completion bash > ~/.local/share/bash-completion/completions/authbench
      authbench completion zsh > "${fpath\[1]}/_authbench"
      authbench completion fish > ~/.config/fish/completions/authbench.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name="authbench", complete_var="_AUTHBENCH_COMPLETE", shell=shell)
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        typer.echo(script)
