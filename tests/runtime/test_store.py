from __future__ import annotations

import gzip
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from authbench.errors import DataError
from authbench.runtime import storefile
from authbench.runtime.engine import ModelIdentity, RenderedPrompt
from authbench.runtime.export import read_export, write_export
from authbench.runtime.keys import request_key
from authbench.runtime.messages import Constraint, Response, Sample, Sampling, user
from authbench.runtime.store import Store

MODEL = ModelIdentity("org/model", "abc", "bf16", "double")
REQUEST = user("hello", Sampling(max_tokens=4))
PROMPT = RenderedPrompt("hello")


def answer(text: str, count: int = 1) -> Response:
    return Response(tuple(Sample(f"{text}{i}", "stop", 2) for i in range(count)), 5, 1, 0.25)


def filled(path: Path, count: int) -> list[bytes]:
    keys = [i.to_bytes(32, "big") for i in range(count)]
    with Store(path) as store:
        model = store.register(MODEL, {"template": "x"})
        for i, key in enumerate(keys):
            store.put(key, model, f"prompt {i} " * 20, answer(f"text {i} "))
    return keys


def test_what_is_put_is_got_before_and_after_a_commit(tmp_path: Path) -> None:
    response = Response(
        (Sample("ünï 三", "length", 3, (-0.5, -1.5), None), Sample("", "stop", 0, None, -2.25)), 7, 4, 1.5
    )
    with Store(tmp_path / "s.sqlite") as store:
        model = store.register(MODEL, {})
        store.put(b"k" * 32, model, "a prompt", response)
        assert store.get([b"k" * 32]) == {b"k" * 32: response}
        store.flush()
        assert store.get([b"k" * 32, b"x" * 32]) == {b"k" * 32: response}
        assert store.prompts([b"k" * 32]) == {b"k" * 32: "a prompt"}


@pytest.mark.parametrize(
    "other",
    [
        request_key(MODEL, user("hello", Sampling(max_tokens=5)), PROMPT),
        request_key(MODEL, user("hello", Sampling(max_tokens=4, temperature=0.5)), PROMPT),
        request_key(MODEL, user("hello", Sampling(max_tokens=4, top_p=0.5)), PROMPT),
        request_key(MODEL, user("hello", Sampling(max_tokens=4, seed=1)), PROMPT),
        request_key(MODEL, user("hello", Sampling(max_tokens=4, stop=("x",))), PROMPT),
        request_key(MODEL, replace(REQUEST, constraint=Constraint("choice", ("A", "B"))), PROMPT),
        request_key(MODEL, replace(REQUEST, labels=("A", "B")), PROMPT),
        request_key(MODEL, replace(REQUEST, score_target="yes"), PROMPT),
        request_key(MODEL, REQUEST, RenderedPrompt("hello!")),
        request_key(MODEL, REQUEST, RenderedPrompt("hello", (2,))),
        request_key(replace(MODEL, model="org/other"), REQUEST, PROMPT),
        request_key(replace(MODEL, revision="abd"), REQUEST, PROMPT),
        request_key(replace(MODEL, precision="fp16"), REQUEST, PROMPT),
        request_key(replace(MODEL, family="vllm"), REQUEST, PROMPT),
    ],
)
def test_whatever_can_change_an_answer_changes_the_key(other: str) -> None:
    assert other != request_key(MODEL, REQUEST, PROMPT)


def test_the_number_of_samples_is_not_in_the_key() -> None:
    many = user("hello", Sampling(max_tokens=4, n=10))
    assert request_key(MODEL, many, PROMPT) == request_key(MODEL, REQUEST, PROMPT)


