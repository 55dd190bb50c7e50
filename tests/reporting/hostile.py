"""A run whose names, prompts, documents and answers try to break the page that shows them."""

from __future__ import annotations

import json
from pathlib import Path

from runfolders import cell, write_run

from authbench.runtime.engine import ModelIdentity
from authbench.runtime.messages import Response, Sample
from authbench.runtime.store import Store

#: What a name, a document or an answer may be. It would set `window.broken` if any of it ran.
ATTACK = (
    "</script><script>window.broken=1</script></style></textarea></title></svg>"
    "<img src=x onerror=window.broken=1>"
    "<!-- ]]> {{ 7*7 }} ${window.broken=1} \"'` &amp; \u2028\u2029 \x00\x1b[31m \ud800"
)
MILLION = "x" * 1_000_000


def hostile_run(results: Path) -> Path:
    """Write the run with its store; gives the run's folder."""
    row = cell(
        "spearman", 0.5, judge="list", output="score", domain="domains", context="without", scale="fine", n=3
    )
    folder = write_run(
        results,
        "hostile",
        "m",
        [row, row | {"policy": "valid"}],
        model={"name": ATTACK, "id": ATTACK, "paper_name": None, "tiny": False},
        title=ATTACK,
        options={"constrain": ATTACK},
        config={"dataset": {"name": ATTACK}, "title": ATTACK},
        errors=[ATTACK],
        failed_items=1,
        status="failed",
        machine={"system": ATTACK},
        data={"files": [{"path": ATTACK, "sha256": "0" * 64, "location": "/home/somebody/secret"}]},
    )
    lines, store = [], Store(results / "responses.sqlite")
    with store:
        model = store.register(ModelIdentity("m", "1", "none", "fake"), {})
        for number, text in enumerate((ATTACK, MILLION, f"{ATTACK}{MILLION}{ATTACK}")):
            key = bytes([number]) * 32
            store.put(key, model, text, Response((Sample(text, "stop", 1),), 1))
            lines.append(
                {
                    "group": "domains/without/list-score",
                    "item": f"{number}{ATTACK}",
                    "number": number,
                    "gold": {"levels": [0, 1, 2]},
                    "values": {"scores": [0, 1, 2] if number else [None, None, None]},
                    "answers": [
                        {"key": key.hex(), "texts": [text], "status": "ok" if number else "wrong_format"}
                    ],
                    "error": None,
                }
            )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")
    return folder
