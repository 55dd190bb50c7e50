"""Record `results/reference`: recorded answers of SmolLM2 over `configs/ci`, and small runs of `fake`.

Answers of SmolLM2 are replayed; the fake runs are those of the golden net that make a table of the papers.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from authbench.errors import AuthbenchError, DataError
from authbench.experiment.loading import load_experiment
from authbench.experiment.running import Done, Options, run

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "results" / "reference"
CI = ROOT / "configs" / "ci"
INPUTS = ROOT / "tests" / "golden" / "inputs"
#: Those of the golden net with a table of the papers.
FAKE = (
    "domains_fine", "domains_coarse", "domains_pairs", "entities_fine", "rag", "entities_coarse",
    "lcr_bm25", "lcr_contriever", "lcr_models", "lcr_samples", "lcr_uncertainty",
)  # fmt: skip
FILES = ("run.json", "cells.json", "items.jsonl")


def main() -> int:
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            made = [*_replayed(folder / "smollm2"), *_faked(folder)]
            for source, target in made:
                _copy(source, target, folder)
    except AuthbenchError as error:
        print(f"record_reference: {error}", file=sys.stderr)
        return error.exit_status
    print(f"{len(made)} runs written to {REFERENCE.relative_to(ROOT)}")
    return 0


def _replayed(results: Path) -> list[tuple[Path, Path]]:
    """In the repository's root, to which the paths in `configs/ci` are relative."""
    os.chdir(ROOT)
    experiments = [load_experiment(str(path.relative_to(ROOT))) for path in sorted(CI.glob("*.yaml"))]
    return _done(results, run(experiments, Options(results)), REFERENCE)


def _faked(folder: Path) -> list[tuple[Path, Path]]:
    """In a copy of the golden net's inputs, to which the paths in its configurations are relative."""
    shutil.copytree(INPUTS, folder, dirs_exist_ok=True)
    os.chdir(folder)
    try:
        experiments = [load_experiment(f"configs/{name}.yaml") for name in FAKE]
        return _done(folder / "results", run(experiments, Options(folder / "results")), REFERENCE / "fake")
    finally:
        os.chdir(ROOT)


def _done(results: Path, done: list[Done], target: Path) -> list[tuple[Path, Path]]:
    return [(entry.folder.path, target / entry.folder.path.relative_to(results)) for entry in done]


def _copy(source: Path, target: Path, folder: Path) -> None:
    """Copy a run's files. Raises `DataError` if one of them names a folder of this machine."""
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        text = (source / name).read_text(encoding="utf-8")
        if str(folder) in text or str(ROOT) in text:
            raise DataError(f"{target / name} would name a folder of this machine")
        (target / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
