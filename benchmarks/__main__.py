"""`python -m benchmarks [NAME...]`: every benchmark that can run here, or those named."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main() -> int:
    folder = Path(__file__).resolve().parent
    names = sorted(
        path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "__main__", "common")
    )
    wanted = sys.argv[1:] or names
    for name in wanted:
        if name not in names:
            print(f"no benchmark '{name}'; known: {', '.join(names)}", file=sys.stderr)
            return 2
    return max(importlib.import_module(f"benchmarks.{name}").main() or 0 for name in wanted)


if __name__ == "__main__":
    sys.exit(main())
