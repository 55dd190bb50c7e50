"""Replay recorded answers over `configs/ci` and compare every cell with its golden value.

A changed prompt, parser, sampler or measure shows as a named difference: a prompt that has no recorded
answer, or a cell whose value moved. `--record` asks the real model again and writes both anew.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from authbench.errors import AuthbenchError
from authbench.experiment.loading import load_experiment
from authbench.experiment.running import STORE_FILE, Done, Options, run
from authbench.runtime.export import write_export
from authbench.runtime.store import Store

CI = Path(__file__).resolve().parent.parent / "configs" / "ci"
GOLDEN = CI / "golden"
ANSWERS = GOLDEN / "answers.jsonl.gz"
#: Columns whose values are compared; the others place the row.
COMPARED = (
    "value", "low", "high", "n", "n_invalid", "n_constant", "n_ties",
    "calls", "unique_calls", "prompt_tokens", "output_tokens",
)  # fmt: skip
#: What may differ between a recording and its replay.
IGNORED = ("engine",)
TOLERANCE = 1e-9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--record", action="store_true", help="ask the model anew and write the golden values"
    )
    parser.add_argument("--engine", default="openvino", help="engine to record with")
    options = parser.parse_args()
    configs = sorted(CI.glob("*.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        try:
            if options.record:
                record(configs, options.engine, Path(folder))
                return 0
            done = replay(configs, Path(folder))
        except AuthbenchError as error:
            print(f"reproduce-small: {error}", file=sys.stderr)
            return error.exit_status
        return report(done)


def record(configs: Sequence[Path], engine: str, folder: Path) -> None:
    experiments = [load_experiment(str(path), engine=engine) for path in configs]
    done = run(experiments, Options(folder))
    with Store(folder / STORE_FILE) as store:
        answers = write_export(store, ANSWERS)
    for entry in done:
        golden_file(entry).write_text(entry.folder.cells.read_text(encoding="utf-8"), encoding="utf-8")
    print(f"{answers} answers recorded; golden cells of {', '.join(e.job.experiment.name for e in done)}")


def replay(configs: Sequence[Path], folder: Path) -> list[Done]:
    path = f"engine.path={ANSWERS}"
    experiments = [load_experiment(str(config), engine="replay", sets=[path]) for config in configs]
    return run(experiments, Options(folder))


def report(done: Sequence[Done]) -> int:
    cells = 0
    differences: list[str] = []
    for entry in done:
        facts = entry.folder.read() or {}
        name = entry.job.experiment.name
        differences += [f"{name}: {error}" for error in facts.get("errors", ())]
        rows = json.loads(entry.folder.cells.read_text(encoding="utf-8"))
        golden = json.loads(golden_file(entry).read_text(encoding="utf-8"))
        cells += len(golden)
        differences += compare(name, golden, rows)
    for line in differences:
        print(line)
    print(f"reproduce-small: {cells} cells of {len(done)} runs, {len(differences)} differences")
    return 1 if differences else 0


def compare(name: str, golden: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Every difference between two lists of cells, with the cell's place named."""
    wanted = {place(row): row for row in golden}
    found = {place(row): row for row in rows}
    for key in wanted.keys() - found.keys():
        yield f"{name} {key}: the cell is gone"
    for key in found.keys() - wanted.keys():
        yield f"{name} {key}: the cell is new"
    for key in sorted(wanted.keys() & found.keys()):
        for column in COMPARED:
            old, new = wanted[key][column], found[key][column]
            if not same(old, new):
                yield f"{name} {key}: {column} was {old}, is {new}"


def place(row: dict[str, Any]) -> str:
    words = [
        f"{key}={value}"
        for key, value in row.items()
        if value is not None and key not in (*COMPARED, *IGNORED, "partial", "experiment", "table", "model")
    ]
    return " ".join(words)


def same(old: object, new: object) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= TOLERANCE
    return old == new


def golden_file(entry: Done) -> Path:
    return GOLDEN / f"{entry.job.experiment.name}.cells.json"


if __name__ == "__main__":
    sys.exit(main())
