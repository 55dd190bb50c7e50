"""`authbench data`: list, pull, check, stats and build, as a user runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from authbench.cli.app import app
from authbench.data.digests import sha256_of
from authbench.data.rows import read_rows
from authbench.errors import ConfigError, DataError

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in an empty folder, off the network; its errors are raised."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["data", *arguments], catch_exceptions=False)

    return invoke


@pytest.mark.mirror
def test_pull_makes_a_mirror(run: Run, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTHBENCH_MIRROR", str(mirror))
    output = run("pull", "noveleval", "domainauth-openpagerank", "--to", "copy").output
    assert output.count("from mirror") == 4
    monkeypatch.delenv("AUTHBENCH_MIRROR")
    copied = tmp_path / "copy/domainauth/open_pagerank_domains.csv"
    assert sha256_of(copied) == sha256_of(mirror / "domainauth/open_pagerank_domains.csv")
    rows = json.loads(run("pull", "noveleval", "--to", "copy", "--json").output)
    assert [row["where"] for row in rows] == ["data"] * 3
    monkeypatch.setenv("AUTHBENCH_MIRROR", str(tmp_path / "copy"))
    assert "3 ok" in run("check", "noveleval").output
    assert (
        "domainauth-openpagerank / domains, fine: 3962 sources"
        in run("stats", "domainauth-openpagerank").output
    )
    # A damaged file in the new mirror is found and left alone.
    copied.write_bytes(copied.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"is truncated, 72822 bytes instead of 72823"):
        run("pull", "domainauth-openpagerank", "--to", "copy")


def test_pull_what_cannot_be_had(run: Run) -> None:
    with pytest.raises(DataError, match=r"^domainauth-openpagerank: .*not found(.|\n)*dataset.path=FILE"):
        run("pull", "domainauth-openpagerank")
    with pytest.raises(DataError, match=r"^3 files could not be had, the first of them: entityauth: "):
        run("pull", "entityauth")
    with pytest.raises(DataError, match=r"ragauth: .*HF_HUB_OFFLINE"):
        run("pull", "ragauth")
    with pytest.raises(ConfigError, match="did you mean 'scifact'"):
        run("pull", "scifat")
    Path("file").write_text("in the way")
    with pytest.raises(DataError, match="cannot be written"):
        run("pull", "sample-domains", "--to", "file/below")


def test_check_finds_wrong_and_unverified_files(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    for name, content in (
        ("entityauth/songs.jsonl", "{}"),
        ("AuthorityBench/dataset/DomainAuth/corpus/corpus_5_scale.jsonl", "{}"),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(content)
    result = CliRunner().invoke(app, ["data", "check", "--data", str(folder)])
    assert isinstance(result.exception, DataError)
    assert "wrong           2 B  entityauth: entityauth/songs.jsonl" in result.output
    assert "songs.jsonl is truncated, 2 bytes instead of 330363; left as it is" in result.output
    assert "unverified" in result.output
    result = CliRunner().invoke(app, ["data", "check", "--data", str(folder), "--json"])
    rows = {row["path"]: row for row in json.loads(result.output)}
    assert rows["entityauth/songs.jsonl"]["status"] == "wrong"
    assert rows["entityauth/movies.jsonl"]["status"] == "missing"
    assert isinstance(result.exception, DataError)


def test_stats_of_an_own_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("page,grade\na,0\nb,0\nc,9\nd,10\n")
    output = run(
        "stats", "mine", "--path", str(path), "--column", "name=page", "--column", "level=grade"
    ).output
    assert f"  0       2  66.7% {'#' * 48}" in output
    assert f"  9       1  33.3% {'#' * 24}" in output
    assert "  5       0   0.0% \n" in output
    assert output.endswith("dropped: 1 level 10\n")
    with pytest.raises(ConfigError, match="ROLE=COLUMN is needed"):
        run("stats", "mine", "--path", str(path), "--column", "name")


def test_build(run: Run, tmp_path: Path) -> None:
    output = run("build", "sample-domains", "--lists", "7", "--pairs", "4", "--seed", "3").output
    folder = tmp_path / "sample-domains-fine"
    assert output.count("sha256") == 3
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["dataset"], manifest["scale"], manifest["seed"]) == ("sample-domains", "fine", 3)
    assert manifest["written"] == {
        name: sha256_of(folder / name) for name in ("corpus.jsonl", "lists.jsonl", "pairs.jsonl")
    }
    assert manifest["read"][0]["path"] == "sample/domains.csv"
    assert manifest["sources_per_level"] == {"domains": [6] * 10}
    lists = [row for _, row in read_rows(folder / "lists.jsonl")]
    assert [row["id"] for row in lists] == [f"domains-{number:04d}" for number in range(7)]
    assert sorted(item["level"] for item in lists[0]["items"]) == list(range(10))
    assert all(item["text"] for item in lists[0]["items"])
    pairs = [row for _, row in read_rows(folder / "pairs.jsonl")]
    assert [row["difficulty"] for row in pairs] == ["easy"] * 4 + ["hard"] * 4
    # The same call gives the same bytes; the built corpus can be loaded as a file of one's own.
    again = json.loads(
        run("build", "sample-domains", "--lists", "7", "--pairs", "4", "--seed", "3", "--json").output
    )
    assert again == manifest
    report = json.loads(run("stats", "mine", "--path", str(folder / "corpus.jsonl"), "--json").output)
    assert report["levels"] == manifest["sources_per_level"]
    for name in ("sample-domains", "sample-entities"):
        built = json.loads(run("build", name, "--scale", "coarse", "--json").output)
        corpus = str(tmp_path / f"{name}-coarse" / "corpus.jsonl")
        report = json.loads(run("stats", "mine", "--path", corpus, "--scale", "coarse", "--json").output)
        assert report["levels"] == built["sources_per_level"]


def test_build_does_not_write_over_other_things(run: Run, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("important")
    with pytest.raises(ConfigError, match="full: holds something else"):
        run("build", "sample-domains", "-o", "full")
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="below: cannot be written"):
        run("build", "sample-domains", "-o", "file/below")
    with pytest.raises(DataError, match="wanted, but only"):
        run("build", "sample-domains", "--lists", "0", "--pairs", "9999", "-o", "new")
    assert not (tmp_path / "new").exists()