def test_a_killed_process_loses_only_what_was_not_committed(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    model = store.register(MODEL, {})
    store.put(b"a" * 32, model, "p", answer("a"))
    store.flush()
    store.put(b"b" * 32, model, "p", answer("b"))
    # No close and no flush, as after kill -9: another connection sees what was committed.
    with Store(path) as other:
        assert list(other.get([b"a" * 32, b"b" * 32])) == [b"a" * 32]


def test_a_file_that_is_no_database_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.write_bytes(b"not a database at all" * 100)
    with Store(path) as store:
        assert store.repaired is not None and "damaged" in store.repaired
        assert store.models() == []
    assert [p.read_bytes()[:14] for p in tmp_path.glob("s.sqlite.damaged-*")] == [b"not a database"]


def test_a_cut_file_gives_back_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    keys = filled(path, 2000)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 3 // 4])
    with Store(path) as store:
        assert store.repaired is not None
        saved = store.get(keys)
    assert len(saved) > 500
    assert all(response.text.startswith(f"text {keys.index(key)} ") for key, response in saved.items())
    assert list(tmp_path.glob("s.sqlite.damaged-*"))


def test_a_locked_store_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.sqlite"
    keys = filled(path, 1)
    monkeypatch.setattr(storefile, "BUSY_TIMEOUT", 0.1)
    holder = sqlite3.connect(path)
    holder.execute("BEGIN IMMEDIATE")
    try:
        store = Store(path)
        assert store.get(keys), "reading goes on while another process writes"
        with pytest.raises(DataError, match="locked by another process"):
            store.register(replace(MODEL, model="new"), {})
    finally:
        holder.rollback()
        holder.close()


def test_a_full_disk_says_so_and_keeps_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    keys = filled(path, 10)
    store = Store(path)
    store._db.execute("PRAGMA max_page_count = 12")  # SQLite's own way to say that there is no room
    model = store.register(MODEL, {"template": "x"})
    for i in range(1000):
        store.put((i + 100).to_bytes(32, "big"), model, f"{i}" * 3000, answer("x" * 3000))
    with pytest.raises(DataError, match=r"disk is full.*Free space and run the command again"):
        store.flush()
    store._db.close()
    with Store(path) as again:
        assert len(again.get(keys)) == 10


def test_another_format_is_refused_not_emptied(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    filled(path, 1)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(DataError, match="has format 99"):
        Store(path)


def test_prune_by_model_and_age(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    filled(path, 3)
    with Store(path) as store:
        other = store.register(replace(MODEL, model="org/other"), {})
        store.put(b"o" * 32, other, "p", answer("o"))
        assert store.prune(before=1.0) == 0
        assert store.prune(model="org/model") == 3
        assert [row["identity"]["model"] for row in store.stats()] == ["org/other"]


def test_export_and_back(tmp_path: Path) -> None:
    keys = filled(tmp_path / "s.sqlite", 3)
    with Store(tmp_path / "s.sqlite") as store:
        assert write_export(store, tmp_path / "a.jsonl.gz") == 3
        assert write_export(store, tmp_path / "b.jsonl.gz") == 3
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    export = read_export(tmp_path / "a.jsonl.gz")
    assert export.models[0].identity == MODEL and export.models[0].rendering == {"template": "x"}
    assert export.answers[keys[1].hex()].text == "text 1 0"


def test_a_damaged_export_names_the_line(tmp_path: Path) -> None:
    filled(tmp_path / "s.sqlite", 3)
    with Store(tmp_path / "s.sqlite") as store:
        write_export(store, tmp_path / "a.jsonl")
    text = (tmp_path / "a.jsonl").read_text()
    (tmp_path / "a.jsonl").write_text(text[: len(text) - 40])
    with pytest.raises(DataError, match=r"a\.jsonl:4: not a JSON object"):
        read_export(tmp_path / "a.jsonl")
    with pytest.raises(DataError, match="no recorded answers at"):
        read_export(tmp_path / "none.jsonl")


def test_a_damaged_recording_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    filled(tmp_path / "s.sqlite", 3)
    with Store(tmp_path / "s.sqlite") as store:
        write_export(store, path)
    whole = path.read_bytes()
    for damaged in (whole[:-12], whole[:20] + b"\xff" * 20 + whole[40:], b"{}"):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"a\.jsonl\.gz cannot be read"):
            read_export(path)
    header = gzip.decompress(whole).decode().splitlines()[0]
    path = tmp_path / "a.jsonl"
    path.write_text(header.replace('"revision"', '"revised"') + "\n")
    with pytest.raises(DataError, match=r"a\.jsonl:1: not the header"):
        read_export(path)
