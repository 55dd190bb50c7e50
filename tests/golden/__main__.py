"""`python -m tests.golden` compares with what was recorded; `--record` records anew."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from .difference import differences
from .record import EXPECTED, expected, record


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the recorded files anew")
    options = parser.parse_args()
    wanted, found = expected(), record()
    if options.record:
        return _write(wanted, found)
    texts = list(differences(wanted, found))
    print("\n".join(texts))
    print(f"golden: {len(found)} files, {len(texts)} differ")
    return 1 if texts else 0


def _write(wanted: Mapping[str, str], found: Mapping[str, str]) -> int:
    changed = [name for name in found if wanted.get(name) != found[name]]
    gone = [name for name in wanted if name not in found]
    for name in changed:
        path = EXPECTED / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found[name], encoding="utf-8", newline="\n")
        print(f"{'changed' if name in wanted else 'new'}: {name}")
    for name in gone:
        (EXPECTED / name).unlink()
        print(f"removed: {name}")
    print(f"golden: {len(found)} files, {len(changed)} written, {len(gone)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
